#include "proto/wire/proto_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/wire/utf8.h"

namespace hotrow::wire {
namespace {

constexpr int kMaxGroupDepth = 32;  // of unknown groups; our own schema has none
// Tags and lengths are 32-bit numbers; protobuf refuses longer forms of them.
constexpr size_t kMaxTagBytes = 5;

constexpr const char* kTruncated = "is cut off";

}  // namespace

ProtoReader::ProtoReader(std::span<const grpc::Slice> slices) : slices_(slices) {
  for (const grpc::Slice& slice : slices) total_ += slice.size();
  end_ = total_;
  if (!slices_.empty()) {
    byte_ = slices_[0].begin();
    slice_end_ = slices_[0].end();
  }
}

bool ProtoReader::Next() {
  if (failed_ || left() == 0) return false;
  if (!ReadTag("(tag)", &field_, &type_)) return false;
  if (type_ == WireType::kEndGroup) {
    Fail("(tag)", "ends a group that was not begun");
    return false;
  }
  return true;
}

void ProtoReader::Read(const char* name, uint64_t* value) {
  if (type_ != WireType::kVarint) return SkipField();
  ReadVarint(name, value);
}

void ProtoReader::Read(const char* name, uint32_t* value) {
  uint64_t wide = *value;
  Read(name, &wide);
  if (wide > UINT32_MAX) return Fail(name, "exceeds 32 bits");
  *value = static_cast<uint32_t>(wide);
}

void ProtoReader::Read(const char* name, int32_t* value) {
  auto wide = static_cast<uint64_t>(int64_t{*value});
  Read(name, &wide);
  *value = static_cast<int32_t>(wide);
  if (static_cast<int64_t>(wide) != *value) Fail(name, "exceeds 32 bits");
}

void ProtoReader::Read(const char* name, bool* value) {
  uint64_t number = *value ? 1 : 0;
  Read(name, &number);
  *value = number != 0;
}

void ProtoReader::ReadFixed(const char* name, uint64_t* value) {
  if (type_ != WireType::kFixed64) return SkipField();
  ReadBytes(name, value, sizeof(*value));
}

void ProtoReader::ReadFixed(const char* name, float* value) {
  if (type_ != WireType::kFixed32) return SkipField();
  ReadBytes(name, value, sizeof(*value));
}

void ProtoReader::ReadString(const char* name, std::string* value) {
  if (type_ != WireType::kBytes) return SkipField();
  size_t size = 0;
  if (!ReadLength(name, &size)) return;
  value->resize(size);
  CopyBytes(value->data(), size);
  if (ValidUtf8Prefix(*value) != value->size()) Fail(name, "is not UTF-8");
}

void ProtoReader::ReadRepeatedFixed(const char* name, std::vector<uint64_t>* values) {
  if (type_ == WireType::kFixed64) return ReadFixed(name, &values->emplace_back());
  if (type_ != WireType::kBytes) return SkipField();
  size_t size = 0;
  if (!ReadLength(name, &size)) return;
  if (size % sizeof(uint64_t) != 0) return Fail(name, "is not a whole number of 8-byte values");
  const size_t before = values->size();
  values->resize(before + size / sizeof(uint64_t));
  CopyBytes(values->data() + before, size);
}

void ProtoReader::ReadPayload(const char* name, PayloadRange* range) {
  if (type_ != WireType::kBytes) return SkipField();
  size_t size = 0;
  if (!ReadLength(name, &size)) return;
  if (position_ + size != total_) return Fail(name, "is not the last field of the message");
  *range = {position_, size};
  Advance(name, size);
}

void ProtoReader::SkipField() {
  if (type_ == WireType::kStartGroup) return SkipGroup(field_);
  SkipValue(type_);
}

void ProtoReader::Fail(const char* name, const char* reason) {
  if (failed_) return;
  failed_ = true;
  error_ = std::string(name) + " " + reason;
}

absl::Status ProtoReader::Finish(const char* message) const {
  if (!failed_) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(message) + "." + error_);
}

