#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/bits.h"
#include "kernels/base/float_row.h"
#include "kernels/base/key.h"
#include "kernels/base/result.h"
#include "kernels/base/row_layout.h"
#include "kernels/space/host_space.h"
#include "kernels/space/tile.h"
#include "tests/conformance/row_values.h"

namespace hotrow::testing {
namespace {

TEST(Key, MixKeyIsThePublishedFinalizer) {
  EXPECT_EQ(MixKey(0), 0U);
  EXPECT_EQ(MixKey(1), 0xb456bcfc34c2cb2cULL);
  EXPECT_EQ(MixKey(0xb456bcfc34c2cb2cULL), MixKey(MixKey(1)));
}

TEST(Key, PartitionDigestAndSetUseDisjointBits) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t hash = uint64_t{1} << bit;
    EXPECT_EQ(PartitionOfHash(hash, kMaxPartitionBits) != 0, bit >= 54);
    EXPECT_EQ(DigestOfHash(hash) != 0, bit >= 46 && bit < 54);
  }
  EXPECT_EQ(PartitionOfHash(~uint64_t{0}, 0), 0U);
  EXPECT_EQ(PartitionOfHash(~uint64_t{0}, 6), 63U);
}

TEST(Bits, CountAndFindBits) {
  EXPECT_EQ(LowBits(0), 0U);
  EXPECT_EQ(LowBits(4), 15U);
  EXPECT_EQ(LowBits(64), ~uint64_t{0});
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t mask = uint64_t{1} << bit;
    EXPECT_EQ(LowestBit(mask | uint64_t{1} << 63), bit);
    EXPECT_EQ(HighestBit(mask | 1), bit);
    EXPECT_EQ(CountBits(LowBits(bit)), bit);
  }
}

TEST(Bits, FindsAZeroByteAnywhere) {
  std::vector<uint8_t> bytes(64, 0x80);
  EXPECT_FALSE(HasZeroByte(bytes.data(), 64));
  for (size_t i = 0; i < 64; ++i) {
    for (const uint8_t other : {0x01, 0x80, 0xff}) {
      bytes.assign(64, other);
      bytes[i] = 0;
      EXPECT_TRUE(HasZeroByte(bytes.data(), 64));
      EXPECT_EQ(HasZeroByte(bytes.data(), 4), i < 4);
    }
  }
}

TEST(RowLayout, KeepsMetadataAlignedBehindTheValues) {
  for (const int64_t columns : {1, 31, 32, 33}) {
    const RowLayout layout = RowLayout::Of(columns, 2);
    EXPECT_EQ(layout.meta_offset % 16, 0);
    EXPECT_GE(layout.meta_offset, (columns + 2) * 4);
    EXPECT_EQ(layout.row_bytes, layout.meta_offset + 16);
    std::vector<RowMeta> record(static_cast<size_t>(layout.row_bytes) / sizeof(RowMeta));
    auto* const bytes = reinterpret_cast<std::byte*>(record.data());
    EXPECT_EQ(reinterpret_cast<std::byte*>(layout.state(bytes)), bytes + columns * 4);
    EXPECT_EQ(layout.meta(bytes), &record.back());
  }
}

TEST(FloatRow, IsReadAndWrittenAtAnyAddress) {
  std::vector<std::byte> buffer(4 * 33 + 4);
  for (int shift = 0; shift < 4; ++shift) {
    const RowPointer row = AsRow(buffer.data() + shift);
    for (int64_t i = 0; i < 33; ++i) row[i] = ValueOf(3, i);
    const ConstRowPointer same = AsRow(static_cast<const void*>(buffer.data() + shift));
    for (int64_t i = 0; i < 33; ++i) EXPECT_EQ(same[i], ValueOf(3, i));
  }
}

TEST(Result, CarriesAValueOrAReason) {
  ResultOr<std::vector<int>> good(std::vector<int>{1, 2});
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good->size(), 2U);
  const std::vector<int> moved = *std::move(good);
  EXPECT_EQ(moved.size(), 2U);
  const ResultOr<int> bad(Result(Code::kInvalidArgument, "no"));
  EXPECT_FALSE(bad.ok());
  EXPECT_STREQ(bad.result().message(), "no");
  EXPECT_DEATH((void)ResultOr<int>(Result()), "check failed");
}

