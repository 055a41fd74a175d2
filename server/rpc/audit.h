// The audit log: a line for every call that makes or drops a table, or ends the service, whether it
// was allowed or not: who made it, of what, and what came of it.
//
// Thread safety: any thread. Bounds: the limit of lines does not hold; a table's name is cut to
// kMaxAuditedBytes.

#pragma once

#include <string>

#include "server/ops/method.h"
#include "server/rpc/server_call.h"

namespace hotrow {

inline constexpr size_t kMaxAuditedBytes = 256;

struct AuditedCall {
  Method method = Method::kDropTable;
  std::string table;  // empty: of none
  const CallOrigin& origin;
  const char* code = "OK";
};

void Audit(const AuditedCall& call);

}  // namespace hotrow
