// The claim of the codec, counted: payloads are neither copied nor allocated for, whatever their
// size. Every operator new of this program counts into a thread's counters.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/wire/samples.h"

namespace {

thread_local size_t allocations = 0;
thread_local size_t allocated_bytes = 0;

void* CountedAllocation(size_t size) {
  ++allocations;
  allocated_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}

}  // namespace

void* operator new(size_t size) { return CountedAllocation(size); }
void* operator new[](size_t size) { return CountedAllocation(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return CountedAllocation(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return CountedAllocation(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace hotrow::wire {
namespace {

constexpr uint32_t kDim = 64;
constexpr uint32_t kRowBytes = kDim * sizeof(float);
// What a small message may allocate: a few vectors, never the payload.
constexpr size_t kMostAllocations = 24;
constexpr size_t kMostBytes = 4096;

struct Cost {
  size_t allocations;
  size_t bytes;
};

template <typename Work>
Cost CostOf(Work work) {
  const size_t count = allocations;
  const size_t bytes = allocated_bytes;
  work();
  return {allocations - count, allocated_bytes - bytes};
}

grpc::Slice FilledSlice(size_t size) {
  PayloadBuffer buffer(size);
  const std::string bytes = MixedBytes(size, size);
  std::memcpy(buffer.bytes().data(), bytes.data(), size);
  return std::move(buffer).Release();
}

PullResponse ReplyOf(const grpc::Slice& rows) {
  PullResponse message;
  message.request_id = 1;
  message.tables = {{1, static_cast<uint32_t>(rows.size() / kRowBytes), kDim}};
  message.payload_hash = Payload({rows}, 0, rows.size()).Hash();
  return message;
}

std::vector<grpc::Slice> Dumped(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  return slices;
}

TEST(Allocation, TheCounterCounts) {
  const Cost cost = CostOf([] { std::vector<char> bytes(12345); });
  EXPECT_EQ(cost.allocations, 1U);
  EXPECT_EQ(cost.bytes, 12345U);
}

TEST(Allocation, EncodingPassesOnTheVerySlicesGiven) {
  const std::vector<grpc::Slice> payload = {FilledSlice(100 * kRowBytes),
                                            FilledSlice(33 * kRowBytes)};
  PushRequest message;
  message.sub_pushes.resize(1);
  const std::vector<grpc::Slice> sent = Dumped(Encode(message, payload));
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_LT(sent[0].size(), 64U);
  EXPECT_EQ(sent[1].begin(), payload[0].begin());
  EXPECT_EQ(sent[1].size(), payload[0].size());
  EXPECT_EQ(sent[2].begin(), payload[1].begin());
}

TEST(Allocation, EncodingCostsTheSameForEveryPayloadSize) {
  for (const uint32_t rows : {1U, 31U, 32U, 33U, 4096U, 16000U}) {
    const grpc::Slice slice = FilledSlice(size_t{rows} * kRowBytes);
    const PullResponse message = ReplyOf(slice);
    const Cost cost = CostOf([&] { (void)Encode(message, {slice}); });
    EXPECT_LE(cost.allocations, kMostAllocations) << rows;
    EXPECT_LE(cost.bytes, kMostBytes) << rows;
  }
}

TEST(Allocation, DecodingGivesViewsIntoTheReceivedSlices) {
  const grpc::Slice slice = FilledSlice(1000 * kRowBytes);
  const absl::StatusOr<PullResponse> decoded = DecodePullResponse(Encode(ReplyOf(slice), {slice}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->rows.pieces().size(), 1U);
  EXPECT_EQ(static_cast<const void*>(decoded->rows.pieces()[0].data()), slice.begin());
  RowLocator locator;
  locator.Append(decoded->rows, 0, 1000, kDim);
  EXPECT_EQ(static_cast<const void*>(locator.rows()[999]), slice.begin() + 999 * kRowBytes);
  EXPECT_EQ(locator.copied_rows(), 0);
}

TEST(Allocation, HeaderAndPayloadInOneSliceAreViewedThere) {
  const grpc::Slice rows = FilledSlice(100 * kRowBytes);
  const std::string bytes = BytesOf(Encode(ReplyOf(rows), {rows}));
  const grpc::Slice received(bytes);
  const absl::StatusOr<PullResponse> decoded = DecodePullResponse(grpc::ByteBuffer(&received, 1));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(static_cast<const void*>(decoded->rows.pieces()[0].data()),
            received.end() - rows.size());
}

TEST(Allocation, DecodingCostsTheSameForEveryPayloadSize) {
  // The calling thread's hash state is made once.
  (void)Payload(SlicesOf("warm up", 1), 0, 7).Hash();
  for (const uint32_t rows : {1U, 31U, 32U, 33U, 4096U, 16000U}) {
    const grpc::Slice slice = FilledSlice(size_t{rows} * kRowBytes);
    const grpc::ByteBuffer buffer = Encode(ReplyOf(slice), {slice});
    bool ok = false;
    const Cost cost = CostOf([&] { ok = DecodePullResponse(buffer).ok(); });
    EXPECT_TRUE(ok);
    EXPECT_LE(cost.allocations, kMostAllocations) << rows;
    // The array of slices is sized by the length of the message: 32 bytes for each 8 KiB.
    EXPECT_LE(cost.bytes, kMostBytes + slice.size() / 128) << rows;
  }
}

TEST(Allocation, DecodingAPushCostsTwoPerSubPushWhateverItsRows) {
  for (const uint32_t keys : {1U, 33U, 1000U}) {
    PushRequest message;
    for (uint32_t i = 0; i < 10; ++i) {
      message.sub_pushes.push_back({i, 1, 1, 1, Operation::kPush, {{1, keys, kDim, 1, 0.1F}}});
    }
    size_t bytes = 0;
    for (const SubPush& sub_push : message.sub_pushes) bytes += sub_push.payload_bytes();
    const grpc::ByteBuffer buffer = Encode(message, {FilledSlice(bytes)});
    bool ok = false;
    const Cost cost = CostOf([&] { ok = DecodePushRequest(buffer).ok(); });
    EXPECT_TRUE(ok);
    EXPECT_LE(cost.allocations, kMostAllocations + 20) << keys;
  }
}

TEST(Allocation, LocatingStraddlingRowsAllocatesOncePerTable) {
  const std::string bytes = MixedBytes(size_t{4000} * kRowBytes, 1);
  const Payload payload(SlicesOf(bytes, 16 << 10), 100, 3999 * kRowBytes);
  RowLocator locator;
  const Cost cost = CostOf([&] { locator.Append(payload, 0, 3999, kDim); });
  EXPECT_EQ(locator.copied_rows(), 62);
  EXPECT_LE(cost.allocations, 3U);  // addresses, the block and its entry
  EXPECT_LE(cost.bytes, 3999 * sizeof(void*) + 63 * kRowBytes + 64);
}

// A message may claim billions of elements in a few bytes.
TEST(Allocation, ClaimsAreNotBelieved) {
  const std::vector<std::string> claims = {
      std::string("\x20\x01\x32\x06\x10\xff\xff\xff\xff\x0f"),  // 2^32-1 keys
      std::string("\x4a\xff\xff\xff\xff\x0f"),                  // unknown field of 4 GiB
      std::string("\x7a\xff\xff\xff\x7f"),                      // payload of 256 MiB
      std::string("\x1a\x06\x4a\xff\xff\xff\xff\x07"),          // 2^28 refused keys
      std::string("\x12\x06\x12\xff\xff\xff\xff\x07"),          // message of 2 GiB
  };
  for (const std::string& claim : claims) {
    const grpc::ByteBuffer buffer = BufferOf(claim, 0);
    for (const EncodedSample& sample : EncodedSamples()) {
      const Cost cost = CostOf([&] { (void)sample.decode(buffer); });
      EXPECT_LE(cost.bytes, kMostBytes) << sample.name;
    }
  }
}

// The most memory for the fewest bytes: every limit reached with empty elements.
TEST(Allocation, AMessageOfEmptyElementsStaysWithinBounds) {
  std::string result;
  for (int i = 0; i < kMaxTablesPerMessage; ++i) result += std::string("\x3a\0", 2);
  std::string bytes;
  for (int i = 0; i < kMaxSubPushesPerMessage; ++i) {
    bytes += "\x1a";
    bytes += static_cast<char>((result.size() + 2) % 128 + 128);
    bytes += static_cast<char>((result.size() + 2) / 128);
    bytes += "\x18\x01" + result;
  }
  const grpc::ByteBuffer buffer = BufferOf(bytes, 0);
  bool ok = false;
  const Cost cost = CostOf([&] { ok = DecodePushResponse(buffer).ok(); });
  EXPECT_TRUE(ok);
  EXPECT_LE(cost.bytes, 16 * kMaxMessageBytes);
}

}  // namespace
}  // namespace hotrow::wire
