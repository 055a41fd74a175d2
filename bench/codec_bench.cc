// What do encoding and decoding a pull reply of 1 MiB cost?
//
// Prints ns and payload GB/s of our codec beside the generated protobuf stub (the peer) and a
// memcpy of the payload (what any codec that copies pays at least), and the memory of a reply: our
// pool beside malloc. Medians of one run on one thread.

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hotrow/v1/parameter_service.pb.h"
#include "kernels/base/check.h"
#include "proto/wire/batch_codec.h"

namespace {

using hotrow::wire::Payload;
using hotrow::wire::PayloadBuffer;
using hotrow::wire::PullResponse;
using hotrow::wire::RowLocator;

constexpr uint32_t kDim = 64;
constexpr uint32_t kRows = 4096;
constexpr size_t kBytes = size_t{kRows} * kDim * sizeof(float);
constexpr size_t kReceivedSliceBytes = 16 << 10;  // an HTTP/2 frame
constexpr int kRounds = 301;
constexpr int kInFlight = 8;

using Clock = std::chrono::steady_clock;
using ProtoTraits = grpc::SerializationTraits<hotrow::v1::PullResponse>;

template <typename Work>
void Report(const char* what, size_t bytes, Work work) {
  std::vector<double> ns;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    work();
    ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  std::nth_element(ns.begin(), ns.begin() + kRounds / 2, ns.end());
  const double median = ns[kRounds / 2];
  std::printf("%-58s %9.0f ns %8.1f GB/s\n", what, median, static_cast<double>(bytes) / median);
}

grpc::Slice Rows() {
  PayloadBuffer buffer(kBytes);
  for (size_t i = 0; i < kBytes; ++i) {
    buffer.bytes()[i] = static_cast<std::byte>(hotrow::MixKey(i) >> 56);
  }
  return std::move(buffer).Release();
}

PullResponse Reply(const grpc::Slice& rows) {
  PullResponse message;
  message.request_id = 12345;
  message.tables = {{1, kRows, kDim}};
  message.payload_hash = Payload({rows}, 0, kBytes).Hash();
  return message;
}

grpc::ByteBuffer Received(const grpc::ByteBuffer& sent) {
  grpc::Slice whole;
  HOTROW_CHECK(sent.DumpToSingleSlice(&whole).ok());
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < whole.size(); at += kReceivedSliceBytes) {
    slices.emplace_back(whole.begin() + at, std::min(kReceivedSliceBytes, whole.size() - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void ReportCodec(const grpc::Slice& rows) {
  const PullResponse reply = Reply(rows);
  Report("hotrow: encode", kBytes, [&] { (void)Encode(reply, {rows}); });
  const grpc::ByteBuffer received = Received(Encode(reply, {rows}));
  Report("hotrow: decode, hash verified (slices of 16 KiB)", kBytes,
         [&] { HOTROW_CHECK(hotrow::wire::DecodePullResponse(received).ok()); });
  const PullResponse decoded = *hotrow::wire::DecodePullResponse(received);
  Report("  of it: the hash", kBytes,
         [&] { HOTROW_CHECK(decoded.rows.Hash() == reply.payload_hash); });
  Report("hotrow: locate the rows", kBytes, [&] {
    RowLocator locator;
    locator.Append(decoded.rows, 0, kRows, kDim);
    HOTROW_CHECK(locator.rows().size() == kRows);
  });
}

void ReportPeer(const grpc::Slice& rows) {
  hotrow::v1::PullResponse proto;
  proto.set_request_id(12345);
  grpc::ByteBuffer sent;
  bool own = false;
  Report("protobuf: set the rows and serialize", kBytes, [&] {
    sent.Clear();
    proto.set_rows(rows.begin(), rows.size());
    HOTROW_CHECK(ProtoTraits::Serialize(proto, &sent, &own).ok());
  });
  const grpc::ByteBuffer received = Received(sent);
  Report("protobuf: parse, no hash", kBytes, [&] {
    grpc::ByteBuffer copy(received);
    hotrow::v1::PullResponse parsed;
    HOTROW_CHECK(ProtoTraits::Deserialize(&copy, &parsed).ok());
  });
}

grpc::Slice FilledSlice(const grpc::Slice& rows) {
  PayloadBuffer buffer(kBytes);
  std::memcpy(buffer.bytes().data(), rows.begin(), kBytes);
  return std::move(buffer).Release();
}

void* FilledMalloc(const grpc::Slice& rows) {
  void* buffer = std::malloc(kBytes);
  std::memcpy(buffer, rows.begin(), kBytes);
  asm volatile("" : : "r"(buffer) : "memory");
  return buffer;
}

void ReportMemory(const grpc::Slice& rows) {
  std::vector<uint8_t> target(kBytes);
  Report("memcpy of the payload", kBytes, [&] {
    std::memcpy(target.data(), rows.begin(), kBytes);
    asm volatile("" : : "r"(target.data()) : "memory");
  });
  Report("fill a PayloadBuffer and drop its slice", kBytes, [&] { (void)FilledSlice(rows); });
  Report("fill a buffer of malloc and free it", kBytes, [&] { std::free(FilledMalloc(rows)); });
}

// Replies wait in queues and are dropped by other threads: that is where malloc maps, faults in and
// unmaps every buffer.
void ReportMemoryInFlight(const grpc::Slice& rows) {
  Report("8 PayloadBuffers dropped by another thread (all 8)", kInFlight * kBytes, [&] {
    std::vector<grpc::Slice> slices;
    for (int i = 0; i < kInFlight; ++i) slices.push_back(FilledSlice(rows));
    std::thread([&] { slices.clear(); }).join();
  });
  Report("8 buffers of malloc freed by another thread (all 8)", kInFlight * kBytes, [&] {
    std::vector<void*> buffers;
    for (int i = 0; i < kInFlight; ++i) buffers.push_back(FilledMalloc(rows));
    std::thread([&] {
      for (void* buffer : buffers) std::free(buffer);
    }).join();
  });
}

}  // namespace

int main() {
  const grpc::Slice rows = Rows();
  std::printf("a pull reply of %u rows x %u float32\n", kRows, kDim);
  ReportCodec(rows);
  ReportPeer(rows);
  ReportMemory(rows);
  ReportMemoryInFlight(rows);
}
