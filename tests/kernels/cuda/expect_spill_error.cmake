# Compiles SOURCE by NVCC with OPTIONS and too few registers; passes when that is refused for its spills.
execute_process(COMMAND ${NVCC} ${OPTIONS} -std=c++20 -O3 -arch=sm_90 --maxrregcount=24 -c ${SOURCE} -o ${OUTPUT}
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status EQUAL 0)
  message(FATAL_ERROR "a spilled register went unnoticed:\n${text}")
elseif(NOT text MATCHES "spilled to local memory")
  message(FATAL_ERROR "refused for another reason:\n${text}")
endif()
execute_process(COMMAND ${NVCC} ${OPTIONS} -std=c++20 -O3 -arch=sm_90 -c ${SOURCE} -o ${OUTPUT}
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "refused with registers enough:\n${text}")
endif()
