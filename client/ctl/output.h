// Records as a table for people, or as JSON or YAML for programs.
//
// Thread safety: pure functions that print to stdout. A record's fields have the same names in the
// same order in all records of a list.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hotrow::ctl {

enum class Format { kTable, kJson, kYaml };

struct Field {
  std::string name;
  std::string text;  // as a table shows it
  std::string json;  // the same as a JSON value, which is YAML as well
};
using Record = std::vector<Field>;

Field Text(std::string name, const std::string& value);
Field Count(std::string name, uint64_t value);
Field Bytes(std::string name, uint64_t value);  // a table shows units

std::string JsonString(const std::string& value);
std::string HumanBytes(uint64_t bytes);

void Print(const std::vector<Record>& records, Format format);

}  // namespace hotrow::ctl
