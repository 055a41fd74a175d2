#include "proto/wire/status_codec.h"

#include <gtest/gtest.h>

#include "hotrow/v1/error.pb.h"
#include "proto/wire/utf8.h"

namespace hotrow::wire {
namespace {

constexpr int kKinds = static_cast<int>(ErrorKind::kInternal);

ErrorInfo ErrorOf(int kind) {
  return {static_cast<ErrorKind>(kind),
          "table t: cause " + std::to_string(kind),
          "do this",
          "t/" + std::to_string(kind),
          kind - 1,
          static_cast<uint32_t>(kind) * 100};
}

void ExpectEqual(const ErrorInfo& a, const ErrorInfo& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(a.hint, b.hint);
  EXPECT_EQ(a.table, b.table);
  EXPECT_EQ(a.shard, b.shard);
  EXPECT_EQ(a.retry_after_ms, b.retry_after_ms);
}

TEST(StatusCodec, KindsHaveTheNumbersOfTheSchema) {
  EXPECT_EQ(v1::ErrorKind_MAX, kKinds);
  EXPECT_EQ(static_cast<int>(ErrorKind::kCapacityFull), v1::ERROR_KIND_CAPACITY_FULL);
  EXPECT_EQ(static_cast<int>(ErrorKind::kOutOfOrder), v1::ERROR_KIND_OUT_OF_ORDER);
  EXPECT_EQ(static_cast<int>(ErrorKind::kInternal), v1::ERROR_KIND_INTERNAL);
}

TEST(StatusCodec, EveryKindSurvivesEveryWay) {
  for (int kind = 1; kind <= kKinds; ++kind) {
    SCOPED_TRACE(kind);
    const ErrorInfo error = ErrorOf(kind);
    const absl::Status status = ToStatus(error);
    EXPECT_EQ(status.code(), CodeOf(error.kind));
    ExpectEqual(FromStatus(status), error);

    v1::Error proto;
    ToProto(error, &proto);
    ExpectEqual(FromProto(proto), error);

    const grpc::Status unary = ToGrpcStatus(status);
    EXPECT_EQ(static_cast<int>(unary.error_code()), static_cast<int>(status.code()));
    EXPECT_EQ(unary.error_message(), error.message);
    v1::Error detail;
    ASSERT_TRUE(detail.ParseFromString(unary.error_details()));
    EXPECT_EQ(detail.kind(), kind);
    EXPECT_EQ(FromGrpcStatus(unary), status);
    ExpectEqual(FromStatus(FromGrpcStatus(unary)), error);
  }
}

TEST(StatusCodec, SuccessStaysSuccess) {
  EXPECT_TRUE(ToStatus({}).ok());
  EXPECT_TRUE(FromStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
  EXPECT_EQ(CodeOf(ErrorKind::kNone), absl::StatusCode::kOk);
}

TEST(StatusCodec, AStatusOfAnotherLibraryGetsAFittingKind) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status plain(static_cast<absl::StatusCode>(code), "said by another");
    const ErrorInfo error = FromStatus(plain);
    EXPECT_FALSE(error.ok()) << code;
    EXPECT_EQ(error.message, "said by another");
    EXPECT_EQ(error.shard, -1);
    const absl::Status back = FromGrpcStatus(ToGrpcStatus(plain));
    EXPECT_EQ(back.code(), plain.code());
    EXPECT_EQ(FromStatus(back).kind, error.kind);
  }
  EXPECT_EQ(FromStatus(absl::CancelledError("x")).kind, ErrorKind::kUnavailable);
  EXPECT_EQ(FromStatus(absl::ResourceExhaustedError("x")).kind, ErrorKind::kOverloaded);
  EXPECT_EQ(FromStatus(absl::UnknownError("x")).kind, ErrorKind::kInternal);
}

TEST(StatusCodec, GrpcsOwnErrorsNeedNoDetail) {
  const grpc::Status lost(grpc::UNAVAILABLE, "connection refused");
  EXPECT_EQ(FromStatus(FromGrpcStatus(lost)).kind, ErrorKind::kUnavailable);
  EXPECT_EQ(FromStatus(FromGrpcStatus(lost)).message, "connection refused");
  const grpc::Status damaged(grpc::INTERNAL, "m", "\xff\xff not an Error");
  EXPECT_EQ(FromStatus(FromGrpcStatus(damaged)).kind, ErrorKind::kInternal);
  EXPECT_EQ(FromGrpcStatus(grpc::Status(grpc::DO_NOT_USE, "m")).code(), absl::StatusCode::kUnknown);
}

TEST(StatusCodec, AKindOfALaterVersionIsAnError) {
  v1::Error proto;
  proto.set_kind(static_cast<v1::ErrorKind>(200));
  EXPECT_EQ(FromProto(proto).kind, ErrorKind::kInternal);
  EXPECT_TRUE(FromProto(v1::Error()).ok());
}

TEST(StatusCodec, MakeErrorNamesItsKind) {
  const absl::Status status = MakeError(ErrorKind::kStaleMap, "partition 3 moved");
  EXPECT_EQ(FromStatus(status).kind, ErrorKind::kStaleMap);
  EXPECT_EQ(FromStatus(status).message, "partition 3 moved");
}

TEST(StatusCodec, LongTextsFitGrpcsMetadata) {
  const std::string text(100'000, 'x');
  const grpc::Status status = ToGrpcStatus(ToStatus({ErrorKind::kInternal, text, text, text}));
  // Base64 of the details and the message, in 8 KiB of metadata.
  EXPECT_LT(status.error_details().size() * 4 / 3 + status.error_message().size(), 7000U);
}

TEST(StatusCodec, ABrokenTextStillTravels) {
  const absl::Status status = ToStatus({ErrorKind::kInternal, "caf\xe9 \xf0\x9f\x98\x80"});
  EXPECT_EQ(FromStatus(FromGrpcStatus(ToGrpcStatus(status))).message, "caf? \xf0\x9f\x98\x80");
}

TEST(Utf8, AgreesWithTheStandardsTable) {
  for (const char* valid : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                            "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(ValidUtf8Prefix(valid), std::string(valid).size());
  }
  for (const char* invalid :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\x80", "\xe1\x80",
        "\xed\xa0\x80", "\xf0\x8f\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(ValidUtf8Prefix(invalid), 0U) << testing::PrintToString(invalid);
    EXPECT_EQ(FitText(invalid, 1), "?");
  }
}

TEST(Utf8, IsCutBetweenCharacters) {
  const std::string text = "ab\xc3\xa9\xf0\x9f\x98\x80";
  const size_t expected[] = {0, 1, 2, 2, 4, 4, 4, 4, 8, 8};
  for (size_t limit = 0; limit < 10; ++limit) {
    EXPECT_EQ(FitText(text, limit), text.substr(0, expected[limit])) << limit;
  }
}

}  // namespace
}  // namespace hotrow::wire
