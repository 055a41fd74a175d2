// Messages of every kind with known content, and buffers cut as a network may cut them.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/wire/batch_codec.h"

namespace hotrow::wire {

// `size` bytes, each a hash of its position and `seed`.
std::string MixedBytes(size_t size, uint64_t seed);

// The message `bytes` in slices of `slice_bytes` (0: in one slice). All slices are copies.
grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_bytes);
// The same in two slices.
grpc::ByteBuffer BufferCutAt(const std::string& bytes, size_t cut);
std::string BytesOf(const grpc::ByteBuffer& buffer);
std::string BytesOf(const Payload& payload);
std::vector<grpc::Slice> SlicesOf(const std::string& payload, size_t slice_bytes = 0);

PullRequest SamplePullRequest();
PullResponse SamplePullResponse();  // payload_hash set
PushRequest SamplePushRequest();
PushResponse SamplePushResponse();
ScanResponse SampleScanResponse();  // payload_hash set
ErrorInfo SampleError();
// The payload of the samples above.
std::string SamplePayload(const PullRequest& message);
std::string SamplePayload(const PullResponse& message);
std::string SamplePayload(const PushRequest& message);
std::string SamplePayload(const ScanResponse& message);

// One encoded sample, how to decode it, and how to encode what was decoded again.
struct EncodedSample {
  const char* name;
  std::string bytes;
  std::function<absl::Status(const grpc::ByteBuffer&)> decode;
  std::function<std::string(const grpc::ByteBuffer&)> decode_and_encode;
  std::function<bool(const std::string&)> parses_as_protobuf;
};
const std::vector<EncodedSample>& EncodedSamples();

}  // namespace hotrow::wire
