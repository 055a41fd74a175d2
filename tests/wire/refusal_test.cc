// What a decoder refuses, and by what name.

#include <gtest/gtest.h>

#include "hotrow/v1/parameter_service.pb.h"
#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

template <typename Message>
void ExpectRefused(const absl::StatusOr<Message>& message, const std::string& part) {
  ASSERT_FALSE(message.ok()) << "expected: " << part;
  EXPECT_EQ(message.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(message.status().ToString().find(part), std::string::npos) << message.status();
}

absl::StatusOr<PullRequest> Pull(const v1::PullRequest& proto) {
  return DecodePullRequest(BufferOf(proto.SerializeAsString(), 0));
}
absl::StatusOr<PushRequest> Push(const v1::PushRequest& proto) {
  return DecodePushRequest(BufferOf(proto.SerializeAsString(), 0));
}

v1::PullRequest TwoKeys() {
  v1::PullRequest proto;
  proto.set_mode(v1::PULL_MODE_TRAIN);
  proto.add_tables()->set_key_count(2);
  proto.set_keys(std::string(16, 'k'));
  return proto;
}

v1::PushRequest OneRow() {
  v1::PushRequest proto;
  v1::SubPush* sub_push = proto.add_sub_pushes();
  sub_push->set_operation(v1::OPERATION_PUSH);
  v1::SubPushTable* table = sub_push->add_tables();
  table->set_table_id(1);
  table->set_key_count(1);
  table->set_dim(2);
  proto.set_payload(std::string(16, 'p'));
  return proto;
}

TEST(Refusal, TheBaseMessagesAreAccepted) {
  EXPECT_TRUE(Pull(TwoKeys()).ok());
  EXPECT_TRUE(Push(OneRow()).ok());
}

TEST(Refusal, PayloadThatIsNotLast) {
  const std::string bytes = TwoKeys().SerializeAsString() + "\x08\x01";  // then request_id
  ExpectRefused(DecodePullRequest(BufferOf(bytes, 0)), "PullRequest.keys");
  ASSERT_TRUE(v1::PullRequest().ParseFromString(bytes));
  // Nor an unknown field, nor the payload once more.
  ExpectRefused(DecodePullRequest(BufferOf(TwoKeys().SerializeAsString() + "\x70\x01", 0)),
                "PullRequest.keys");
  ExpectRefused(
      DecodePullRequest(BufferOf(TwoKeys().SerializeAsString() + std::string("\x7a\0", 2), 0)),
      "PullRequest.keys");
}

TEST(Refusal, PullCountsThatDoNotAddUp) {
  v1::PullRequest proto = TwoKeys();
  proto.mutable_tables(0)->set_key_count(1);
  ExpectRefused(Pull(proto), "PullRequest.keys");
  proto.mutable_tables(0)->set_key_count(UINT32_MAX);
  ExpectRefused(Pull(proto), "PullRequest.keys");
  proto.mutable_tables(0)->set_key_count(0x20000002);  // x 8 is 16 in 32 bits
  ExpectRefused(Pull(proto), "PullRequest.keys");
}

TEST(Refusal, AbsentOrUnknownModes) {
  v1::PullRequest proto = TwoKeys();
  proto.clear_mode();
  ExpectRefused(Pull(proto), "PullRequest.mode");
  proto.set_mode(static_cast<v1::PullMode>(3));
  ExpectRefused(Pull(proto), "PullRequest.mode");
  proto.set_mode(static_cast<v1::PullMode>(-1));
  ExpectRefused(Pull(proto), "PullRequest.mode");
}

TEST(Refusal, MoreTablesThanTheLimit) {
  v1::PullRequest proto;
  proto.set_mode(v1::PULL_MODE_TRAIN);
  for (int i = 0; i < kMaxTablesPerMessage; ++i) proto.add_tables();
  EXPECT_TRUE(Pull(proto).ok());
  proto.add_tables();
  ExpectRefused(Pull(proto), "PullRequest.tables");
}

TEST(Refusal, MoreSubPushesThanTheLimit) {
  v1::PushRequest proto;
  for (int i = 0; i < kMaxSubPushesPerMessage; ++i) {
    proto.add_sub_pushes()->set_operation(v1::OPERATION_SKIP);
  }
  EXPECT_TRUE(Push(proto).ok());
  proto.add_sub_pushes()->set_operation(v1::OPERATION_SKIP);
  ExpectRefused(Push(proto), "PushRequest.sub_pushes");
}

TEST(Refusal, ATableTwiceInASubPush) {
  v1::PushRequest proto = OneRow();
  *proto.mutable_sub_pushes(0)->add_tables() = proto.sub_pushes(0).tables(0);
  proto.set_payload(std::string(32, 'p'));
  ExpectRefused(Push(proto), "PushRequest.sub_pushes.tables");
  proto.mutable_sub_pushes(0)->mutable_tables(1)->set_table_id(2);
  EXPECT_TRUE(Push(proto).ok());
}

TEST(Refusal, DimsThatDoNotFitTheOperation) {
  v1::PushRequest proto = OneRow();
  proto.mutable_sub_pushes(0)->set_operation(v1::OPERATION_REMOVE);
  ExpectRefused(Push(proto), "PushRequest.sub_pushes.tables.dim");
  proto = OneRow();
  proto.mutable_sub_pushes(0)->mutable_tables(0)->set_dim(0);
  ExpectRefused(Push(proto), "PushRequest.sub_pushes.tables.dim");
  proto = OneRow();
  proto.mutable_sub_pushes(0)->mutable_tables(0)->set_dim(kMaxDim + 1);
  ExpectRefused(Push(proto), "PushRequest.sub_pushes.tables.dim");
  proto = OneRow();
  proto.mutable_sub_pushes(0)->set_operation(v1::OPERATION_SKIP);
  ExpectRefused(Push(proto), "PushRequest.sub_pushes.tables");
}

TEST(Refusal, UnknownOperations) {
  v1::PushRequest proto = OneRow();
  for (const int operation : {0, 5, 255, 256, 257}) {
    proto.mutable_sub_pushes(0)->set_operation(static_cast<v1::Operation>(operation));
    ExpectRefused(Push(proto), "PushRequest.sub_pushes.operation");
  }
}

// 256 sub-pushes of 128 tables of 2^31 keys of 2^18 bytes are 2^64 bytes: nothing, in 64 bits.
TEST(Refusal, PushSizesThatOverflow) {
  v1::PushRequest proto = OneRow();
  v1::SubPush huge;
  huge.set_operation(v1::OPERATION_PUSH);
  for (uint32_t i = 0; i < 128; ++i) {
    v1::SubPushTable* table = huge.add_tables();
    table->set_table_id(i);
    table->set_key_count(1U << 31);
    table->set_dim(65534);
  }
  for (int i = 0; i < 256; ++i) *proto.add_sub_pushes() = huge;
  ExpectRefused(Push(proto), "PushRequest.payload");
}

TEST(Refusal, NumbersWiderThanTheirField) {
  // tables { key_count: 2^32 + 2 }, which protobuf would cut to 2.
  const std::string table = "\x10\x82\x80\x80\x80\x10";
  const std::string bytes = std::string("\x20\x01\x32") + static_cast<char>(table.size()) + table +
                            "\x7a\x10" + std::string(16, 'k');
  ExpectRefused(DecodePullRequest(BufferOf(bytes, 0)), "PullRequest.tables.key_count");
}

TEST(Refusal, TextThatIsNotUtf8) {
  ExpectRefused(DecodePushResponse(BufferOf("\x12\x03\x12\x01\xff", 0)),
                "PushResponse.error.message");
}

TEST(Refusal, MalformedTagsAndGroups) {
  for (const std::string& bytes :
       {std::string("\0", 1), std::string("\x0e"), std::string("\x0f"), std::string("\x0c"),
        std::string("\x73"), std::string("\x73\x7c"), std::string(40, '\x73'),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), std::string(11, '\x80')}) {
    ExpectRefused(DecodePushResponse(BufferOf(bytes, 0)), "PushResponse.");
    EXPECT_FALSE(v1::PushResponse().ParseFromString(bytes));
  }
}

