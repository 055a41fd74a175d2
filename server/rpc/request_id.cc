#include "server/rpc/request_id.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <vector>

namespace hotrow {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr int kRequestIdField = 1;
// Senders write fields in order of number; an id that hides behind more than this is not looked
// for.
constexpr int kMaxSkippedFields = 8;

}  // namespace

uint64_t PeekRequestId(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok() || slices.empty()) return 0;
  google::protobuf::io::CodedInputStream input(slices[0].begin(),
                                               static_cast<int>(slices[0].size()));
  for (int i = 0; i < kMaxSkippedFields; ++i) {
    const uint32_t tag = input.ReadTag();
    if (tag == 0) return 0;
    if (WireFormatLite::GetTagFieldNumber(tag) == kRequestIdField) {
      uint64_t id = 0;
      const bool varint = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_VARINT;
      return varint && input.ReadVarint64(&id) ? id : 0;
    }
    if (!WireFormatLite::SkipField(&input, tag)) return 0;
  }
  return 0;
}

}  // namespace hotrow
