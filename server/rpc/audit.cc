#include "server/rpc/audit.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/ops/log.h"

namespace hotrow {

void Audit(const AuditedCall& call) {
  const std::string table = call.table.substr(0, kMaxAuditedBytes);
  nlohmann::json fields = {
      {"rpc", NameOf(call.method)}, {"peer", call.origin.peer}, {"code", call.code}};
  if (!table.empty()) fields["table"] = table;
  if (!call.origin.trace_id.empty()) fields["trace_id"] = call.origin.trace_id;
  const std::string of_table = table.empty() ? "" : fmt::format(" of table '{}'", table);
  LogAudit(fmt::format("audit: {}{} by {}: {}", NameOf(call.method), of_table, call.origin.peer,
                       call.code),
           fields);
}

}  // namespace hotrow
