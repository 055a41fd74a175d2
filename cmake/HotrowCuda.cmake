# HOTROW_CUDA=AUTO|ON|OFF -> HOTROW_WITH_CUDA, and the flags of device code (hotrow_cuda_*).
#   AUTO  with CUDA when nvcc is on the PATH or named by CUDACXX
#   ON    the same, also looks in /usr/local/cuda, and is an error without nvcc
include_guard(GLOBAL)

set(HOTROW_CUDA AUTO CACHE STRING "Build the CUDA space: AUTO (when nvcc is found), ON or OFF")
# A100, H100 and H200, RTX 50; the last one's PTX also serves what comes later.
set(HOTROW_CUDA_ARCHITECTURES "80-real;90-real;120" CACHE STRING "Architectures of device code")
set(HOTROW_WITH_CUDA OFF)

if(NOT HOTROW_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HOTROW_CUDA must be AUTO, ON or OFF, not '${HOTROW_CUDA}'")
endif()

if(NOT HOTROW_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    if(HOTROW_CUDA STREQUAL "ON")
      set(hotrow_nvcc_hints PATHS /usr/local/cuda/bin)
    endif()
    find_program(HOTROW_NVCC nvcc ${hotrow_nvcc_hints} DOC "nvcc")
    if(HOTROW_NVCC)
      set(CMAKE_CUDA_COMPILER ${HOTROW_NVCC})
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_ARCHITECTURES ${HOTROW_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    find_package(CUDAToolkit REQUIRED)
    set(HOTROW_WITH_CUDA ON)
  elseif(HOTROW_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOTROW_CUDA=ON needs nvcc: put it on the PATH, or name it by CUDACXX or CMAKE_CUDA_COMPILER")
  endif()
endif()
message(STATUS "CUDA space: ${HOTROW_WITH_CUDA}")

# Products stay uncontracted, as on the host: equal bits.
set(hotrow_cuda_options --fmad=false --expt-relaxed-constexpr
    -Xcompiler=-ffp-contract=off,-Wall,-Wextra,-Wno-unused-parameter,-Wno-missing-field-initializers)
# A spilled register in a kernel of ours is an error (CUB chooses its own: 8 bytes in a sort for sm_80).
set(hotrow_cuda_no_spills -Xptxas=--warn-on-spills,--warning-as-error)
