#include "server/ops/trace_parent.h"

#include <algorithm>

namespace hotrow {
namespace {

constexpr std::size_t kVersionEnd = 2;
constexpr std::size_t kTraceBegin = 3;
constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kParentBegin = 36;
constexpr std::size_t kParentDigits = 16;
constexpr std::size_t kFlagsBegin = 53;
constexpr std::size_t kSize = 55;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::string TraceIdOf(std::string_view header) {
  if (header.size() < kSize || header.size() > kMaxTraceParentBytes) return {};
  const std::string_view version = header.substr(0, kVersionEnd);
  if (!IsHex(version) || version == "ff") return {};
  const bool longer = header.size() > kSize;
  if (longer && (version == "00" || header[kSize] != '-')) return {};
  for (const std::size_t dash : {kVersionEnd, kParentBegin - 1, kFlagsBegin - 1}) {
    if (header[dash] != '-') return {};
  }
  const std::string_view trace = header.substr(kTraceBegin, kTraceDigits);
  if (!IsId(trace) || !IsId(header.substr(kParentBegin, kParentDigits))) return {};
  if (!IsHex(header.substr(kFlagsBegin, kSize - kFlagsBegin))) return {};
  return std::string(trace);
}

}  // namespace hotrow
