// Files of the cold store that are damaged, missing or not its own: what is read is right, or it is
// an error that says so. Nothing that was stored is ever "not there".

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "server/tiers/cold_record.h"
#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

namespace fs = std::filesystem;

class ColdDamageTest : public ::testing::Test {
 protected:
  ColdDamageTest() {
    const auto store = OpenStore(Options());
    EXPECT_OK(store->Write(RowsChunk(table_, keys_)));
    EXPECT_OK(store->Close());
  }

  ColdOptions Options() const { return TestColdOptions(directory_.File("rows")); }

  std::vector<fs::path> Files(const std::string& prefix, const std::string& extension) const {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(Options().path)) {
      const std::string name = file.path().filename();
      if (name.starts_with(prefix) && name.ends_with(extension)) files.push_back(file.path());
    }
    return files;
  }
  fs::path LargestFile() const {
    const auto files = Files("", ".sst");
    return *std::max_element(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return fs::file_size(a) < fs::file_size(b);
    });
  }

  static void FlipBit(const fs::path& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(at);
    file.put(byte);
  }

  // Opens a copy of the store that `spoil` has had in its hands. True when damage was reported;
  // otherwise every row was read, and right.
  template <typename Spoil>
  bool IsReported(const std::string& name, const Spoil& spoil) {
    const fs::path saved = directory_.File("saved");
    const fs::path path = Options().path;
    fs::copy(path, saved);
    spoil(path / name);
    bool reported = false;
    {
      auto store = ColdStore::Open(Options(), kPartitionBits);
      reported = !store.ok() || !Holds(**store);
      if (!store.ok()) {
        EXPECT_EQ(KindOf(store.status()), wire::ErrorKind::kDataLoss) << TextOf(store.status());
        EXPECT_NE(TextOf(store.status()).find(path), std::string::npos);
      }
    }
    fs::remove_all(path);
    fs::rename(saved, path);
    return reported;
  }

  // False when a lookup failed.
  bool Holds(ColdStore& store) {
    bool holds = true;
    for (size_t begin = 0; begin < keys_.size(); begin += 50) {
      const std::vector<Key> some(keys_.begin() + begin, keys_.begin() + begin + 50);
      const FoundRows rows = FindInStore(store, table_, some);
      if (rows.status.ok()) {
        ExpectRows(store, table_, some);
      } else {
        EXPECT_EQ(KindOf(rows.status), wire::ErrorKind::kDataLoss) << TextOf(rows.status);
        holds = false;
      }
    }
    return holds;
  }

  TemporaryDirectory directory_;
  const ColdTable table_ = TestTable();
  const std::vector<Key> keys_ = Keys(0, 500);
};

// Rows, index, filter, properties, footer.
TEST_F(ColdDamageTest, ABitAnywhereInAFileOfRows) {
  const fs::path file = LargestFile();
  const auto size = static_cast<int64_t>(fs::file_size(file));
  int64_t reported = 0;
  constexpr int64_t kPlaces = 61;
  for (int64_t i = 0; i < kPlaces; ++i) {
    SCOPED_TRACE("byte " + std::to_string(i * size / kPlaces));
    reported += IsReported(file.filename(),
                           [&](const fs::path& path) { FlipBit(path, i * size / kPlaces); });
  }
  for (int64_t from_end = 1; from_end <= 53; from_end += 4) {
    SCOPED_TRACE("byte " + std::to_string(size - from_end));
    IsReported(file.filename(), [&](const fs::path& path) { FlipBit(path, size - from_end); });
  }
  EXPECT_GT(reported, kPlaces / 2);
}

TEST_F(ColdDamageTest, ABitOfTheListOfFiles) {
  const auto lists = Files("MANIFEST", "");
  ASSERT_EQ(lists.size(), 1);
  const auto size = static_cast<int64_t>(fs::file_size(lists[0]));
  for (int64_t at = 0; at < size; at += 7) {
    SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(size));
    IsReported(lists[0].filename(), [at](const fs::path& path) { FlipBit(path, at); });
  }
}

TEST_F(ColdDamageTest, AFileThatIsShorterEmptyOrGone) {
  std::vector<fs::path> files = Files("", ".sst");
  for (const fs::path& list : Files("MANIFEST", "")) files.push_back(list);
  files.push_back(fs::path(Options().path) / "CURRENT");
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    EXPECT_TRUE(IsReported(file.filename(), [](const fs::path& path) { fs::remove(path); }));
    EXPECT_TRUE(
        IsReported(file.filename(), [](const fs::path& path) { fs::resize_file(path, 0); }));
  }
  EXPECT_TRUE(IsReported(LargestFile().filename(), [](const fs::path& path) {
    fs::resize_file(path, fs::file_size(path) - 1);
  }));
}

TEST_F(ColdDamageTest, ARowUnderTheKeyOfAnother) {
  OpenStore(Options());  // and is not closed: its list of files is not under seal
  {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(rocksdb::Options(), Options().path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    const auto ColdKeyOf = [&](Key key) {
      const ColdKey name = EncodeColdKey(EntryOf(table_, key).partition, table_.id, key);
      return std::string(name.data(), name.size());
    };
    std::string value;
    ASSERT_TRUE(db->Get(rocksdb::ReadOptions(), ColdKeyOf(keys_[0]), &value).ok());
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), ColdKeyOf(keys_[1]), value).ok());
    ASSERT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
  }
  const auto store = OpenStore(Options());
  ExpectRows(*store, table_, {keys_[0]});
  const absl::Status status = FindInStore(*store, table_, {keys_[1]}).status;
  EXPECT_EQ(KindOf(status), wire::ErrorKind::kDataLoss);
  EXPECT_NE(TextOf(status).find("table7"), std::string::npos) << TextOf(status);
  // RocksDB's own checksums are right: only those of the rows tell.
  EXPECT_EQ(KindOf(store->Verify()), wire::ErrorKind::kDataLoss);
  EXPECT_EQ(store->Stats().damaged_rows, 2);
}

// Every row would be looked for in the wrong place.
TEST_F(ColdDamageTest, AStoreOfAnotherNumberOfPartitions) {
  for (const int bits : {0, kPartitionBits - 1, kPartitionBits + 1}) {
    const auto store = ColdStore::Open(Options(), bits);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(KindOf(store.status()), wire::ErrorKind::kInvalidArgument) << TextOf(store.status());
    EXPECT_NE(TextOf(store.status()).find("8 partitions"), std::string::npos)
        << TextOf(store.status());
  }
  EXPECT_TRUE(Holds(*OpenStore(Options())));
}

}  // namespace
}  // namespace hotrow::testing
