#include "server/tiers/cold_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

class ColdStoreTest : public ::testing::Test {
 protected:
  ColdOptions Options() const { return TestColdOptions(directory_.File("rows")); }
  std::unique_ptr<ColdStore> Open() const { return OpenStore(Options()); }

  TemporaryDirectory directory_;
  const ColdTable table_ = TestTable();
};

TEST_F(ColdStoreTest, FindsNothingInANewStore) {
  const auto store = Open();
  EXPECT_TRUE(store->was_closed());
  ExpectNoRows(*store, table_, SpecialKeys());
  EXPECT_OK(FindInStore(*store, table_, {}).status);
}

TEST_F(ColdStoreTest, FindsWhatWasWrittenAndCountsIt) {
  const auto store = Open();
  for (const int64_t count : {1, 31, 32, 33, 63, 64, 65, 1000}) {
    const auto keys = Keys(count * 10'000, count);
    ASSERT_OK(store->Write(RowsChunk(table_, keys)));
    ExpectRows(*store, table_, keys);
  }
  ASSERT_OK(store->Write(RowsChunk(table_, SpecialKeys())));
  ExpectRows(*store, table_, SpecialKeys());
  ExpectNoRows(*store, table_, Keys(5'000'000, 100));
  EXPECT_EQ(RowsOf(*store, table_), 1 + 31 + 32 + 33 + 63 + 64 + 65 + 1000 + 7);
}

TEST_F(ColdStoreTest, ALaterEntryReplacesAnEarlierOne) {
  const auto store = Open();
  const auto keys = Keys(0, 10);
  WriteChunk chunk = RowsChunk(table_, keys, 1);
  for (const Key key : keys) {
    auto entry = EntryOf(table_, key);
    entry.score = static_cast<uint32_t>(MixKey(key));
    chunk.Add(entry, RecordOf(TestLayout(), key ^ 2));
  }
  ASSERT_OK(store->Write(chunk));
  ExpectRows(*store, table_, keys, 2);
  EXPECT_EQ(RowsOf(*store, table_), 10);
}

TEST_F(ColdStoreTest, RemovedRowsAreGone) {
  const auto store = Open();
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 10))));
  WriteChunk chunk;
  for (const Key key : Keys(0, 4)) {
    auto entry = EntryOf(table_, key);
    entry.removed = true;
    entry.row_delta = -1;
    chunk.Add(entry, {});
  }
  ASSERT_OK(store->Write(chunk));
  ExpectNoRows(*store, table_, Keys(0, 4));
  ExpectRows(*store, table_, Keys(4, 6));
  EXPECT_EQ(RowsOf(*store, table_), 6);
}

TEST_F(ColdStoreTest, TablesDoNotSeeEachOthersRows) {
  const auto store = Open();
  const ColdTable other = TestTable(8);
  const auto keys = SpecialKeys();
  ASSERT_OK(store->Write(RowsChunk(table_, keys, 1)));
  ExpectNoRows(*store, other, keys);
  ASSERT_OK(store->Write(RowsChunk(other, keys, 2)));
  ExpectRows(*store, table_, keys, 1);
  ExpectRows(*store, other, keys, 2);
}

TEST_F(ColdStoreTest, AClosedStoreComesBackWhole) {
  const auto keys = Keys(0, 500);
  {
    const auto store = Open();
    ASSERT_OK(store->Write(RowsChunk(table_, keys)));
    store->SetLsn(3, 12345);
    ASSERT_OK(store->PutFact("table/7", std::string("a\0b", 3)));
    ASSERT_OK(store->Close());
  }
  const auto store = Open();
  EXPECT_TRUE(store->was_closed());
  ExpectRows(*store, table_, keys);
  EXPECT_EQ(RowsOf(*store, table_), 500);
  EXPECT_EQ(store->Lsn(3), 12345);
  const auto facts = store->Facts("table/");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(*facts, (std::map<std::string, std::string>{{"table/7", std::string("a\0b", 3)}}));
  EXPECT_OK(store->Verify());
}

// A process that is killed leaves the last flush, with the counts and LSNs of that moment.
TEST_F(ColdStoreTest, AfterACrashTheLastFlushIsThere) {
  uint64_t lsn = 0;
  {
    const auto store = Open();
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 500))));
    ASSERT_OK(store->Flush());
    lsn = store->Lsn(2);
    WriteChunk later = RowsChunk(table_, Keys(500, 100));
    auto entry = EntryOf(table_, Keys(0, 1)[0]);
    entry.lsn = 1'000'000;
    later.Add(entry, RecordOf(TestLayout(), 1));
    ASSERT_OK(store->Write(later));
  }
  const auto store = Open();
  EXPECT_FALSE(store->was_closed());
  ExpectRows(*store, table_, Keys(0, 500));
  ExpectNoRows(*store, table_, Keys(500, 100));
  EXPECT_EQ(RowsOf(*store, table_), 500);
  EXPECT_EQ(store->Lsn(2), lsn);
  for (const uint32_t partition : AllPartitions()) EXPECT_LT(store->Lsn(partition), 1'000);
}

