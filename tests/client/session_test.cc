#include "client/src/session.h"

#include <gtest/gtest.h>

#include "hotrow/v1/parameter_service.pb.h"

namespace hotrow::client {
namespace {

TEST(Session, TellsTheShardsWhoTheWorkerIs) {
  const Session session({.job = "ads", .rank = 3, .world_size = 4}, 2);
  const v1::OpenSessionRequest request = session.OpenRequest();
  EXPECT_EQ(request.job(), "ads");
  EXPECT_EQ(request.rank(), 3U);
  EXPECT_EQ(request.world_size(), 4U);
  EXPECT_EQ(request.session(), session.id());
}

}  // namespace
}  // namespace hotrow::client
