# HOTROW_CUDA=AUTO|ON|OFF -> HOTROW_WITH_CUDA. This version has no device code; ON is refused rather than ignored.
include_guard(GLOBAL)

if(HOTROW_CUDA STREQUAL "ON")
  message(FATAL_ERROR "HOTROW_CUDA=ON: this version has no CUDA space yet. Use AUTO or OFF; the host space runs the same algorithms.")
elseif(NOT HOTROW_CUDA MATCHES "^(AUTO|OFF)$")
  message(FATAL_ERROR "HOTROW_CUDA must be AUTO, ON or OFF, not '${HOTROW_CUDA}'")
endif()
set(HOTROW_WITH_CUDA OFF)
