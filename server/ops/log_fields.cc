#include "server/ops/log_fields.h"

#include <nlohmann/json.hpp>

namespace hotrow {
namespace {

thread_local const LogFields* innermost = nullptr;

// The object without its braces, behind a comma.
std::string Inside(const nlohmann::json& fields) {
  if (fields.empty()) return {};
  const std::string dump = fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string inside = ",";
  inside.append(dump, 1, dump.size() - 2);
  return inside;
}

}  // namespace

LogFields::LogFields(const nlohmann::json& fields) : text_(Inside(fields)), outer_(innermost) {
  innermost = this;
}

LogFields::~LogFields() { innermost = outer_; }

const std::string& LogFields::Current() {
  static const std::string none;
  return innermost == nullptr ? none : innermost->text_;
}

}  // namespace hotrow
