#include "proto/wire/payload.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include "proto/wire/buffer_pool.h"
#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

Payload PayloadOf(const std::string& bytes, size_t slice_bytes) {
  return Payload(SlicesOf(bytes, slice_bytes), 0, bytes.size());
}

TEST(Payload, ViewsARangeOfItsSlices) {
  const std::string bytes = MixedBytes(100, 1);
  for (const size_t slice_bytes : {1, 7, 31, 32, 33, 100}) {
    for (size_t offset = 0; offset <= 100; ++offset) {
      for (const size_t size : {size_t{0}, size_t{1}, size_t{33}, 100 - offset}) {
        if (size > 100 - offset) continue;
        const Payload payload(SlicesOf(bytes, slice_bytes), offset, size);
        ASSERT_EQ(payload.size(), size);
        ASSERT_EQ(BytesOf(payload), bytes.substr(offset, size));
      }
    }
  }
}

TEST(Payload, PointsIntoTheGivenSlices) {
  const std::string bytes = MixedBytes(3000, 2);
  const std::vector<grpc::Slice> slices = SlicesOf(bytes, 1000);
  const Payload payload(slices, 500, 2000);
  ASSERT_EQ(payload.pieces().size(), 3U);
  EXPECT_EQ(static_cast<const void*>(payload.pieces()[0].data()), slices[0].begin() + 500);
  EXPECT_EQ(static_cast<const void*>(payload.pieces()[1].data()), slices[1].begin());
  EXPECT_EQ(payload.pieces()[2].size(), 500U);
}

