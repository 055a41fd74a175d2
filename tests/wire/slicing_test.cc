// A message means the same however the network cuts it, and less than a message is refused.

#include <gtest/gtest.h>

#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

class EverySample : public ::testing::TestWithParam<EncodedSample> {};

INSTANTIATE_TEST_SUITE_P(Wire, EverySample, ::testing::ValuesIn(EncodedSamples()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EverySample, SurvivesARoundTrip) {
  EXPECT_EQ(GetParam().decode_and_encode(BufferOf(GetParam().bytes, 0)), GetParam().bytes);
}

TEST_P(EverySample, IsTheSameCutAtEveryByte) {
  for (size_t cut = 0; cut <= GetParam().bytes.size(); ++cut) {
    ASSERT_EQ(GetParam().decode_and_encode(BufferCutAt(GetParam().bytes, cut)), GetParam().bytes)
        << "cut at " << cut;
  }
}

TEST_P(EverySample, IsTheSameInSlicesOfEverySize) {
  for (size_t size = 1; size <= GetParam().bytes.size(); ++size) {
    ASSERT_EQ(GetParam().decode_and_encode(BufferOf(GetParam().bytes, size)), GetParam().bytes)
        << "slices of " << size;
  }
}

TEST_P(EverySample, IsRefusedWhenCutShort) {
  for (size_t size = 0; size < GetParam().bytes.size(); ++size) {
    const std::string shorter = GetParam().bytes.substr(0, size);
    for (const size_t slice_bytes : {size_t{0}, size_t{1}, size_t{7}}) {
      const absl::Status status = GetParam().decode(BufferOf(shorter, slice_bytes));
      if (!GetParam().parses_as_protobuf(shorter)) {
        ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "cut to " << size;
      } else if (!status.ok()) {
        // Between two fields: a whole protobuf message whose content need not add up.
        ASSERT_TRUE(absl::IsInvalidArgument(status) || absl::IsDataLoss(status)) << status;
      }
    }
  }
}

TEST_P(EverySample, IsRefusedWithBytesAfterIt) {
  EXPECT_FALSE(GetParam().decode(BufferOf(GetParam().bytes + '\0', 0)).ok());
  EXPECT_FALSE(GetParam().decode(BufferOf(GetParam().bytes + '\x0c', 0)).ok());  // an end-group tag
}

TEST(Slicing, WithoutItsWholePayloadAMessageIsRefused) {
  for (const EncodedSample& sample : EncodedSamples()) {
    if (sample.name == std::string("PushResponse")) continue;  // has none
    for (size_t left_out = 1; left_out <= 40; ++left_out) {
      const std::string shorter = sample.bytes.substr(0, sample.bytes.size() - left_out);
      EXPECT_TRUE(absl::IsInvalidArgument(sample.decode(BufferOf(shorter, 0)))) << sample.name;
    }
  }
}

TEST(Slicing, NoMessageIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(DecodePullRequest(grpc::ByteBuffer()).status()));
}

TEST(Slicing, EmptySlicesBetweenOthersDoNotMatter) {
  const std::string& bytes = EncodedSamples()[2].bytes;
  std::vector<grpc::Slice> slices;
  for (const grpc::Slice& slice : SlicesOf(bytes, 3)) {
    slices.emplace_back();
    slices.push_back(slice);
    slices.emplace_back();
  }
  EXPECT_EQ(EncodedSamples()[2].decode_and_encode(grpc::ByteBuffer(slices.data(), slices.size())),
            bytes);
}

}  // namespace
}  // namespace hotrow::wire
