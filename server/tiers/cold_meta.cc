#include "server/tiers/cold_meta.h"

namespace hotrow {
namespace {

constexpr size_t kKindAt = 2;

std::string MetaKey(char kind) { return {'\xff', '\xff', kind}; }

void AddBigEndian(uint64_t number, int bytes, std::string* key) {
  for (int i = bytes - 1; i >= 0; --i) key->push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t BigEndianAt(std::string_view key, size_t at, size_t bytes) {
  uint64_t number = 0;
  for (const char byte : key.substr(at, bytes)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

std::string RowsKey(uint32_t table, uint16_t partition) {
  std::string key = MetaKey('R');
  AddBigEndian(table, 4, &key);
  AddBigEndian(partition, 2, &key);
  return key;
}

std::string LsnKey(uint16_t partition) {
  std::string key = MetaKey('L');
  AddBigEndian(partition, 2, &key);
  return key;
}

std::string FactKey(std::string_view name) { return MetaKey('F').append(name); }
std::string FormatKey() { return MetaKey('V'); }
std::string MetaBegin() { return "\xff\xff"; }

bool ColdMeta::Read(std::string_view key, std::string_view value) {
  if (key.size() <= kKindAt) return false;
  switch (key[kKindAt]) {
    case 'R': {
      if (key.size() != kKindAt + 7) return false;
      const auto table = static_cast<uint32_t>(BigEndianAt(key, kKindAt + 1, 4));
      const auto partition = static_cast<uint32_t>(BigEndianAt(key, kKindAt + 5, 2));
      return partition < lsns.size() && NumberOf(value, &rows[Place(table, partition)]);
    }
    case 'L': {
      if (key.size() != kKindAt + 3) return false;
      const uint64_t partition = BigEndianAt(key, kKindAt + 1, 2);
      return partition < lsns.size() && NumberOf(value, &lsns[partition]);
    }
    case 'V':
      return NumberOf(value, &format);
    case 'F':
      return true;  // read when it is asked for
    default:
      return false;
  }
}

}  // namespace hotrow
