#include "server/tiers/cold_record.h"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace hotrow {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Number>
void PutBigEndian(Number number, char* out) {
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out[i] = static_cast<char>(number >> (8 * (sizeof(Number) - 1 - i)));
  }
}

uint64_t NumberAt(std::string_view key, size_t at, size_t bytes) {
  uint64_t number = 0;
  for (const char byte : key.substr(at, bytes)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

// Key and value are hashed one after the other: the first as the seed of the second.
uint64_t ChecksumOf(std::string_view key, std::string_view value) {
  return XXH3_64bits_withSeed(value.data(), value.size(), XXH3_64bits(key.data(), key.size()));
}

}  // namespace

ColdKey EncodeColdKey(uint16_t partition, uint32_t table, Key key) {
  ColdKey out;
  PutBigEndian(partition, out.data());
  PutBigEndian(table, out.data() + 2);
  PutBigEndian(key, out.data() + kColdPrefixBytes);
  return out;
}

std::string ColdPrefix(uint16_t partition, uint32_t table) {
  const ColdKey key = EncodeColdKey(partition, table, 0);
  return {key.data(), kColdPrefixBytes};
}

std::string ColdPrefixEnd(uint16_t partition, uint32_t table) {
  // A partition is below 1024, so that a carry out of the table stays below the metadata.
  return table == UINT32_MAX ? ColdPrefix(partition + 1, 0) : ColdPrefix(partition, table + 1);
}

Key KeyOfColdKey(std::string_view key) { return NumberAt(key, kColdPrefixBytes, sizeof(Key)); }

uint32_t TableOfColdKey(std::string_view key) {
  return static_cast<uint32_t>(NumberAt(key, sizeof(uint16_t), sizeof(uint32_t)));
}

void EncodeColdValue(std::string_view key, uint32_t score, std::span<const std::byte> record,
                     std::string* value) {
  value->clear();
  value->append(reinterpret_cast<const char*>(&score), sizeof(score));
  value->append(reinterpret_cast<const char*>(record.data()), record.size());
  const uint64_t checksum = ChecksumOf(key, *value);
  value->append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
}

bool IsIntact(std::string_view key, std::string_view value) {
  if (key.size() != kColdKeyBytes || value.size() < kColdValueOverhead) return false;
  const size_t covered = value.size() - sizeof(uint64_t);
  uint64_t checksum = 0;
  std::memcpy(&checksum, value.data() + covered, sizeof(checksum));
  return checksum == ChecksumOf(key, value.substr(0, covered));
}

bool DecodeColdValue(std::string_view key, std::string_view value, int64_t row_bytes,
                     ColdValue* out) {
  if (value.size() != static_cast<size_t>(row_bytes + kColdValueOverhead)) return false;
  if (!IsIntact(key, value)) return false;
  std::memcpy(&out->score, value.data(), sizeof(out->score));
  out->record = value.substr(sizeof(out->score), static_cast<size_t>(row_bytes));
  return true;
}

}  // namespace hotrow
