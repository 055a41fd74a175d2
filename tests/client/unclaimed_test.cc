// What a push raises is told to somebody: to whoever waits for it, or to the next flush or close.

#include <cmath>
#include <optional>

#include "client/src/future_state.h"
#include "client/src/unclaimed_errors.h"
#include "proto/wire/status_codec.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

using std::chrono::seconds;
using State = Future<PushCounts>::State;

absl::Status NoRoom() { return wire::MakeError(wire::ErrorKind::kCapacityFull, "no room"); }

TEST(UnclaimedErrors, GivesTheFirstOnceAndSaysHowManyOthersThereWere) {
  client::UnclaimedErrors errors;
  EXPECT_OK(errors.Take());
  errors.Add(NoRoom());
  EXPECT_EQ(errors.Take(), NoRoom());
  EXPECT_OK(errors.Take());
  for (int i = 0; i < 3; ++i) errors.Add(NoRoom());
  const absl::Status several = errors.Take();
  EXPECT_EQ(KindOf(several), ErrorKind::kCapacityFull);
  EXPECT_NE(several.message().find("no room (2 other"), absl::string_view::npos) << several;
  EXPECT_OK(errors.Take());
}

TEST(UnclaimedErrors, DoesNotGiveWhatWasClaimedAmongAnyNumber) {
  client::UnclaimedErrors errors;
  std::vector<client::UnclaimedErrors::Id> ids;
  for (size_t i = 0; i < 2 * client::UnclaimedErrors::kKept; ++i) {
    ids.push_back(errors.Add(NoRoom()));
  }
  for (size_t i = 0; i + 1 < ids.size(); ++i) errors.Claim(ids[i]);
  EXPECT_EQ(errors.Take(), NoRoom()) << "one is left, which was only counted";
  errors.Claim(ids.back());  // by a waiter that was slower than flush()
  EXPECT_OK(errors.Take());
  errors.Claim(errors.Add(NoRoom()));
  EXPECT_OK(errors.Take());
}

TEST(UnclaimedErrors, AResultThatNobodyTookReportsItsError) {
  const auto errors = std::make_shared<client::UnclaimedErrors>();
  {
    State(errors).Set(PushCounts{});
  }
  EXPECT_OK(errors->Take());
  {
    const State never_set(errors);
  }
  EXPECT_OK(errors->Take());
  {
    State taken(errors);
    taken.Set(NoRoom());
    EXPECT_TRUE(taken.Take(client::Now()).has_value());
  }
  EXPECT_OK(errors->Take());
  {
    State(errors).Set(NoRoom());
  }
  EXPECT_EQ(errors->Take(), NoRoom());
}

class DroppedPushes : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto created =
        client_->CreateTable({.name = "t", .dim = 1, .optimizer = Sgd{1.0F}, .num_embeddings = 10});
    ASSERT_OK(created);
    table_.emplace(*created);
  }
  Future<PushCounts> PushNan() {
    const std::vector<Key> keys = {1};
    return table_->PushAsync(keys, std::vector<float>{std::nanf("")});
  }

  LocalServers servers_{1};
  std::shared_ptr<Client> client_ = servers_.Connect();
  std::optional<Table> table_;
};

TEST_F(DroppedPushes, OneThatWasRefusedBeforeItWasSentIsToldByFlush) {
  {
    const Future<PushCounts> dropped = PushNan();
  }
  EXPECT_EQ(KindOf(client_->Flush()), ErrorKind::kInvalidArgument);
  EXPECT_OK(client_->Flush());
}

TEST_F(DroppedPushes, OneThatIsHeldIsToldByFlushUntilItsWaiterWasTold) {
  std::optional<Future<PushCounts>> held = PushNan();
  EXPECT_EQ(KindOf(client_->Flush()), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(held->Wait(seconds(5))), ErrorKind::kInvalidArgument);
  held = PushNan();
  EXPECT_EQ(KindOf(held->Wait(seconds(5))), ErrorKind::kInvalidArgument);
  EXPECT_OK(client_->Flush());
  held = PushNan();
  held.reset();
  EXPECT_EQ(KindOf(client_->Close()), ErrorKind::kInvalidArgument);
}

TEST_F(DroppedPushes, OneThatTheServerRefusedIsToldByFlush) {
  // Another client drops the table, so that the server refuses what this one has checked.
  ASSERT_OK(servers_.Connect()->DropTable("t"));
  const std::vector<Key> keys = {1};
  {
    const Future<PushCounts> dropped = table_->PushAsync(keys, std::vector<float>{1.0F});
  }
  EXPECT_EQ(KindOf(client_->Flush()), ErrorKind::kNotFound);
  EXPECT_OK(client_->Flush());
}

}  // namespace
}  // namespace hotrow::testing
