// Fuzz entry of all decoders. Input: one byte of slice size (0: one slice), one that chooses the
// message, then the message. Checks, beyond not crashing, that what we accept is protobuf, that it
// means to us what it means to protobuf, and that encoding it again changes nothing.

#include <google/protobuf/stubs/logging.h>

#include <cstring>

#include "hotrow/v1/parameter_service.pb.h"
#include "kernels/base/check.h"
#include "proto/wire/batch_codec.h"
#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

// Errors of unknown kinds become internal ones and long texts are cut: not compared.
void ClearErrors(v1::PullRequest&) {}
void ClearErrors(v1::PushRequest&) {}
void ClearErrors(v1::ScanResponse&) {}
void ClearErrors(v1::PullResponse& proto) { proto.clear_error(); }
void ClearErrors(v1::PushResponse& proto) {
  proto.clear_error();
  for (v1::SubPushResult& result : *proto.mutable_results()) result.clear_error();
}

template <typename Proto>
std::string Canonical(const std::string& bytes) {
  Proto proto;
  HOTROW_CHECK(proto.ParseFromString(bytes));
  proto.DiscardUnknownFields();
  ClearErrors(proto);
  return proto.SerializeAsString();
}

template <typename Proto>
void CheckSample(const EncodedSample& sample, const std::string& bytes, size_t slice_bytes) {
  const grpc::ByteBuffer buffer = BufferOf(bytes, slice_bytes);
  if (!sample.decode(buffer).ok()) return;
  const std::string again = sample.decode_and_encode(buffer);
  HOTROW_CHECK(Canonical<Proto>(again) == Canonical<Proto>(bytes));
  HOTROW_CHECK(sample.decode_and_encode(BufferOf(again, 0)) == again);
}

}  // namespace
}  // namespace hotrow::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hotrow;  // NOLINT
  if (size < 2) return 0;
  google::protobuf::SetLogHandler(nullptr);
  const size_t slice_bytes = data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<wire::EncodedSample>& samples = wire::EncodedSamples();
  switch (data[1] % 5) {
    case 0:
      wire::CheckSample<v1::PullRequest>(samples[0], bytes, slice_bytes);
      break;
    case 1:
      wire::CheckSample<v1::PullResponse>(samples[1], bytes, slice_bytes);
      break;
    case 2:
      wire::CheckSample<v1::PushRequest>(samples[2], bytes, slice_bytes);
      break;
    case 3:
      wire::CheckSample<v1::PushResponse>(samples[3], bytes, slice_bytes);
      break;
    default:
      wire::CheckSample<v1::ScanResponse>(samples[4], bytes, slice_bytes);
  }
  return 0;
}