TEST(Payload, KeepsItsSlicesAlive) {
  const std::string bytes = MixedBytes(5000, 3);
  Payload copy;
  std::span<const std::byte> piece;
  {
    const Payload payload = PayloadOf(bytes, 0);
    copy = payload.Part(100, 4000);
    piece = payload.pieces()[0];
  }
  EXPECT_EQ(std::memcmp(piece.data(), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(BytesOf(copy), bytes.substr(100, 4000));
}

// gRPC keeps the bytes of small slices inside the slice object, which moves and dies.
TEST(Payload, OfTinySlicesStaysValidWhenCopiedAndMoved) {
  const std::string bytes = MixedBytes(60, 4);
  std::span<const std::byte> piece;
  Payload copy;
  {
    Payload first(SlicesOf(bytes, 9), 0, bytes.size());
    piece = first.pieces()[1];
    copy = first;
    const Payload moved = std::move(first);
    EXPECT_EQ(BytesOf(moved), bytes);
  }
  // Takes the memory that the dead slice objects lay in.
  const std::vector<grpc::Slice> others = SlicesOf(MixedBytes(60, 44), 9);
  EXPECT_EQ(BytesOf(copy), bytes);
  EXPECT_EQ(std::memcmp(piece.data(), bytes.data() + 9, 9), 0);
}

TEST(Payload, PartsOfPartsShareBytes) {
  const std::string bytes = MixedBytes(4096, 5);
  const Payload payload = PayloadOf(bytes, 1024);
  const Payload part = payload.Part(1000, 2000).Part(24, 100);
  EXPECT_EQ(BytesOf(part), bytes.substr(1024, 100));
  EXPECT_EQ(part.pieces()[0].data(), payload.pieces()[1].data());
  EXPECT_EQ(payload.Part(4096, 0).size(), 0U);
  EXPECT_TRUE(payload.Part(0, 0).pieces().empty());
}

TEST(Payload, ArrivingInCrumbsIsLaidTogetherOnce) {
  const std::string bytes = MixedBytes(10'000, 6);
  EXPECT_EQ(PayloadOf(bytes, 10).pieces().size(), 1U);
  EXPECT_EQ(BytesOf(PayloadOf(bytes, 10)), bytes);
  EXPECT_EQ(PayloadOf(MixedBytes(200'000, 6), 2000).pieces().size(), 100U);
}

TEST(Payload, CopiesOutAcrossPieces) {
  const std::string bytes = MixedBytes(200, 7);
  const Payload payload = PayloadOf(bytes, 33);
  for (size_t offset = 0; offset <= 200; offset += 11) {
    std::string out(std::min<size_t>(90, 200 - offset), '\0');
    payload.CopyTo(offset, std::as_writable_bytes(std::span(out)));
    ASSERT_EQ(out, bytes.substr(offset, out.size()));
  }
  payload.CopyTo(200, {});
}

TEST(Payload, HashIsXxh3HoweverItIsCut) {
  for (const size_t size : {0, 1, 16, 240, 241, 1024, 5000}) {
    const std::string bytes = MixedBytes(size, 8);
    const uint64_t expected = XXH3_64bits(bytes.data(), bytes.size());
    for (const size_t slice_bytes : {0, 1, 100, 1024}) {
      EXPECT_EQ(PayloadOf(bytes, slice_bytes).Hash(), expected) << size << " in " << slice_bytes;
    }
  }
}

TEST(PayloadDeathTest, RefusesARangeBeyondItsEnd) {
  const Payload payload = PayloadOf(MixedBytes(10, 9), 0);
  EXPECT_DEATH((void)payload.Part(5, 6), "check failed");
  EXPECT_DEATH((void)payload.Part(11, 0), "check failed");
  EXPECT_DEATH((void)payload.Part(5, SIZE_MAX), "check failed");
  EXPECT_DEATH(Payload(SlicesOf("abc"), 1, 3), "check failed");
}

// ---------------------------------------------------------------- RowLocator

std::string RowBytes(ConstRowPointer row, int64_t dim) {
  return {reinterpret_cast<const char*>(row), static_cast<size_t>(dim) * sizeof(float)};
}

TEST(RowLocator, FindsRowsInPlaceAndCopiesOnlyThoseAcrossSlices) {
  const std::string bytes = MixedBytes(3 + 33 * 12 + 5, 10);
  for (size_t slice_bytes = 24; slice_bytes <= bytes.size(); ++slice_bytes) {
    const Payload payload = PayloadOf(bytes, slice_bytes);
    RowLocator locator;
    locator.Append(payload, 3, 33, 3);
    ASSERT_EQ(locator.rows().size(), 33U);
    int64_t straddling = 0;
    for (size_t i = 0; i < 33; ++i) {
      const size_t offset = 3 + i * 12;
      ASSERT_EQ(RowBytes(locator.rows()[i], 3), bytes.substr(offset, 12));
      straddling += offset / slice_bytes != (offset + 11) / slice_bytes ? 1 : 0;
    }
    ASSERT_EQ(locator.copied_rows(), straddling) << "slices of " << slice_bytes;
    ASSERT_LT(locator.copied_rows(), static_cast<int64_t>(payload.pieces().size()));
  }
}

TEST(RowLocator, RowsOverManySlicesAreCopiedWhole) {
  const std::string bytes = MixedBytes(400, 11);
  for (const size_t slice_bytes : {7, 8, 13, 24}) {
    RowLocator locator;
    locator.Append(PayloadOf(bytes, slice_bytes), 0, 4, 25);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(RowBytes(locator.rows()[i], 25), bytes.substr(i * 100, 100));
    }
  }
}

TEST(RowLocator, AddressesStayValidOverLaterAppends) {
  const std::string bytes = MixedBytes(4000, 12);
  const Payload payload = PayloadOf(bytes, 70);
  RowLocator locator;
  for (size_t table = 0; table < 40; ++table) locator.Append(payload, table * 100, 5, 5);
  ASSERT_EQ(locator.rows().size(), 200U);
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(RowBytes(locator.rows()[i], 5), bytes.substr(i * 20, 20));
  }
}

TEST(RowLocator, ClearForgetsEverything) {
  const Payload payload = PayloadOf(MixedBytes(80, 13), 30);
  RowLocator locator;
  locator.Append(payload, 0, 4, 5);
  EXPECT_GT(locator.copied_rows(), 0);
  locator.Clear();
  EXPECT_TRUE(locator.rows().empty());
  EXPECT_EQ(locator.copied_rows(), 0);
  locator.Append(payload, 80, 0, 5);
  EXPECT_TRUE(locator.rows().empty());
}

TEST(RowLocatorDeathTest, RefusesRowsBeyondThePayload) {
  const Payload payload = PayloadOf(MixedBytes(80, 14), 0);
  RowLocator locator;
  EXPECT_DEATH(locator.Append(payload, 1, 4, 5), "check failed");
  EXPECT_DEATH(locator.Append(payload, 0, INT64_MAX, 1), "check failed");
}

// ---------------------------------------------------------------- PayloadBuffer

TEST(PayloadBuffer, BecomesASliceOfTheSameMemory) {
  for (const size_t size : {1, 8, 31, 32, 33, 5000, 1 << 20}) {
    PayloadBuffer buffer(size);
    ASSERT_EQ(buffer.bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 64, 0U);
    std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{0x5A});
    const void* address = buffer.bytes().data();
    PayloadBuffer moved = std::move(buffer);
    const grpc::Slice slice = std::move(moved).Release();
    EXPECT_EQ(slice.begin(), address);
    EXPECT_EQ(slice.size(), size);
    EXPECT_EQ(*(slice.end() - 1), 0x5A);
  }
}

TEST(PayloadBuffer, MayBeEmptyOrNeverReleased) {
  EXPECT_EQ(PayloadBuffer(0).bytes().size(), 0U);
  EXPECT_EQ(PayloadBuffer(0).Release().size(), 0U);
  PayloadBuffer unused(100'000);
}

// AddressSanitizer builds keep nothing, so that it sees every use after the end.
bool PoolKeeps() {
  BufferPool pool;
  pool.GiveBack(pool.Take(BufferPool::kSmallestBytes), BufferPool::kSmallestBytes);
  return pool.kept_bytes() > 0;
}

TEST(BufferPool, GivesAKeptBufferOfTheSameClassAgain) {
  if (!PoolKeeps()) GTEST_SKIP() << "keeps nothing in this build";
  BufferPool pool;
  std::byte* buffer = pool.Take(1'000'000);
  pool.GiveBack(buffer, 1'000'000);
  EXPECT_EQ(pool.kept_bytes(), size_t{1} << 20);
  EXPECT_EQ(pool.Take(600'000), buffer);
  EXPECT_EQ(pool.kept_bytes(), 0U);
  pool.GiveBack(buffer, 600'000);
}

TEST(BufferPool, KeepsABoundedNumberOfBytes) {
  BufferPool pool;
  std::vector<std::byte*> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(pool.Take(size_t{1} << 20));
  for (std::byte* buffer : buffers) pool.GiveBack(buffer, size_t{1} << 20);
  EXPECT_LE(pool.kept_bytes(), BufferPool::kMaxKeptBytes);
}

TEST(BufferPool, DoesNotKeepSmallOrHugeBuffers) {
  BufferPool pool;
  for (const size_t size :
       {size_t{0}, size_t{1}, BufferPool::kSmallestBytes / 2, BufferPool::kLargestBytes + 1}) {
    pool.GiveBack(pool.Take(size), size);
    EXPECT_EQ(pool.kept_bytes(), 0U);
  }
}

TEST(BufferPool, NeverGivesOneBufferToTwoThreads) {
  BufferPool pool;
  const auto work = [&pool](uint64_t seed) {
    for (uint64_t i = 0; i < 2000; ++i) {
      const size_t size = BufferPool::kSmallestBytes + MixKey(seed + i) % 300'000;
      std::byte* buffer = pool.Take(size);
      std::memcpy(buffer, &seed, sizeof(seed));
      std::memcpy(buffer + size - sizeof(seed), &seed, sizeof(seed));
      uint64_t seen = 0;
      std::memcpy(&seen, buffer, sizeof(seen));
      ASSERT_EQ(seen, seed);
      pool.GiveBack(buffer, size);
    }
  };
  std::thread a(work, 1 << 20);
  std::thread b(work, 2 << 20);
  a.join();
  b.join();
}

}  // namespace
}  // namespace hotrow::wire
