# cmake -D BUILD=... -D SOURCE=... -D WORK=... -P check.cmake: installs the client, builds a program against it, runs it.
file(REMOVE_RECURSE ${WORK})
foreach(command
    "${CMAKE_COMMAND};--install;${BUILD}/client;--prefix;${WORK}/prefix"
    "${CMAKE_COMMAND};-S;${SOURCE};-B;${WORK}/build;-DCMAKE_PREFIX_PATH=${WORK}/prefix"
    "${CMAKE_COMMAND};--build;${WORK}/build"
    "${WORK}/build/consumer")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endforeach()
