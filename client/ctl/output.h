// Records as a table for people, or as JSON or YAML for programs, and errors for people.
//
// Thread safety: pure functions that print to stdout, errors to stderr. A record's fields have the
// same names in the same order in all records of a list.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

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
// A part of a whole > 0: percent in a table, 0 .. 1 elsewhere.
Field Share(std::string name, uint64_t part, uint64_t whole);
// What nobody has said, as of a shard that does not answer: "-" in a table, null elsewhere.
Field Unknown(std::string name);

std::string JsonString(const std::string& value);
std::string HumanBytes(uint64_t bytes);

void Print(const std::vector<Record>& records, Format format);

// What is wrong and what to do next, in terms of hotrowctl. Nothing for OK.
void Complain(const absl::Status& status);

}  // namespace hotrow::ctl
