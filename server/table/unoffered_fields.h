// What a schema can say and this version does not offer.
//
// Thread safety: a pure function. Errors: kUnimplemented with the field, its value and a hint, for
// the first such field in the order of the schema. Nothing is ignored in silence.

#pragma once

#include "absl/status/status.h"

namespace hotrow::v1 {
class TableSchema;  // generated
}

namespace hotrow {

// `schema` is normalized (see NormalizedSchema).
absl::Status RefuseUnoffered(const v1::TableSchema& schema);

}  // namespace hotrow
