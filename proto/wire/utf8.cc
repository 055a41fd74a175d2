#include "proto/wire/utf8.h"

#include <cstdint>

namespace hotrow::wire {
namespace {

// Bytes of the character at the start of `text`, which is not empty; 0 when it is not UTF-8.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;  // overlong
  if (first == 0xED && second > 0x9F) return 0;  // surrogates
  if (first == 0xF0 && second < 0x90) return 0;  // overlong
  if (first == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
  return size;
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t valid = 0;
  while (valid < text.size()) {
    const size_t size = CharacterBytes(text.substr(valid));
    if (size == 0) break;
    valid += size;
  }
  return valid;
}

std::string FitText(std::string_view text, size_t limit) {
  std::string fit;
  while (!text.empty()) {
    const size_t size = CharacterBytes(text);
    if (fit.size() + (size == 0 ? 1 : size) > limit) break;
    if (size == 0) {
      fit += '?';
    } else {
      fit.append(text.data(), size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return fit;
}

}  // namespace hotrow::wire
