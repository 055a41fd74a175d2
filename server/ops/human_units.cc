#include "server/ops/human_units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace hotrow {
namespace {

struct Unit {
  const char* name;
  double factor;
};

constexpr std::array<Unit, 10> kSizeUnits = {{{"", 1},
                                              {"B", 1},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"KiB", 1024.0},
                                              {"MiB", 1048576.0},
                                              {"GiB", 1073741824.0},
                                              {"TiB", 1099511627776.0}}};
constexpr std::array<Unit, 4> kDurationUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
constexpr double kMaxValue = 9e18;  // fits int64

// "12.5 GiB" -> 12.5 and "GiB".
struct Quantity {
  double number = 0;
  std::string unit;
};

std::optional<Quantity> Split(const std::string& text) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(quantity.number) || quantity.number < 0) return {};
  quantity.unit.assign(rest, end);
  quantity.unit.erase(0, quantity.unit.find_first_not_of(' '));
  return quantity;
}

template <size_t n>
std::optional<double> Evaluate(const std::string& text, const std::array<Unit, n>& units) {
  const std::optional<Quantity> quantity = Split(text);
  if (!quantity.has_value()) return {};
  for (const Unit& unit : units) {
    if (quantity->unit != unit.name) continue;
    const double value = quantity->number * unit.factor;
    if (value > kMaxValue || value != std::floor(value)) return {};
    return value;
  }
  return {};
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(const std::string& text) {
  const std::optional<double> bytes = Evaluate(text, kSizeUnits);
  if (bytes.has_value()) return static_cast<int64_t>(*bytes);
  return absl::InvalidArgumentError("'" + text +
                                    "' is not a size; write for example 512MiB or 4GB");
}

std::string FormatSize(int64_t bytes) {
  constexpr std::array<const char*, 5> kNames = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kNames[unit];
}

absl::StatusOr<std::chrono::milliseconds> ParseDuration(const std::string& text) {
  if (text == "0") return std::chrono::milliseconds(0);
  const std::optional<double> value = Evaluate(text, kDurationUnits);
  if (value.has_value()) return std::chrono::milliseconds(static_cast<int64_t>(*value));
  return absl::InvalidArgumentError("'" + text +
                                    "' is not a duration; write for example 250ms or 10s");
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const int64_t ms = duration.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

}  // namespace hotrow
