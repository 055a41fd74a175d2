#include "tests/wire/samples.h"

#include <algorithm>

#include "hotrow/v1/parameter_service.pb.h"
#include "kernels/base/check.h"

namespace hotrow::wire {
namespace {

template <typename Message, typename Proto, typename Decode>
EncodedSample MakeSample(const char* name, const grpc::ByteBuffer& buffer, Decode decode,
                         std::function<std::string(const Message&)> encode) {
  return {name, BytesOf(buffer),
          [decode](const grpc::ByteBuffer& bytes) { return decode(bytes).status(); },
          [decode, encode](const grpc::ByteBuffer& bytes) {
            absl::StatusOr<Message> message = decode(bytes);
            return message.ok() ? encode(*message) : message.status().ToString();
          },
          [](const std::string& bytes) { return Proto().ParseFromString(bytes); }};
}

template <typename Message>
grpc::ByteBuffer EncodeSample(const Message& message) {
  return Encode(message, SlicesOf(SamplePayload(message)));
}

template <typename Message>
std::function<std::string(const Message&)> EncodeWith(Payload Message::* payload) {
  return [payload](const Message& message) {
    return BytesOf(Encode(message, SlicesOf(BytesOf(message.*payload))));
  };
}

}  // namespace

std::string MixedBytes(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(MixKey(MixKey(seed) + i) >> 56);
  return bytes;
}

std::vector<grpc::Slice> SlicesOf(const std::string& payload, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  if (slice_bytes == 0) slice_bytes = std::max<size_t>(payload.size(), 1);
  for (size_t at = 0; at < payload.size(); at += slice_bytes) {
    slices.emplace_back(payload.data() + at, std::min(slice_bytes, payload.size() - at));
  }
  return slices;
}

grpc::ByteBuffer BufferOf(const std::string& bytes, size_t slice_bytes) {
  const std::vector<grpc::Slice> slices = SlicesOf(bytes, slice_bytes);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer BufferCutAt(const std::string& bytes, size_t cut) {
  const grpc::Slice slices[] = {grpc::Slice(bytes.data(), cut),
                                grpc::Slice(bytes.data() + cut, bytes.size() - cut)};
  return grpc::ByteBuffer(slices, 2);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  HOTROW_CHECK(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::string BytesOf(const Payload& payload) {
  std::string bytes;
  for (const std::span<const std::byte> piece : payload.pieces()) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  HOTROW_CHECK(bytes.size() == payload.size());
  return bytes;
}

PullRequest SamplePullRequest() {
  PullRequest message;
  message.request_id = 0x1234567890ULL;
  message.timeline = 3;
  message.map_version = 300;
  message.mode = PullMode::kReadOnly;
  message.deadline_ms = 70'000;
  message.tables = {{1, 5}, {4'000'000'000, 0}, {7, 12}};
  return message;
}

PullResponse SamplePullResponse() {
  PullResponse message;
  message.request_id = UINT64_MAX;
  message.tables = {{1, 5, 3, 4}, {2, 0, 16, 0}, {7, 2, 33, 2}};
  const std::string rows = SamplePayload(message);
  message.payload_hash = Payload(SlicesOf(rows), 0, rows.size()).Hash();
  return message;
}

PushRequest SamplePushRequest() {
  PushRequest message;
  message.request_id = 77;
  message.session = 0xFEDCBA9876543210ULL;
  message.timeline = 1;
  message.map_version = 2;
  message.deadline_ms = 1;
  message.sub_pushes = {
      {0, 1, 0, 0x1111, Operation::kPush, {{1, 3, 4, 9, 0.01F}, {2, 1, 32, 9, -0.0F}}},
      {63, 1000, 5, UINT64_MAX, Operation::kUpsert, {{3, 2, 1, 1, 0.0F}}},
      {5, 2, 5, 0x8000000000000000ULL, Operation::kRemove, {{3, 4, 0, 0, 0.0F}}},
      {1023, UINT64_MAX, 1, 0, Operation::kSkip, {}},
  };
  return message;
}

ErrorInfo SampleError() {
  return {ErrorKind::kCapacityFull,
          "table t: 3 new keys found no room on shard 1 (Größe)",
          "raise the memory budget",
          "t",
          1,
          250};
}

PushResponse SamplePushResponse() {
  PushResponse message;
  message.request_id = 77;
  message.results.resize(3);
  message.results[0] = {0, 1, Outcome::kApplied, true, 10, 9, {{1, 3, 0, 0}, {2, 0, 1, 0}}, {}, {}};
  message.results[1] = {63,
                        1000,
                        Outcome::kRefused,
                        false,
                        0,
                        999,
                        {},
                        SampleError(),
                        {0, 1, UINT64_MAX, 0x8000000000000000ULL}};
  message.results[2] = {5, 2, Outcome::kRetry, false, 0, 0, {{0, 0, 0, 0}}, {}, {}};
  message.results[2].error = {ErrorKind::kOverloaded, "queue full", "", "", -1, 5};
  return message;
}

ScanResponse SampleScanResponse() {
  ScanResponse message;
  message.row_count = 6;
  message.dim = 5;
  message.state_columns = 6;
  const std::string rows = SamplePayload(message);
  message.payload_hash = Payload(SlicesOf(rows), 0, rows.size()).Hash();
  return message;
}

std::string SamplePayload(const PullRequest& message) {
  size_t bytes = 0;
  for (const TableKeys& table : message.tables) bytes += table.key_count * sizeof(Key);
  return MixedBytes(bytes, 1);
}

std::string SamplePayload(const PullResponse& message) {
  size_t bytes = 0;
  for (const TableRows& table : message.tables) bytes += size_t{table.row_count} * table.dim * 4;
  return MixedBytes(bytes, 2);
}

std::string SamplePayload(const PushRequest& message) {
  size_t bytes = 0;
  for (const SubPush& sub_push : message.sub_pushes) bytes += sub_push.payload_bytes();
  return MixedBytes(bytes, 3);
}

std::string SamplePayload(const ScanResponse& message) {
  return MixedBytes(message.row_count * (8 + (message.dim + message.state_columns) * size_t{4}), 4);
}

const std::vector<EncodedSample>& EncodedSamples() {
  static const std::vector<EncodedSample> samples = {
      MakeSample<PullRequest, v1::PullRequest>("PullRequest", EncodeSample(SamplePullRequest()),
                                               DecodePullRequest, EncodeWith(&PullRequest::keys)),
      MakeSample<PullResponse, v1::PullResponse>("PullResponse", EncodeSample(SamplePullResponse()),
                                                 DecodePullResponse,
                                                 EncodeWith(&PullResponse::rows)),
      MakeSample<PushRequest, v1::PushRequest>("PushRequest", EncodeSample(SamplePushRequest()),
                                               DecodePushRequest,
                                               EncodeWith(&PushRequest::payload)),
      MakeSample<PushResponse, v1::PushResponse>(
          "PushResponse", Encode(SamplePushResponse()), DecodePushResponse,
          [](const PushResponse& message) { return BytesOf(Encode(message)); }),
      MakeSample<ScanResponse, v1::ScanResponse>("ScanResponse", EncodeSample(SampleScanResponse()),
                                                 DecodeScanResponse,
                                                 EncodeWith(&ScanResponse::rows)),
  };
  return samples;
}

}  // namespace hotrow::wire
