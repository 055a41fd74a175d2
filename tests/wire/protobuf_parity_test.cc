// Our bytes are protobuf's bytes: generated stubs of any language can talk to us.

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "hotrow/v1/parameter_service.pb.h"
#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

v1::Error ProtoOf(const ErrorInfo& error) {
  v1::Error proto;
  proto.set_kind(static_cast<v1::ErrorKind>(error.kind));
  proto.set_message(error.message);
  proto.set_hint(error.hint);
  proto.set_table(error.table);
  proto.set_shard(error.shard);
  proto.set_retry_after_ms(error.retry_after_ms);
  return proto;
}

v1::PullRequest ProtoOf(const PullRequest& message) {
  v1::PullRequest proto;
  proto.set_request_id(message.request_id);
  proto.set_timeline(message.timeline);
  proto.set_map_version(message.map_version);
  proto.set_mode(static_cast<v1::PullMode>(message.mode));
  proto.set_deadline_ms(message.deadline_ms);
  for (const TableKeys& table : message.tables) {
    v1::TableKeys* element = proto.add_tables();
    element->set_table_id(table.table_id);
    element->set_key_count(table.key_count);
  }
  proto.set_keys(SamplePayload(message));
  return proto;
}

v1::PullResponse ProtoOf(const PullResponse& message) {
  v1::PullResponse proto;
  proto.set_request_id(message.request_id);
  if (!message.error.ok()) *proto.mutable_error() = ProtoOf(message.error);
  for (const TableRows& table : message.tables) {
    v1::TableRows* element = proto.add_tables();
    element->set_table_id(table.table_id);
    element->set_row_count(table.row_count);
    element->set_dim(table.dim);
    element->set_initial_count(table.initial_count);
  }
  proto.set_payload_hash(message.payload_hash);
  proto.set_rows(SamplePayload(message));
  return proto;
}

v1::PushRequest ProtoOf(const PushRequest& message) {
  v1::PushRequest proto;
  proto.set_request_id(message.request_id);
  proto.set_session(message.session);
  proto.set_timeline(message.timeline);
  proto.set_map_version(message.map_version);
  proto.set_deadline_ms(message.deadline_ms);
  for (const SubPush& sub_push : message.sub_pushes) {
    v1::SubPush* element = proto.add_sub_pushes();
    element->set_partition(sub_push.partition);
    element->set_sequence(sub_push.sequence);
    element->set_owner_epoch(sub_push.owner_epoch);
    element->set_content_hash(sub_push.content_hash);
    element->set_operation(static_cast<v1::Operation>(sub_push.operation));
    for (const SubPushTable& table : sub_push.tables) {
      v1::SubPushTable* part = element->add_tables();
      part->set_table_id(table.table_id);
      part->set_key_count(table.key_count);
      part->set_dim(table.dim);
      part->set_step(table.step);
      part->set_learning_rate(table.learning_rate);
    }
  }
  proto.set_payload(SamplePayload(message));
  return proto;
}

void FillResult(const SubPushResult& result, v1::SubPushResult* proto) {
  proto->set_partition(result.partition);
  proto->set_sequence(result.sequence);
  proto->set_outcome(static_cast<v1::Outcome>(result.outcome));
  proto->set_duplicate(result.duplicate);
  proto->set_applied_lsn(result.applied_lsn);
  proto->set_durable_sequence(result.durable_sequence);
  for (const TableCounts& counts : result.counts) {
    v1::TableCounts* element = proto->add_counts();
    element->set_table_id(counts.table_id);
    element->set_rows_updated(counts.rows_updated);
    element->set_rows_created(counts.rows_created);
    element->set_rows_refused(counts.rows_refused);
  }
  if (!result.error.ok()) *proto->mutable_error() = ProtoOf(result.error);
  proto->mutable_refused_keys()->Assign(result.refused_keys.begin(), result.refused_keys.end());
}

v1::PushResponse ProtoOf(const PushResponse& message) {
  v1::PushResponse proto;
  proto.set_request_id(message.request_id);
  if (!message.error.ok()) *proto.mutable_error() = ProtoOf(message.error);
  for (const SubPushResult& result : message.results) FillResult(result, proto.add_results());
  return proto;
}

