# Libraries of the system. Debian 12 and 13 name them alike.
include_guard(GLOBAL)

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)  # Debian has the module only
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
