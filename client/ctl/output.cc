#include "client/ctl/output.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "hotrow/errors.h"

namespace hotrow::ctl {
namespace {

void PrintTable(const std::vector<Record>& records) {
  if (records.empty()) {
    std::puts("(none)");
    return;
  }
  std::vector<size_t> widths;
  for (const Field& field : records[0]) widths.push_back(field.name.size());
  for (const Record& record : records) {
    for (size_t i = 0; i < record.size(); ++i) {
      widths[i] = std::max(widths[i], record[i].text.size());
    }
  }
  const auto print_line = [&](const Record& record, std::string Field::* part) {
    std::string line;
    for (size_t i = 0; i < record.size(); ++i) {
      line += record[i].*part;
      if (i + 1 < record.size()) line.append(widths[i] + 2 - (record[i].*part).size(), ' ');
    }
    std::puts(line.c_str());
  };
  print_line(records[0], &Field::name);
  for (const Record& record : records) print_line(record, &Field::text);
}

void PrintJson(const std::vector<Record>& records) {
  std::printf("[");
  for (size_t r = 0; r < records.size(); ++r) {
    std::printf("%s\n  {", r == 0 ? "" : ",");
    for (size_t i = 0; i < records[r].size(); ++i) {
      const Field& field = records[r][i];
      std::printf("%s%s: %s", i == 0 ? "" : ", ", JsonString(field.name).c_str(),
                  field.json.c_str());
    }
    std::printf("}");
  }
  std::printf("%s]\n", records.empty() ? "" : "\n");
}

void PrintYaml(const std::vector<Record>& records) {
  if (records.empty()) std::puts("[]");
  for (const Record& record : records) {
    for (size_t i = 0; i < record.size(); ++i) {
      std::printf("%s%s: %s\n", i == 0 ? "- " : "  ", record[i].name.c_str(),
                  record[i].json.c_str());
    }
  }
}

// The client's hints are for programs that make tables.
std::string HintFor(const ErrorDetails& error) {
  if (error.kind != ErrorKind::kNotFound || error.table.empty()) return error.hint;
  return "hotrowctl tables lists the tables that there are, and hotrowctl stats what the shards "
         "hold of each: one that was restarted has forgotten those in memory.";
}

}  // namespace

Field Text(std::string name, const std::string& value) {
  return {std::move(name), value, JsonString(value)};
}

Field Count(std::string name, uint64_t value) {
  const std::string digits = std::to_string(value);
  return {std::move(name), digits, digits};
}

Field Bytes(std::string name, uint64_t value) {
  return {std::move(name), HumanBytes(value), std::to_string(value)};
}

Field Share(std::string name, uint64_t part, uint64_t whole) {
  const double share = static_cast<double>(part) / static_cast<double>(whole);
  std::array<char, 32> percent;
  std::array<char, 32> number;
  std::snprintf(percent.data(), percent.size(), "%.2f%%", 100 * share);
  std::snprintf(number.data(), number.size(), "%.6f", share);
  return {std::move(name), percent.data(), number.data()};
}

Field Unknown(std::string name) { return {std::move(name), "-", "null"}; }

std::string JsonString(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string HumanBytes(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

void Print(const std::vector<Record>& records, Format format) {
  switch (format) {
    case Format::kTable:
      return PrintTable(records);
    case Format::kJson:
      return PrintJson(records);
    case Format::kYaml:
      return PrintYaml(records);
  }
}

void Complain(const absl::Status& status) {
  if (status.ok()) return;
  const ErrorDetails error = DescribeError(status);
  const std::string hint = HintFor(error);
  std::fprintf(stderr, "hotrowctl: %s\n", error.message.c_str());
  if (!hint.empty()) std::fprintf(stderr, "hint: %s\n", hint.c_str());
}

}  // namespace hotrow::ctl