v1::ScanResponse ProtoOf(const ScanResponse& message) {
  v1::ScanResponse proto;
  proto.set_row_count(message.row_count);
  proto.set_dim(message.dim);
  proto.set_state_columns(message.state_columns);
  proto.set_payload_hash(message.payload_hash);
  proto.set_rows(SamplePayload(message));
  return proto;
}

// Protobuf's bytes of every sample, in the order of EncodedSamples().
std::vector<std::string> SerializedSamples() {
  return {ProtoOf(SamplePullRequest()).SerializeAsString(),
          ProtoOf(SamplePullResponse()).SerializeAsString(),
          ProtoOf(SamplePushRequest()).SerializeAsString(),
          ProtoOf(SamplePushResponse()).SerializeAsString(),
          ProtoOf(SampleScanResponse()).SerializeAsString()};
}

TEST(ProtobufParity, OurBytesAreThoseOfTheGeneratedSerializer) {
  const std::vector<std::string> serialized = SerializedSamples();
  for (size_t i = 0; i < serialized.size(); ++i) {
    EXPECT_EQ(EncodedSamples()[i].bytes, serialized[i]) << EncodedSamples()[i].name;
  }
}

TEST(ProtobufParity, DefaultsAreLeftOutAsProtobufDoes) {
  EXPECT_EQ(BytesOf(Encode(PushRequest{}, {})), v1::PushRequest().SerializeAsString());
  EXPECT_EQ(BytesOf(Encode(ScanResponse{}, {})), v1::ScanResponse().SerializeAsString());
  EXPECT_EQ(BytesOf(Encode(PushResponse{})), v1::PushResponse().SerializeAsString());
}

TEST(ProtobufParity, WholeMessageErrorsAreThoseOfTheGeneratedSerializer) {
  PushResponse push;
  push.error = SampleError();
  EXPECT_EQ(BytesOf(Encode(push)), ProtoOf(push).SerializeAsString());
  PullResponse pull;
  pull.error = SampleError();
  pull.error.shard = 0;
  EXPECT_EQ(BytesOf(Encode(pull, {})), ProtoOf(pull).SerializeAsString());
  const absl::StatusOr<PullResponse> decoded = DecodePullResponse(Encode(pull, {}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->error.shard, 0);
  EXPECT_EQ(decoded->error.message, pull.error.message);
}

TEST(ProtobufParity, UnpackedRefusedKeysAreAccepted) {
  std::string result = "\x18\x01";  // outcome APPLIED
  for (const char* key : {"\x01\0\0\0\0\0\0\x80", "\x02\0\0\0\0\0\0\0"}) {
    result += '\x49' + std::string(key, 8);  // field 9, fixed64
  }
  result += std::string("\x4a\x08\x03\0\0\0\0\0\0\0", 10);  // field 9, a packed run of one
  const std::string bytes = std::string("\x1a") + static_cast<char>(result.size()) + result;
  ASSERT_TRUE(v1::PushResponse().ParseFromString(bytes));
  const absl::StatusOr<PushResponse> decoded = DecodePushResponse(BufferOf(bytes, 0));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->results[0].refused_keys, (std::vector<Key>{0x8000000000000001ULL, 2, 3}));
}

std::string Serialized(const google::protobuf::UnknownFieldSet& set) {
  std::string bytes;
  EXPECT_TRUE(set.SerializeToString(&bytes));
  return bytes;
}

// Cuts a message into its top-level fields.
std::vector<std::string> FieldsOf(const std::string& bytes) {
  std::vector<std::string> fields;
  google::protobuf::UnknownFieldSet set;
  EXPECT_TRUE(set.ParseFromString(bytes));
  for (int i = 0; i < set.field_count(); ++i) {
    google::protobuf::UnknownFieldSet one;
    one.AddField(set.field(i));
    fields.push_back(Serialized(one));
  }
  return fields;
}

bool IsPayload(const std::string& field) { return field[0] == 0x7a; }

