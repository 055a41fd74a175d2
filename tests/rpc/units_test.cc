#include <gtest/gtest.h>

#include "server/ops/address.h"
#include "server/ops/human_units.h"
#include "server/ops/memory_limit.h"
#include "tests/rpc/temporary_directory.h"

namespace hotrow {
namespace {

TEST(HumanUnits, SizesReadAsPeopleWriteThem) {
  EXPECT_EQ(*ParseSize("0"), 0);
  EXPECT_EQ(*ParseSize("31"), 31);
  EXPECT_EQ(*ParseSize("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(*ParseSize("4 GiB"), int64_t{4} << 30);
  EXPECT_EQ(*ParseSize("1.5KiB"), 1536);
  EXPECT_EQ(*ParseSize("2GB"), 2'000'000'000);
  EXPECT_EQ(*ParseSize("3TiB"), int64_t{3} << 40);
}

TEST(HumanUnits, RefusesSizesThatMeanNothing) {
  for (const char* text : {"", "GiB", "-1", "4 giB", "4GiBB", "1e3", "0.3B", "inf", "nan",
                           "99999999999TiB", "0x10", "4,5GiB"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
}

TEST(HumanUnits, PrintedSizesReadBack) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1023}, int64_t{1024}, int64_t{1536},
                        int64_t{3} << 20, int64_t{5} << 40, (int64_t{1} << 50) + 1}) {
    EXPECT_EQ(*ParseSize(FormatSize(bytes)), bytes) << FormatSize(bytes);
  }
  EXPECT_EQ(FormatSize(int64_t{2} << 30), "2GiB");
}

TEST(HumanUnits, DurationsNeedAUnit) {
  using std::chrono::milliseconds;
  EXPECT_EQ(*ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(*ParseDuration("1.5s"), milliseconds(1500));
  EXPECT_EQ(*ParseDuration("2m"), milliseconds(120'000));
  EXPECT_EQ(*ParseDuration("1h"), milliseconds(3'600'000));
  EXPECT_EQ(*ParseDuration("0"), milliseconds(0));
  for (const char* text : {"", "10", "10 hours", "-1s", "0.1ms", "s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_EQ(*ParseDuration(FormatDuration(milliseconds(1001))), milliseconds(1001));
}

TEST(Addresses, HostAndPortAreTakenApart) {
  EXPECT_EQ(ParseAddress("127.0.0.1:7070")->host, "127.0.0.1");
  EXPECT_EQ(ParseAddress("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseAddress("[::1]:65535")->ToString(), "[::1]:65535");
  EXPECT_EQ(ParseAddress("shard-0.hotrow:1")->port, 1);
  for (const char* text : {"", ":1", "host", "host:", "host:65536", "host:-1", "host:1x", "::1:7",
                           "[]:1", "[::1:1", "a b:1", "a,b:1"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
}

TEST(Addresses, OnlyThisMachineIsLoopback) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(ParseAddress(text)->IsLoopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "example.com:1",
                           "localhost.example.com:1", "127.example.com:1"}) {
    EXPECT_FALSE(ParseAddress(text)->IsLoopback()) << text;
  }
}

TEST(MemoryLimit, TheTightestGroupCounts) {
  testing::TemporaryDirectory root;
  root.Write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\n");
  EXPECT_EQ(UsableMemoryBytes(root.path()), 1000 * 1024);
  root.Write("proc/self/cgroup", "0::/pod/container\n");
  root.Write("sys/fs/cgroup/memory.max", "max\n");
  root.Write("sys/fs/cgroup/pod/container/memory.max", "max\n");
  EXPECT_EQ(UsableMemoryBytes(root.path()), 1000 * 1024);
  root.Write("sys/fs/cgroup/pod/memory.max", "4096\n");
  EXPECT_EQ(UsableMemoryBytes(root.path()), 4096);
  root.Write("sys/fs/cgroup/pod/container/memory.max", "2048\n");
  EXPECT_EQ(UsableMemoryBytes(root.path()), 2048);
}

TEST(MemoryLimit, TheOlderHierarchyCountsToo) {
  testing::TemporaryDirectory root;
  root.Write("proc/meminfo", "MemTotal:       1000 kB\n");
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(UsableMemoryBytes(root.path()), 8192);
  EXPECT_GT(UsableMemoryBytes(""), 0);
}

}  // namespace
}  // namespace hotrow
