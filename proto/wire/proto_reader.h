// Reads protobuf's wire format where it was received: across slices, without laying them together.
//
// A message is a loop over Next() with one Read call per field:
//
//   while (reader.Next()) {
//     switch (reader.field()) {
//       case 1: reader.Read("table_id", &table_id); break;
//       default: reader.SkipField();
//     }
//   }
//
// A known field with another wire type than expected is skipped like an unknown one, as protobuf
// does.
//
// Thread safety: none; one reader per message. Ownership: the slices must outlive the reader.
// Errors: the first one ends all loops (Next gives false, Read leaves its output alone) and is
// reported by Finish with the path of the field. Bounds: never reads outside the slices, never
// recurses with the input, allocates strings and arrays only after their bytes were seen to be
// there.

#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {

// Where the payload lies in its message.
struct PayloadRange {
  size_t offset = 0;
  size_t size = 0;
};

class ProtoReader {
 public:
  explicit ProtoReader(std::span<const grpc::Slice> slices);

  // Goes to the next field of the current message. False at its end and after a failure.
  bool Next();
  uint32_t field() const { return field_; }

  void Read(const char* name, uint32_t* value);  // a value over 32 bits is refused, not cut
  void Read(const char* name, int32_t* value);
  void Read(const char* name, uint64_t* value);
  void Read(const char* name, bool* value);
  void ReadFixed(const char* name, uint64_t* value);
  void ReadFixed(const char* name, float* value);
  void ReadString(const char* name, std::string* value);  // refuses what is not UTF-8
  // One value or a packed run of them, appended.
  void ReadRepeatedFixed(const char* name, std::vector<uint64_t>* values);
  // The payload field: must end the outermost message.
  void ReadPayload(const char* name, PayloadRange* range);
  void SkipField();

  // A received enum number as an enum whose legal values are 1 .. last; anything else fails.
  template <typename Enum>
  Enum ToEnum(const char* name, uint32_t number, Enum last) {
    if (number == 0 || number > static_cast<uint32_t>(last)) Fail(name, "is not a known value");
    return static_cast<Enum>(failed_ ? static_cast<uint32_t>(last) : number);
  }
  // A sub-message: parse() loops over Next() of this reader, which ends with the sub-message.
  template <typename Parse>
  void ReadMessage(const char* name, Parse parse) {
    size_t outer_end = 0;
    if (!Enter(name, &outer_end)) return;
    parse();
    Leave(name, outer_end);
  }
  // The next element of a repeated sub-message, appended to `elements` unless it is full.
  template <typename Element, typename Parse>
  void ReadElement(const char* name, size_t limit, std::vector<Element>* elements, Parse parse) {
    if (type_ != WireType::kBytes) return SkipField();
    if (elements->size() >= limit) return Fail(name, "has too many elements");
    ReadMessage(name, [&] { parse(&elements->emplace_back()); });
  }

  bool ok() const { return !failed_; }
  // Fails the message: `name` is a field of the message that is being read.
  void Fail(const char* name, const char* reason);
  // OK, or InvalidArgument with `message` and the path of the offending field.
  absl::Status Finish(const char* message) const;

 private:
  size_t left() const { return end_ - position_; }  // bytes of the current message
  bool ReadVarint(const char* name, uint64_t* value);
  bool ReadTag(const char* name, uint32_t* field, WireType* type);
  bool ReadLength(const char* name, size_t* size);
  bool ReadBytes(const char* name, void* out, size_t size);
  bool Advance(const char* name, size_t size);
  void CopyBytes(void* out, size_t size);  // size <= left()
  void SkipValue(WireType type);
  void SkipGroup(uint32_t field);
  void NextSlice();
  bool Enter(const char* name, size_t* outer_end);
  void Leave(const char* name, size_t outer_end);

  std::span<const grpc::Slice> slices_;
  size_t slice_ = 0;               // index of the current slice
  const uint8_t* byte_ = nullptr;  // next byte in it
  const uint8_t* slice_end_ = nullptr;
  size_t position_ = 0;  // offset of byte_ in the outermost message
  size_t end_ = 0;       // of the message that is being read
  size_t total_ = 0;     // of the outermost message
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool failed_ = false;
  std::string error_;
};

}  // namespace hotrow::wire
