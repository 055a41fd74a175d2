# Flags of all our C++: included by the root and by kernels/ when it builds alone.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Paths relative to the checkout, so that all build trees and clones share one cache.
find_program(HOTROW_CCACHE ccache)
if(HOTROW_CCACHE)
  get_filename_component(hotrow_root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
  set(hotrow_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${hotrow_root} CCACHE_NOHASHDIR=true ${HOTROW_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${hotrow_launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${hotrow_launcher})
endif()

# Equal bits in every space need uncontracted arithmetic; math-errno off lets sqrt vectorise (its result is the same).
# C++ only: device code has the flags of HotrowCuda.cmake.
function(hotrow_cxx_options)
  foreach(option IN LISTS ARGN)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()
hotrow_cxx_options(-ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-unused-parameter
                   -Wno-missing-field-initializers)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(HOTROW_ARCH x86-64-v3 CACHE STRING "Target of -march; v3 is AVX2 (Haswell, 2013; Zen, 2017)")
  hotrow_cxx_options(-march=${HOTROW_ARCH})
endif()

set(HOTROW_SANITIZE "" CACHE STRING "address,undefined or thread")
if(HOTROW_SANITIZE)
  hotrow_cxx_options(-fsanitize=${HOTROW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HOTROW_SANITIZE})
endif()
