// Writes protobuf's wire format field by field. Zero values are left out, as proto3 does, and
// fields come in the order of the calls; in the order of their numbers the bytes are those of
// protobuf's own serializer.
//
// Thread safety: none; one writer per message. Ownership: owns its bytes until Release.

#pragma once

#include <grpcpp/support/slice.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hotrow::wire {

static_assert(std::endian::native == std::endian::little, "payloads and fixed fields are copied");

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

class ProtoWriter {
 public:
  explicit ProtoWriter(size_t expected_bytes) { bytes_.reserve(expected_bytes); }

  void Varint(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Tag(field, WireType::kVarint);
    Raw(value);
  }
  // Negative values take ten bytes, as protobuf's int32 does.
  void Int32(uint32_t field, int32_t value) {
    Varint(field, static_cast<uint64_t>(int64_t{value}));
  }
  void Fixed64(uint32_t field, uint64_t value) {
    if (value == 0) return;
    Tag(field, WireType::kFixed64);
    Bytes(&value, sizeof(value));
  }
  void Float(uint32_t field, float value) {
    if (std::bit_cast<uint32_t>(value) == 0) return;  // -0.0 is written
    Tag(field, WireType::kFixed32);
    Bytes(&value, sizeof(value));
  }
  void String(uint32_t field, std::string_view value) {
    if (value.empty()) return;
    BytesHeader(field, value.size());
    Bytes(value.data(), value.size());
  }
  void PackedFixed64(uint32_t field, std::span<const uint64_t> values) {
    if (values.empty()) return;
    BytesHeader(field, values.size_bytes());
    Bytes(values.data(), values.size_bytes());
  }
  // Tag and length of a `bytes` field whose content follows elsewhere.
  void BytesHeader(uint32_t field, uint64_t size) {
    Tag(field, WireType::kBytes);
    Raw(size);
  }
  // A sub-message: `write` is called with this writer. Written even when it is empty.
  template <typename Write>
  void Message(uint32_t field, Write write) {
    Tag(field, WireType::kBytes);
    const size_t start = bytes_.size();
    write(*this);
    PrependLength(start);
  }

  size_t size() const { return bytes_.size(); }
  // The bytes written so far as one slice. Call once.
  grpc::Slice Release() && { return grpc::Slice(bytes_.data(), bytes_.size()); }

 private:
  void Tag(uint32_t field, WireType type) { Raw(field << 3 | static_cast<uint32_t>(type)); }
  void Raw(uint64_t value) {
    char encoded[10];
    bytes_.append(encoded, EncodeVarint(value, encoded));
  }
  void Bytes(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  // Puts the length of what was written since `start` in front of it.
  void PrependLength(size_t start) {
    char encoded[10];
    const size_t size = EncodeVarint(bytes_.size() - start, encoded);
    bytes_.insert(start, encoded, size);
  }
  static size_t EncodeVarint(uint64_t value, char* out) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) out[size++] = static_cast<char>(value | 0x80);
    out[size++] = static_cast<char>(value);
    return size;
  }

  std::string bytes_;
};

}  // namespace hotrow::wire
