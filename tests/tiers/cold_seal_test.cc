#include "server/tiers/cold_seal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tiers/stored_rows.h"

namespace hotrow::testing {
namespace {

class ColdSealTest : public ::testing::Test {
 protected:
  ColdSeal Read() const {
    const auto seal = ReadColdSeal(directory_.path(), 8);
    EXPECT_TRUE(seal.ok()) << TextOf(seal.status());
    return seal.ok() ? *seal : ColdSeal{};
  }
  wire::ErrorKind KindOfReading() const {
    return KindOf(ReadColdSeal(directory_.path(), 8).status());
  }
  void ListFiles(const std::string& list) const {
    directory_.Write("CURRENT", "MANIFEST-000007\n");
    directory_.Write("MANIFEST-000007", list);
  }

  TemporaryDirectory directory_;
};

TEST_F(ColdSealTest, AnEmptyFolderIsNew) {
  EXPECT_EQ(Read().state, SealState::kNew);
  EXPECT_EQ(Read().partitions, 8);
  EXPECT_OK(CheckManifest(directory_.path(), Read()));
}

TEST_F(ColdSealTest, IsReadAsItWasWritten) {
  const ManifestPrint manifest{"MANIFEST-000007", 401, 0x0123456789abcdef};
  for (const ColdSeal& seal :
       {ColdSeal{SealState::kNew, 1, {}}, ColdSeal{SealState::kOpen, 1024, {}},
        ColdSeal{SealState::kClosed, 64, manifest}}) {
    ASSERT_OK(WriteColdSeal(directory_.path(), seal));
    EXPECT_EQ(Read().state, seal.state);
    EXPECT_EQ(Read().partitions, seal.partitions);
    EXPECT_EQ(Read().manifest, seal.manifest);
  }
}

TEST_F(ColdSealTest, EveryFlippedBitIsSeen) {
  ASSERT_OK(WriteColdSeal(directory_.path(), {SealState::kClosed, 64, {"MANIFEST-000007", 4, 5}}));
  const std::string text = directory_.Read("SEAL");
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    directory_.Write("SEAL", damaged);
    ASSERT_EQ(KindOfReading(), wire::ErrorKind::kDataLoss) << "bit " << bit << ": " << damaged;
  }
  for (size_t size = 0; size < text.size(); ++size) {
    directory_.Write("SEAL", text.substr(0, size));
    ASSERT_EQ(KindOfReading(), wire::ErrorKind::kDataLoss) << "of " << size << " bytes";
  }
}

TEST_F(ColdSealTest, IsMissedBesideFilesOfRows) {
  for (const char* const name : {"CURRENT", "MANIFEST-000001", "000009.sst"}) {
    const std::string path = directory_.Write(name, "x");
    EXPECT_EQ(KindOfReading(), wire::ErrorKind::kDataLoss) << name;
    std::filesystem::remove(path);
  }
  directory_.Write("notes.txt", "not RocksDB's");
  EXPECT_EQ(Read().state, SealState::kNew);
}

TEST_F(ColdSealTest, AnotherListOfFilesIsNotTheOneUnderSeal) {
  ListFiles("files");
  const auto print = PrintOfManifest(directory_.path());
  ASSERT_TRUE(print.ok()) << TextOf(print.status());
  const ColdSeal seal{SealState::kClosed, 8, *print};
  const auto Check = [&] { return KindOf(CheckManifest(directory_.path(), seal)); };
  EXPECT_OK(CheckManifest(directory_.path(), seal));
  for (const char* const list : {"", "file", "filet", "files\n"}) {
    ListFiles(list);
    EXPECT_EQ(Check(), wire::ErrorKind::kDataLoss) << list;
  }
  ListFiles("files");
  directory_.Write("CURRENT", "MANIFEST-000008\n");
  EXPECT_EQ(Check(), wire::ErrorKind::kDataLoss);
  directory_.Write("CURRENT", "");
  EXPECT_EQ(Check(), wire::ErrorKind::kDataLoss);
  std::filesystem::remove(directory_.File("CURRENT"));
  EXPECT_EQ(Check(), wire::ErrorKind::kDataLoss);
  EXPECT_EQ(KindOf(CheckManifest(directory_.path(), {SealState::kOpen, 8, {}})),
            wire::ErrorKind::kDataLoss);
}

TEST_F(ColdSealTest, AFirstStartThatWasCutOffBeginsAgain) {
  const ColdOptions options = TestColdOptions(directory_.File("rows"));
  std::filesystem::create_directories(options.path);
  ASSERT_OK(WriteColdSeal(options.path, {.state = SealState::kNew, .partitions = 8}));
  directory_.Write("rows/000009.sst", "of a first flush");
  {
    const auto store = OpenStore(options);
    EXPECT_TRUE(store->was_closed());
    ASSERT_OK(store->PutFact("a", "b"));
  }
  EXPECT_FALSE(OpenStore(options)->was_closed());
}

// The seal of a store that could not be opened still holds.
TEST_F(ColdSealTest, AStartThatFailsDoesNotBreakIt) {
  const ColdOptions options = TestColdOptions(directory_.File("rows"));
  ASSERT_OK(OpenStore(options)->Close());
  const std::string lock = directory_.File("rows/LOCK");
  std::filesystem::remove(lock);
  std::filesystem::create_directory(lock);
  ASSERT_FALSE(ColdStore::Open(options, kPartitionBits).ok());
  std::filesystem::remove(lock);
  EXPECT_TRUE(OpenStore(options)->was_closed());
}

}  // namespace
}  // namespace hotrow::testing
