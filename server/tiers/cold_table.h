// ColdTable: what the cold store needs to know of a table.
//
// Thread safety: a value.

#pragma once

#include <cstdint>
#include <string>

namespace hotrow {

struct ColdTable {
  uint32_t id = 0;
  std::string name;  // for errors
  uint64_t salt = 0;
  int64_t row_bytes = 0;
};

}  // namespace hotrow