TEST_F(ColdStoreTest, OnlyTheLastStopCounts) {
  ASSERT_OK(Open()->Close());
  Open();  // and is not closed
  EXPECT_FALSE(Open()->was_closed());
}

TEST_F(ColdStoreTest, TakesOneProcessAtATime) {
  const auto store = Open();
  const auto second = ColdStore::Open(Options(), kPartitionBits);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(KindOf(second.status()), wire::ErrorKind::kUnavailable);
  EXPECT_NE(TextOf(second.status()).find(Options().path), std::string::npos);
}

TEST_F(ColdStoreTest, RefusesOptionsThatContradictEachOther) {
  for (const auto& spoil : std::vector<std::function<void(ColdOptions&)>>{
           [](ColdOptions& options) { options.path = ""; },
           [](ColdOptions& options) { options.disk_budget_bytes = 0; },
           [](ColdOptions& options) { options.read_threads = 0; }}) {
    ColdOptions options = Options();
    spoil(options);
    EXPECT_EQ(KindOf(ColdStore::Open(options, kPartitionBits).status()),
              wire::ErrorKind::kInvalidArgument);
  }
}

// One bit of a file of rows: every read of a row near it fails, none says "not there".
TEST_F(ColdStoreTest, DamageIsNamedAndNeverTakenForAbsence) {
  const auto keys = Keys(0, 2000);
  {
    const auto store = Open();
    ASSERT_OK(store->Write(RowsChunk(table_, keys)));
    ASSERT_OK(store->Close());
  }
  std::optional<std::filesystem::path> largest;
  for (const auto& file : std::filesystem::directory_iterator(Options().path)) {
    if (file.path().extension() != ".sst") continue;
    if (!largest || file.file_size() > std::filesystem::file_size(*largest)) largest = file.path();
  }
  ASSERT_TRUE(largest);
  {
    std::fstream file(*largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(20'000);
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(20'000);
    file.put(byte);
  }
  const auto store = Open();
  int64_t damaged = 0;
  for (const Key key : keys) {
    const FoundRows rows = FindInStore(*store, table_, {key});
    if (rows.status.ok()) {
      EXPECT_EQ(rows.found[0], 1);
      EXPECT_EQ(rows.records[0], RecordOf(TestLayout(), key));
    } else {
      ++damaged;
      EXPECT_EQ(KindOf(rows.status), wire::ErrorKind::kDataLoss);
      EXPECT_NE(TextOf(rows.status).find("table7"), std::string::npos) << TextOf(rows.status);
      EXPECT_NE(TextOf(rows.status).find(Options().path), std::string::npos);
    }
  }
  EXPECT_GT(damaged, 0);
  EXPECT_LT(damaged, 200);
  EXPECT_EQ(KindOf(FindInStore(*store, table_, keys).status), wire::ErrorKind::kDataLoss);
  EXPECT_EQ(KindOf(store->Verify()), wire::ErrorKind::kDataLoss);
  RowBlock rows;
  const auto range = store->Scan(table_, AllPartitions());
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(KindOf((*range)->Next(10'000, &rows)), wire::ErrorKind::kDataLoss);
}

TEST_F(ColdStoreTest, SaysWhenTheDiskBudgetIsUsed) {
  ColdOptions options = Options();
  options.disk_budget_bytes = 200'000;
  const auto store = OpenStore(options);
  EXPECT_OK(store->HasRoom());
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 5000))));
  absl::Status room;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  do {
    room = store->HasRoom();
  } while (room.ok() && std::chrono::steady_clock::now() < end);
  EXPECT_EQ(KindOf(room), wire::ErrorKind::kCapacityFull);
  // Known rows may always be written again.
  EXPECT_OK(store->Write(RowsChunk(table_, Keys(0, 10), 3)));
}

TEST_F(ColdStoreTest, WritesNothingToAFullFileSystemAndGoesOnWhenThereIsRoom) {
  int64_t free = int64_t{1} << 40;
  ColdOptions options = Options();
  options.reserve_bytes = int64_t{1} << 20;
  options.free_bytes = [&free] { return free; };
  const auto store = OpenStore(options);
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 100))));
  free = 1000;
  const absl::Status full = store->Write(RowsChunk(table_, Keys(100, 100)));
  EXPECT_EQ(KindOf(full), wire::ErrorKind::kUnavailable);
  EXPECT_NE(TextOf(full).find("1000 bytes left"), std::string::npos) << TextOf(full);
  EXPECT_EQ(KindOf(store->PutFact("a", "b")), wire::ErrorKind::kUnavailable);
  ExpectRows(*store, table_, Keys(0, 100));
  EXPECT_EQ(RowsOf(*store, table_), 100) << "what was refused does not count";
  free = int64_t{1} << 40;
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(100, 100))));
  ExpectRows(*store, table_, Keys(0, 200));
}

