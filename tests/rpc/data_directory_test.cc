#include "server/ops/data_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "server/runtime/file_util.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow {
namespace {

const ShardIdentity kIdentity{.cluster_id = "c", .shard = 1, .shards = 2, .partitions = 64};

std::string RefusalOf(const std::string& path, const ShardIdentity& identity) {
  const auto directory = DataDirectory::Open(path, identity);
  EXPECT_FALSE(directory.ok());
  return std::string(directory.status().message());
}

TEST(DataDirectory, TheSameShardComesBack) {
  testing::TemporaryDirectory root;
  const std::string path = root.File("a/b");
  for (int life = 0; life < 3; ++life) {
    const auto directory = DataDirectory::Open(path, kIdentity);
    EXPECT_TRUE(directory.ok()) << directory.status().message();
  }
}

TEST(DataDirectory, AnotherIdentityIsRefusedWithBothValues) {
  testing::TemporaryDirectory root;
  ASSERT_TRUE(DataDirectory::Open(root.path(), kIdentity).ok());
  ShardIdentity other = kIdentity;
  other.shard = 0;
  EXPECT_NE(RefusalOf(root.path(), other).find("shard 1, this server has shard 0"),
            std::string::npos);
  other = kIdentity;
  other.shards = 3;
  EXPECT_NE(RefusalOf(root.path(), other).find("shards 2, this server has shards 3"),
            std::string::npos);
  other = kIdentity;
  other.partitions = 128;
  EXPECT_NE(RefusalOf(root.path(), other).find("partitions 64"), std::string::npos);
  other = kIdentity;
  other.cluster_id = "d";
  EXPECT_NE(RefusalOf(root.path(), other).find("cluster_id \"c\""), std::string::npos);
}

TEST(DataDirectory, ASecondHolderIsRefusedUntilTheFirstIsGone) {
  testing::TemporaryDirectory root;
  std::optional<DataDirectory> first = *DataDirectory::Open(root.path(), kIdentity);
  const std::string message = RefusalOf(root.path(), kIdentity);
  EXPECT_NE(message.find("process " + std::to_string(getpid())), std::string::npos) << message;
  DataDirectory moved = *std::move(first);
  first.reset();
  RefusalOf(root.path(), kIdentity);
  {
    const DataDirectory gone = std::move(moved);
  }
  EXPECT_TRUE(DataDirectory::Open(root.path(), kIdentity).ok());
}

TEST(DataDirectory, DamageAndUnwritablePlacesAreNamed) {
  testing::TemporaryDirectory root;
  root.Write("IDENTITY", "{\"format\": 1, \"shard\"");
  EXPECT_NE(RefusalOf(root.path(), kIdentity).find("damaged"), std::string::npos);
  root.Write("IDENTITY", "{\"format\": 1}");
  EXPECT_NE(RefusalOf(root.path(), kIdentity).find("no value"), std::string::npos);
  root.Write("file", "x");
  EXPECT_NE(RefusalOf(root.File("file"), kIdentity).find("file"), std::string::npos);
}

TEST(AtomicFile, ReplacesWholeOrFailsAndLeavesNothingBehind) {
  testing::TemporaryDirectory root;
  EXPECT_TRUE(WriteFileAtomically(root.File("f"), "one").ok());
  EXPECT_TRUE(WriteFileAtomically(root.File("f"), "two").ok());
  EXPECT_EQ(root.Read("f"), "two");
  EXPECT_FALSE(WriteFileAtomically(root.File("none/f"), "x").ok());
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(root.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace hotrow
