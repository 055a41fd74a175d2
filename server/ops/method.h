// The methods that a server counts and names in its log, and the stages that a pull or a push goes
// through.
//
// Thread safety: values and pure functions. Units: nanoseconds.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hotrow {

enum class Method : uint8_t {
  kPull,
  kPush,
  kScan,
  kOpenSession,
  kCloseSession,
  kCreateTable,
  kDescribeTable,
  kListTables,
  kDropTable,
  kGetStats,
  kGetShardMap,
  kGetSlowCalls,
  kDrain,
  kCreateCheckpoint,
  kRestore,
  kReshard,
};
inline constexpr size_t kMethodCount = 16;
const char* NameOf(Method method);

// One after the other; together they are the duration of a request.
enum class Stage : uint8_t {
  kDecode,  // the message is read
  kRoute,   // its keys or sub-pushes are checked and shared out over the strands
  kQueue,   // it waits for the first strand that takes it up
  kHost,    // strands work on rows in host memory, until the last one is done
  kEncode,  // the answer is hashed and encoded
};
inline constexpr size_t kStageCount = 5;
const char* NameOf(Stage stage);

using StageTimes = std::array<std::chrono::nanoseconds, kStageCount>;  // by Stage

}  // namespace hotrow