template <typename T>
class TileTest : public ::testing::Test {};
using Tiles = ::testing::Types<HostTile<1>, HostTile<4>, HostTile<8>, HostTile<32>>;
TYPED_TEST_SUITE(TileTest, Tiles);

TYPED_TEST(TileTest, BallotAsksEveryLaneOnce) {
  const TypeParam tile;
  int calls = 0;
  const uint32_t mask = tile.Ballot([&](int lane) {
    ++calls;
    return lane % 3 == 0;
  });
  EXPECT_EQ(calls, TypeParam::kWidth);
  for (int lane = 0; lane < TypeParam::kWidth; ++lane) {
    EXPECT_EQ(mask >> lane & 1U, lane % 3 == 0 ? 1U : 0U);
  }
}

TYPED_TEST(TileTest, ForEachVisitsEveryIndexOnce) {
  for (const int64_t n : {0, 1, 31, 32, 33, 1000}) {
    std::vector<int> visits(static_cast<size_t>(n));
    TypeParam().ForEach(n, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    for (const int count : visits) EXPECT_EQ(count, 1);
  }
}

TYPED_TEST(TileTest, MatchBytesFindsEveryEqualByte) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    uint8_t bytes[64];
    const auto value = static_cast<uint8_t>(round);
    for (uint8_t& byte : bytes) {
      // Neighbours of the value in every bit, where a carry would go wrong.
      byte = random() % 3 == 0 ? value : static_cast<uint8_t>(value ^ (1U << random() % 8));
    }
    for (const int n : {4, 8, 28, 32, 64}) {
      uint64_t expected = 0;
      for (int i = 0; i < n; ++i) expected |= uint64_t{bytes[i] == value} << i;
      ASSERT_EQ(TypeParam().MatchBytes(bytes, n, value), expected) << n << " bytes";
    }
  }
}

TYPED_TEST(TileTest, MinIsTheSmallestValue) {
  EXPECT_EQ(TypeParam().Min(0, [](int64_t) { return uint64_t{0}; }), UINT64_MAX);
  for (const int64_t n : {1, 31, 32, 33}) {
    uint64_t expected = UINT64_MAX;
    for (int64_t i = 0; i < n; ++i) expected = std::min(expected, MixKey(Key(i) + 5));
    EXPECT_EQ(TypeParam().Min(n, [](int64_t i) { return MixKey(Key(i) + 5); }), expected);
  }
}

TYPED_TEST(TileTest, SumHasTheOneShapeOfStridedPartsAndATree) {
  for (const int64_t n : {0, 1, 31, 32, 33, 1000}) {
    float part[kSumLanes] = {};
    for (int64_t i = 0; i < n; ++i) part[i % kSumLanes] += ValueOf(11, i);
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) part[j] += part[j + half];
    }
    const float sum = TypeParam().Sum(n, [](int64_t i) { return ValueOf(11, i); });
    EXPECT_EQ(std::memcmp(&sum, part, sizeof(sum)), 0) << n;
  }
}

TEST(HostSpace, RunsEveryStageOfEveryKeyInOrderWithItsOwnWork) {
  for (const int64_t n : {0, 1, 7, 8, 9, 31, 32, 33, 1000}) {
    std::vector<int> stage_of(static_cast<size_t>(n));
    std::vector<int64_t> finished;
    HostSpace().Run<8, int64_t>(
        n,
        [&](const auto&, int64_t i, int64_t& work) {
          work = i * 3;
          EXPECT_EQ(stage_of[i]++, 0);
        },
        [&](const auto&, int64_t i, int64_t& work) {
          EXPECT_EQ(work, i * 3);
          work += 1;
          EXPECT_EQ(stage_of[i]++, 1);
        },
        [&](const auto&, int64_t i, int64_t& work) {
          EXPECT_EQ(work, i * 3 + 1);
          EXPECT_EQ(stage_of[i]++, 2);
          finished.push_back(i);
        });
    ASSERT_EQ(static_cast<int64_t>(finished.size()), n);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(finished[i], i);
  }
}

}  // namespace
}  // namespace hotrow::testing