TEST(ProtobufParity, HeaderFieldsMayComeInAnyOrder) {
  constexpr uint32_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (const EncodedSample& sample : EncodedSamples()) {
    std::vector<std::string> fields = FieldsOf(sample.bytes);
    auto header_end = std::find_if(fields.begin(), fields.end(), IsPayload);
    for (int round = 0; round < 50; ++round) {
      // The fields in a random order; the elements of a repeated one keep theirs, which says how
      // the payload is laid out.
      std::vector<uint32_t> rank(256);
      for (uint32_t& r : rank) r = random();
      std::stable_sort(fields.begin(), header_end, [&](const auto& a, const auto& b) {
        return rank[static_cast<uint8_t>(a[0])] < rank[static_cast<uint8_t>(b[0])];
      });
      std::string bytes;
      for (const std::string& field : fields) bytes += field;
      ASSERT_EQ(sample.decode_and_encode(BufferOf(bytes, 5)), sample.bytes) << sample.name;
    }
  }
}

TEST(ProtobufParity, UnknownFieldsOfEveryWireTypeAreSkipped) {
  google::protobuf::UnknownFieldSet unknown;
  unknown.AddVarint(14, UINT64_MAX);
  unknown.AddFixed32(100, 1);
  unknown.AddFixed64(101, 2);
  unknown.AddLengthDelimited(102, MixedBytes(300, 5));
  google::protobuf::UnknownFieldSet* group = unknown.AddGroup(536870911);
  group->AddVarint(1, 7);
  group->AddGroup(2)->AddLengthDelimited(3, "inner");
  const std::string extra = Serialized(unknown);
  for (const EncodedSample& sample : EncodedSamples()) {
    std::string bytes = extra;
    for (const std::string& field : FieldsOf(sample.bytes)) {
      if (IsPayload(field)) bytes += extra;
      bytes += field;
    }
    for (const size_t slice_bytes : {0, 1, 13}) {
      EXPECT_EQ(sample.decode_and_encode(BufferOf(bytes, slice_bytes)), sample.bytes)
          << sample.name;
    }
  }
}

TEST(ProtobufParity, AKnownFieldOfAnotherWireTypeIsSkippedAsProtobufDoes) {
  google::protobuf::UnknownFieldSet other;
  other.AddLengthDelimited(1, "request_id as bytes");
  other.AddFixed32(2, 1);
  other.AddVarint(15, 1);
  const EncodedSample& sample = EncodedSamples()[0];
  EXPECT_EQ(sample.decode_and_encode(BufferOf(Serialized(other) + sample.bytes, 0)), sample.bytes);
}

TEST(ProtobufParity, NoHeaderIsLargerThanItsBound) {
  constexpr uint64_t kAll = ~uint64_t{0};
  PushRequest request{kAll, kAll, kAll, kAll, ~uint32_t{0}, {}, {}};
  EXPECT_LE(Encode(request, {}).Length() + 6, kMaxHeaderBytes) << "6: tag and size of the payload";
  const size_t empty = Encode(request, {}).Length();
  SubPush sub_push{~uint32_t{0}, kAll, kAll, kAll, Operation::kSkip, {}};
  request.sub_pushes = {sub_push};
  const size_t one = Encode(request, {}).Length();
  EXPECT_LE(one - empty, kMaxSubPushHeaderBytes);
  request.sub_pushes[0].tables.assign(256, {~uint32_t{0}, ~uint32_t{0}, kMaxDim, kAll, -1.0F});
  EXPECT_LE(Encode(request, {}).Length() - one, 256 * kMaxTableHeaderBytes);
  PullResponse response{.request_id = kAll, .payload_hash = kAll};
  EXPECT_LE(Encode(response, {}).Length() + 6, kMaxHeaderBytes);
  response.tables.assign(256, {~uint32_t{0}, ~uint32_t{0}, kMaxDim});
  EXPECT_LE(Encode(response, {}).Length(), kMaxHeaderBytes + 256 * kMaxTableHeaderBytes);
}

TEST(ProtobufParity, AMessageGivenInTwoPartsIsMerged) {
  const std::string bytes = std::string("\x12\x02\x08\x08") + "\x12\x05\x12\x03" + "abc";
  const absl::StatusOr<PushResponse> decoded = DecodePushResponse(BufferOf(bytes, 0));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->error.kind, ErrorKind::kOverloaded);
  EXPECT_EQ(decoded->error.message, "abc");
}

}  // namespace
}  // namespace hotrow::wire
