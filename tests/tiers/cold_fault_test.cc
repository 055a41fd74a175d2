// A disk that refuses: files may not grow past a limit of the process, so that writes of RocksDB
// itself fail. What was said to be durable is there afterwards; nothing ends the process.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

// While it lives, files grow to `bytes` at most, and no signal says so.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class ColdFaultTest : public ::testing::Test {
 protected:
  ColdOptions Options() const { return TestColdOptions(directory_.File("rows")); }

  TemporaryDirectory directory_;
  const ColdTable table_ = TestTable();
};

TEST_F(ColdFaultTest, AFlushThatFailsLosesNothingThatWasDurable) {
  {
    const auto store = OpenStore(Options());
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 500))));
    ASSERT_OK(store->Flush());
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(500, 500))));
    const FileSizeLimit limit(8192);
    EXPECT_EQ(KindOf(store->Flush()), wire::ErrorKind::kUnavailable);
    ExpectRows(*store, table_, Keys(0, 1000));
    const absl::Status failed = store->Write(RowsChunk(table_, Keys(1000, 10)));
    EXPECT_EQ(KindOf(failed), wire::ErrorKind::kUnavailable);
    EXPECT_EQ(KindOf(store->Close()), wire::ErrorKind::kUnavailable);
    // The text stays that of the fault, however often it is tried.
    for (int i = 0; i < 50; ++i) {
      EXPECT_LT(TextOf(store->Write(RowsChunk(table_, Keys(1000, 10)))).size(), 500);
    }
    EXPECT_EQ(RowsOf(*store, table_), 1000);
  }
  const auto store = OpenStore(Options());
  EXPECT_FALSE(store->was_closed());
  ExpectRows(*store, table_, Keys(0, 500));
  ExpectNoRows(*store, table_, Keys(500, 500));
  EXPECT_EQ(RowsOf(*store, table_), 500);
}

TEST_F(ColdFaultTest, AFolderThatCannotBeWrittenIsNamed) {
  const FileSizeLimit limit(0);
  const auto store = ColdStore::Open(Options(), kPartitionBits);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(KindOf(store.status()), wire::ErrorKind::kUnavailable);
  EXPECT_NE(TextOf(store.status()).find(Options().path), std::string::npos);
}

// The reserve of the file system is there for this.
TEST_F(ColdFaultTest, AStoreOnAFullDiskCanBeClosedAndTablesDropped) {
  int64_t free = int64_t{1} << 40;
  ColdOptions options = Options();
  options.reserve_bytes = int64_t{64} << 20;
  options.free_bytes = [&free] { return free; };
  {
    const auto store = OpenStore(options);
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 500))));
    ASSERT_OK(store->Write(RowsChunk(TestTable(8), Keys(0, 500))));
    store->SetLsn(3, 7777);
    free = int64_t{16} << 20;
    EXPECT_EQ(KindOf(store->Write(RowsChunk(table_, Keys(500, 10)))),
              wire::ErrorKind::kUnavailable);
    EXPECT_OK(store->DropTable(TestTable(8)));
    EXPECT_OK(store->Close());
  }
  const auto store = OpenStore(options);
  EXPECT_TRUE(store->was_closed());
  ExpectRows(*store, table_, Keys(0, 500));
  ExpectNoRows(*store, TestTable(8), Keys(0, 500));
  EXPECT_EQ(store->Lsn(3), 7777);
}

TEST_F(ColdFaultTest, ATableThatCouldNotBeDroppedKeepsItsRows) {
  int64_t free = int64_t{1} << 40;
  ColdOptions options = Options();
  options.free_bytes = [&free] { return free; };
  const auto store = OpenStore(options);
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 100))));
  free = 0;
  EXPECT_EQ(KindOf(store->DropTable(table_)), wire::ErrorKind::kUnavailable);
  free = int64_t{1} << 40;
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(100, 100))));
  ExpectRows(*store, table_, Keys(0, 200));
  EXPECT_EQ(RowsOf(*store, table_), 200);
  ASSERT_OK(store->DropTable(table_));
  ExpectNoRows(*store, table_, Keys(0, 200));
}

TEST_F(ColdFaultTest, LsnsThatWereSetComeWithTheNextFlush) {
  {
    const auto store = OpenStore(Options());
    store->SetLsn(3, 77);
    ASSERT_OK(store->Flush());
    store->SetLsn(4, 78);
    ASSERT_OK(store->Write(RowsChunk(table_, {})));
    ASSERT_OK(store->PutFact("a", "b"));
    store->SetLsn(5, 79);
  }
  const auto store = OpenStore(Options());
  EXPECT_EQ(store->Lsn(3), 77);
  EXPECT_EQ(store->Lsn(4), 78);
  EXPECT_EQ(store->Lsn(5), 0);
}

}  // namespace
}  // namespace hotrow::testing