TEST(Refusal, MessagesOverTheSizeLimit) {
  ScanResponse message;
  EXPECT_TRUE(absl::IsInvalidArgument(
      DecodeScanResponse(Encode(message, {grpc::Slice(kMaxMessageBytes)})).status()));
}

TEST(Refusal, ADamagedReplyIsDataLoss) {
  for (const size_t index : {1, 4}) {
    const EncodedSample& sample = EncodedSamples()[index];
    for (size_t from_end = 1; from_end <= 100; from_end += 7) {
      std::string bytes = sample.bytes;
      bytes[bytes.size() - from_end] ^= 1;
      EXPECT_TRUE(absl::IsDataLoss(sample.decode(BufferOf(bytes, 0)))) << sample.name;
    }
  }
}

TEST(Refusal, RowsBesideAnError) {
  PullResponse message = SamplePullResponse();
  message.error = SampleError();
  ExpectRefused(DecodePullResponse(Encode(message, SlicesOf(SamplePayload(message)))),
                "PullResponse.tables");
}

TEST(Refusal, AnErrorOfAnUnknownKindDoesNotPassForSuccess) {
  for (const std::string& bytes : {std::string("\x12\0", 2), std::string("\x12\x02\x08\x63")}) {
    const absl::StatusOr<PushResponse> decoded = DecodePushResponse(BufferOf(bytes, 0));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->error.kind, ErrorKind::kInternal);
  }
}

TEST(Refusal, LongTextsGiveWayToRefusedKeys) {
  PushResponse message;
  message.results.resize(kMaxSubPushesPerMessage);
  for (SubPushResult& result : message.results) {
    result.error = {
        ErrorKind::kInternal, std::string(5000, 'm'), std::string(5000, 'h'), "t", 1, 1};
  }
  message.results[0].error = {};
  message.results[0].refused_keys.assign(400'000, 1);
  const absl::StatusOr<PushResponse> decoded = DecodePushResponse(Encode(message));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->results[0].refused_keys.size(), 400'000U);
  EXPECT_EQ(decoded->results[1].error.kind, ErrorKind::kInternal);
  EXPECT_FALSE(decoded->results[1].error.message.empty());
}

}  // namespace
}  // namespace hotrow::wire