bool ProtoReader::ReadVarint(const char* name, uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = 0;
    if (!ReadBytes(name, &byte, 1)) return false;
    result |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      if (shift == 63 && byte > 1) break;
      *value = result;
      return true;
    }
  }
  Fail(name, "is not a 64-bit number");
  return false;
}

bool ProtoReader::ReadTag(const char* name, uint32_t* field, WireType* type) {
  uint64_t tag = 0;
  const size_t start = position_;
  if (!ReadVarint(name, &tag)) return false;
  if (position_ - start > kMaxTagBytes || tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > 5) {
    Fail(name, "is not a protobuf tag");
    return false;
  }
  *field = static_cast<uint32_t>(tag >> 3);
  *type = static_cast<WireType>(tag & 7);
  return true;
}

bool ProtoReader::ReadLength(const char* name, size_t* size) {
  uint64_t length = 0;
  const size_t start = position_;
  if (!ReadVarint(name, &length)) return false;
  if (position_ - start > kMaxTagBytes || length > left()) {
    Fail(name, kTruncated);
    return false;
  }
  *size = static_cast<size_t>(length);
  return true;
}

bool ProtoReader::ReadBytes(const char* name, void* out, size_t size) {
  if (failed_) return false;
  if (size > left()) {
    Fail(name, kTruncated);
    return false;
  }
  CopyBytes(out, size);
  return true;
}

bool ProtoReader::Advance(const char* name, size_t size) {
  if (failed_) return false;
  if (size > left()) {
    Fail(name, kTruncated);
    return false;
  }
  position_ += size;
  while (size > static_cast<size_t>(slice_end_ - byte_)) {
    size -= static_cast<size_t>(slice_end_ - byte_);
    NextSlice();
  }
  byte_ += size;
  return true;
}

void ProtoReader::CopyBytes(void* out, size_t size) {
  auto* to = static_cast<std::byte*>(out);
  position_ += size;
  while (size > 0) {
    if (byte_ == slice_end_) NextSlice();
    const size_t part = std::min(size, static_cast<size_t>(slice_end_ - byte_));
    std::memcpy(to, byte_, part);
    byte_ += part;
    to += part;
    size -= part;
  }
}

void ProtoReader::SkipValue(WireType type) {
  uint64_t ignored = 0;
  size_t size = 0;
  switch (type) {
    case WireType::kVarint:
      ReadVarint("(unknown)", &ignored);
      return;
    case WireType::kFixed64:
      Advance("(unknown)", 8);
      return;
    case WireType::kFixed32:
      Advance("(unknown)", 4);
      return;
    case WireType::kBytes:
      if (ReadLength("(unknown)", &size)) Advance("(unknown)", size);
      return;
    default:
      Fail("(unknown)", "is a group in the wrong place");
  }
}

// Iterative, so that the input does not decide the depth of the stack.
void ProtoReader::SkipGroup(uint32_t field) {
  uint32_t open[kMaxGroupDepth] = {field};
  int depth = 1;
  while (depth > 0) {
    uint32_t number = 0;
    WireType type = WireType::kVarint;
    if (!ReadTag("(unknown)", &number, &type)) return;
    if (type == WireType::kStartGroup) {
      if (depth == kMaxGroupDepth) return Fail("(unknown)", "nests too many groups");
      open[depth++] = number;
    } else if (type == WireType::kEndGroup) {
      if (number != open[--depth]) return Fail("(unknown)", "ends another group than it began");
    } else {
      SkipValue(type);
    }
  }
}

void ProtoReader::NextSlice() {
  ++slice_;
  byte_ = slices_[slice_].begin();
  slice_end_ = slices_[slice_].end();
}

bool ProtoReader::Enter(const char* name, size_t* outer_end) {
  if (type_ != WireType::kBytes) {
    SkipField();
    return false;
  }
  size_t size = 0;
  if (!ReadLength(name, &size)) return false;
  *outer_end = std::exchange(end_, position_ + size);
  return true;
}

void ProtoReader::Leave(const char* name, size_t outer_end) {
  end_ = outer_end;
  if (failed_) error_ = std::string(name) + "." + error_;
}

}  // namespace hotrow::wire
