// The first field in which two table schemas differ, for an error that says what to change.
//
// Thread safety: a pure function. Floats compare by their shortest exact decimal form.

#pragma once

#include <optional>
#include <string>

namespace hotrow::v1 {
class TableSchema;  // generated
}

namespace hotrow {

struct SchemaDifference {
  std::string field;      // e.g. "optimizer.adagrad.eps"
  std::string of_first;   // its value in the first schema, "unset" when absent
  std::string of_second;  // and in the second
};

// nullopt when the schemas are equal. Both are normalized (see NormalizedSchema).
std::optional<SchemaDifference> FirstDifference(const v1::TableSchema& first,
                                                const v1::TableSchema& second);

}  // namespace hotrow
