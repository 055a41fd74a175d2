// Table schemas between the user's terms and the wire's.
//
// Thread safety: pure functions. Errors: Validate refuses, by field name, what no server would
// take; what a server of some version does not offer is the server's to refuse.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotrow/client.h"
#include "hotrow/v1/table.pb.h"

namespace hotrow::client {

absl::Status ValidateTableName(std::string_view name);
absl::Status ValidateSchema(const TableSchema& schema);
float DefaultLearningRate(const TableSchema& schema);

v1::TableSchema SchemaToProto(const TableSchema& schema);
// Unimplemented for an optimizer or initializer that this client does not know.
absl::StatusOr<TableInfo> InfoFromProto(const v1::TableDescription& description);

bool SameSchema(const v1::TableSchema& first, const v1::TableSchema& second);
// What to do when a table was asked for that exists otherwise.
std::string MismatchHint(const v1::TableSchema& asked, const v1::TableSchema& existing);

}  // namespace hotrow::client
