// The pinned values of proto/wire/test_vectors.json, which an independent program wrote.

#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/initializers/initializer.h"
#include "proto/wire/hashes.h"
#include "proto/wire/shard_map.h"
#include "tests/wire/samples.h"

namespace hotrow::wire {
namespace {

using Json = nlohmann::json;

const Json& Vectors(const char* section) {
  static const Json all = Json::parse(std::ifstream(HOTROW_TEST_VECTORS));
  const Json& vectors = all.at(section);
  EXPECT_FALSE(vectors.empty()) << section;
  return vectors;
}

uint64_t Hex(const Json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

float FloatOfBits(const Json& text) {
  return std::bit_cast<float>(static_cast<uint32_t>(Hex(text)));
}

TEST(TestVectors, MixKey) {
  for (const Json& vector : Vectors("mix_key")) {
    EXPECT_EQ(MixKey(Hex(vector["x"])), Hex(vector["mixed"])) << vector;
  }
}

TEST(TestVectors, TableSalt) {
  for (const Json& vector : Vectors("table_salt")) {
    EXPECT_EQ(TableSalt(vector["table"].get<std::string>()), Hex(vector["salt"])) << vector;
  }
}

TEST(TestVectors, HashKeyDigestAndPartition) {
  for (const Json& vector : Vectors("hash_key")) {
    const uint64_t salt = TableSalt(vector["table"].get<std::string>());
    const uint64_t hash = HashKey(Hex(vector["key"]), salt);
    EXPECT_EQ(hash, Hex(vector["hash"])) << vector;
    EXPECT_EQ(DigestOfHash(hash), vector["digest"].get<int>()) << vector;
    for (const auto& [bits, partition] : vector["partitions"].items()) {
      EXPECT_EQ(PartitionOfHash(hash, std::stoi(bits)), partition.get<uint32_t>()) << vector;
    }
  }
}

TEST(TestVectors, HashString) {
  for (const Json& vector : Vectors("hash_string")) {
    const auto feature = vector["feature"].get<std::string>();
    const auto value = vector["value"].get<std::string>();
    EXPECT_EQ(HashString(feature, value), Hex(vector["key"])) << vector;
  }
  EXPECT_NE(HashString("ab", "c"), HashString("a", "bc"));
  EXPECT_NE(HashString("id", "54327_154596532770814A573"),
            HashString("id", "28155_1527495221357429108"));
}

TEST(TestVectors, SessionId) {
  for (const Json& vector : Vectors("session_id")) {
    const auto hex = vector["client_uid_hex"].get<std::string>();
    std::vector<std::byte> uid;
    for (size_t i = 0; i < hex.size(); i += 2) {
      uid.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    EXPECT_EQ(SessionId(uid, Hex(vector["restart_count"])), Hex(vector["session"])) << vector;
  }
}

TEST(TestVectors, ContentHashHoweverThePayloadIsCut) {
  for (const Json& vector : Vectors("content_hash")) {
    SubPush sub_push;
    sub_push.operation = static_cast<Operation>(vector["operation"].get<int>());
    for (const Json& table : vector["tables"]) {
      sub_push.tables.push_back({table["table_id"], table["key_count"], table["dim"],
                                 Hex(table["step"]), FloatOfBits(table["learning_rate_bits"])});
    }
    const size_t size = vector["payload_bytes"];
    ASSERT_EQ(sub_push.payload_bytes(), size);
    const std::string payload = MixedBytes(size, vector["payload_seed"]);
    for (const size_t slice_bytes : {0, 1, 33, 1024}) {
      EXPECT_EQ(ContentHash(sub_push, Payload(SlicesOf(payload, slice_bytes), 0, size)),
                Hex(vector["hash"]))
          << vector;
    }
  }
}

TEST(TestVectors, PayloadHash) {
  for (const Json& vector : Vectors("payload_hash")) {
    const std::string bytes = MixedBytes(vector["size"], vector["size"].get<uint64_t>());
    EXPECT_EQ(PayloadHash(std::as_bytes(std::span(bytes))), Hex(vector["hash"])) << vector;
  }
}

TEST(TestVectors, StaticOwners) {
  for (const Json& vector : Vectors("static_owners")) {
    const auto owners = vector["owners"].get<std::vector<uint32_t>>();
    for (uint32_t p = 0; p < owners.size(); ++p) {
      EXPECT_EQ(StaticOwner(p, vector["partitions"], vector["shards"]), owners[p]) << p;
    }
  }
}

TEST(TestVectors, InitialValues) {
  const std::map<std::string, InitializerKind> kinds = {{"zeros", InitializerKind::kZeros},
                                                        {"constant", InitializerKind::kConstant},
                                                        {"uniform", InitializerKind::kUniform},
                                                        {"normal", InitializerKind::kNormal}};
  for (const Json& vector : Vectors("initial_values")) {
    const Initializer initializer = {kinds.at(vector["initializer"]), vector["a"], vector["b"],
                                     TableSalt(vector["table"].get<std::string>()),
                                     Hex(vector["seed"])};
    const Key key = Hex(vector["key"]);
    const size_t column = vector["column"];
    std::vector<float> row(column + 1);
    const RowPointer pointer = AsRow(static_cast<void*>(row.data()));
    InitializeRows(initializer, {&key, 1}, {{&pointer, 1}, static_cast<int64_t>(row.size())});
    EXPECT_EQ(std::bit_cast<uint32_t>(row[column]), Hex(vector["value_bits"])) << vector;
  }
}

}  // namespace
}  // namespace hotrow::wire
