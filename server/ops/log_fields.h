// LogFields: what the lines that a thread logs carry besides their text, in the JSON format, for as
// long as the object lives.
//
//   const LogFields fields(nlohmann::json::object({{"rpc", "Pull"}, {"trace_id", id}}));
//   SPDLOG_WARN("the client went away");   // {"ts":...,"msg":...,"rpc":"Pull","trace_id":"..."}
//
// Thread safety: belongs to the thread that made it. Ownership: objects of one thread end in the
// reverse order of their beginning, as local variables do; the innermost one counts. Names do not
// repeat those that every line has (log_sink.h).

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hotrow {

class LogFields {
 public:
  explicit LogFields(const nlohmann::json& fields);  // an object
  ~LogFields();
  LogFields(const LogFields&) = delete;
  LogFields& operator=(const LogFields&) = delete;

  // Those of this thread: `,"name":value` for each, empty when there are none.
  static const std::string& Current();

 private:
  const std::string text_;
  const LogFields* const outer_;
};

}  // namespace hotrow