TEST_F(ColdStoreTest, FactsComeAndGo) {
  const auto store = Open();
  ASSERT_OK(store->PutFact("a/1", "x"));
  ASSERT_OK(store->PutFact("a/2", "y"));
  ASSERT_OK(store->PutFact("b", "z"));
  ASSERT_OK(store->RemoveFact("a/1"));
  EXPECT_EQ(*store->Facts("a/"), (std::map<std::string, std::string>{{"a/2", "y"}}));
  EXPECT_EQ(store->Facts("")->size(), 2);
  EXPECT_EQ(KindOf(store->PutFact("", "x")), wire::ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(store->PutFact(std::string(257, 'x'), "x")), wire::ErrorKind::kInvalidArgument);
}

TEST_F(ColdStoreTest, ADroppedTableIsGoneForGood) {
  const ColdTable other = TestTable(8);
  {
    const auto store = Open();
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 500))));
    ASSERT_OK(store->Write(RowsChunk(other, Keys(0, 500))));
    ASSERT_OK(store->DropTable(table_));
    ExpectNoRows(*store, table_, Keys(0, 500));
    EXPECT_EQ(RowsOf(*store, table_), 0);
    // A chunk that was on its way.
    ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 5))));
    ExpectNoRows(*store, table_, Keys(0, 5));
    ASSERT_OK(store->Close());
  }
  const auto store = Open();
  ExpectNoRows(*store, table_, Keys(0, 500));
  EXPECT_EQ(RowsOf(*store, table_), 0);
  ExpectRows(*store, other, Keys(0, 500));
  EXPECT_EQ(RowsOf(*store, other), 500);
}

TEST_F(ColdStoreTest, AWalkSeesTheRowsOfItsBeginning) {
  const auto store = Open();
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 1000))));
  ASSERT_OK(store->Write(RowsChunk(TestTable(6), Keys(0, 10))));
  ASSERT_OK(store->Write(RowsChunk(TestTable(8), Keys(0, 10))));
  const auto range = store->Scan(table_, AllPartitions());
  ASSERT_TRUE(range.ok());
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(500, 1000), 9)));
  std::map<Key, std::vector<std::byte>> seen;
  for (bool end = false; !end;) {
    RowBlock rows;
    ASSERT_OK((*range)->Next(33, &rows));
    end = rows.size() < 33;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const std::byte* record = rows.record(i, TestLayout().row_bytes);
      const bool is_new =
          seen.emplace(rows.keys[i], std::vector(record, record + TestLayout().row_bytes)).second;
      EXPECT_TRUE(is_new);
      EXPECT_EQ(rows.scores[i], static_cast<uint32_t>(MixKey(rows.keys[i])));
    }
  }
  ASSERT_EQ(seen.size(), 1000);
  for (const Key key : Keys(0, 1000)) EXPECT_EQ(seen[key], RecordOf(TestLayout(), key));
}

// A lookup meets whole rows, of one version or the other, whatever is written meanwhile.
TEST_F(ColdStoreTest, LookupsAndWritesDoNotDisturbEachOther) {
  constexpr uint64_t kVersions = 20;
  const auto store = Open();
  const auto keys = Keys(0, 1000);
  ASSERT_OK(store->Write(RowsChunk(table_, keys, 0)));
  std::atomic<bool> written{false};
  const auto read = [&] {
    std::vector<uint64_t> newest(keys.size(), 0);
    for (bool last = false; !last;) {
      last = written;
      const FoundRows rows = FindInStore(*store, table_, keys);
      ASSERT_OK(rows.status);
      for (size_t i = 0; i < keys.size(); ++i) {
        uint64_t& version = newest[i];
        while (version < kVersions &&
               rows.records[i] != RecordOf(TestLayout(), keys[i] ^ version)) {
          ++version;
        }
        ASSERT_LT(version, kVersions) << "key " << keys[i] << " is of no version, or an older one";
      }
    }
    EXPECT_EQ(newest, std::vector<uint64_t>(keys.size(), kVersions - 1));
  };
  std::thread first(read);
  std::thread second(read);
  for (uint64_t version = 1; version < kVersions; ++version) {
    EXPECT_OK(store->Write(RowsChunk(table_, keys, version)));
    if (version % 7 == 0) {
      EXPECT_OK(store->Flush());
    }
    if (version % 5 == 0) {
      EXPECT_OK(store->DropTable(TestTable(1000 + version)));
    }
  }
  written = true;
  first.join();
  second.join();
}

TEST_F(ColdStoreTest, AWalkKeepsToItsPartitions) {
  const auto store = Open();
  ASSERT_OK(store->Write(RowsChunk(table_, Keys(0, 1000))));
  int64_t seen = 0;
  for (const std::vector<uint32_t>& some : {std::vector<uint32_t>{0, 3}, {1, 2, 4, 5, 6, 7}}) {
    const auto range = store->Scan(table_, some);
    ASSERT_TRUE(range.ok());
    RowBlock rows;
    ASSERT_OK((*range)->Next(10'000, &rows));
    for (const Key key : rows.keys) {
      const uint32_t partition = PartitionOfHash(HashKey(key, table_.salt), kPartitionBits);
      EXPECT_NE(std::find(some.begin(), some.end(), partition), some.end());
    }
    seen += rows.size();
  }
  EXPECT_EQ(seen, 1000);
}

}  // namespace
}  // namespace hotrow::testing
