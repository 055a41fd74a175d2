// Ten thousand malformed requests to a real server: it stays up, its tables are unchanged, and its
// memory does not grow.

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "hotrow/v1/parameter_service.grpc.pb.h"
#include "proto/wire/batch_codec.h"
#include "proto/wire/hashes.h"
#include "proto/wire/shard_map.h"
#include "tests/client/local_servers.h"

namespace hotrow::testing {
namespace {

constexpr int64_t kDim = 4;
constexpr const char* kPull = "/hotrow.v1.ParameterService/Pull";
constexpr const char* kPush = "/hotrow.v1.ParameterService/Push";

// A stream that takes and gives bytes, opened anew when the server has ended it.
class ByteStreamClient {
 public:
  ByteStreamClient(const std::shared_ptr<grpc::Channel>& channel, const char* method)
      : stub_(channel), method_(method) {}
  ~ByteStreamClient() { Close(); }

  // The reply to `message`; empty when the server ended the stream instead.
  std::string Call(const std::string& message) {
    if (stream_ == nullptr) Open();
    const grpc::Slice slice(message);
    stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    grpc::ByteBuffer reply;
    grpc::Slice joined;
    bool read = Wait();
    if (read) {
      stream_->Read(&reply, nullptr);
      read = Wait();
    }
    if (!read || !reply.DumpToSingleSlice(&joined).ok()) {
      Close();
      return "";
    }
    return std::string(reinterpret_cast<const char*>(joined.begin()), joined.size());
  }

 private:
  void Open() {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
    queue_ = std::make_unique<grpc::CompletionQueue>();
    stream_ = stub_.PrepareCall(context_.get(), method_, queue_.get());
    stream_->StartCall(nullptr);
    Wait();
  }
  void Close() {
    if (stream_ == nullptr) return;
    context_->TryCancel();
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    Wait();
    queue_->Shutdown();
    while (Wait()) {
    }
    stream_ = nullptr;
  }
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_->Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  const char* const method_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

// A client that knows the protocol and breaks it.
class Attacker {
 public:
  Attacker(const std::string& address, const Table& table, uint64_t seed)
      : random_(seed),
        table_id_(table.info().table_id),
        salt_(wire::TableSalt(table.name())),
        map_(*wire::ShardMap::Static({address}, 64)),
        channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        pulls_(channel_, kPull),
        pushes_(channel_, kPush) {
    std::string uid(16, '\0');
    for (char& c : uid) c = static_cast<char>(random_());
    session_ = wire::SessionId(std::as_bytes(std::span(uid)), 1);
    v1::OpenSessionRequest request;
    request.set_client_uid(uid);
    request.set_restart_count(1);
    request.set_session(session_);
    request.set_world_size(1);
    request.set_mode(v1::STEP_MODE_ASYNC);
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    const auto stub = v1::ParameterService::NewStub(channel_);
    EXPECT_TRUE(stub->OpenSession(&context, request, &response).ok());
  }

  // One malformed request; `kind` chooses how. True when no row was said to be changed by it.
  bool Attack(int kind) {
    switch (kind % 12) {
      case 0:
        return Refused(Random(random_() % 3000));
      case 1:
        return Refused(Cut(Push(1, 1.0F)));
      case 2:
        return Refused(Flipped(Push(1, 1.0F)));
      case 3:
        return Refused(Changed([](v1::SubPush* p) { p->mutable_tables(0)->set_key_count(7); }));
      case 4:  // key_count x dim x 4 does not fit 64 bits of a careless product
        return Refused(Changed([](v1::SubPush* p) {
          p->mutable_tables(0)->set_key_count(UINT32_MAX);
          p->mutable_tables(0)->set_dim(UINT32_MAX);
        }));
      case 5:
        return Refused(Frozen([this](v1::SubPush* p) {
          p->mutable_tables(0)->set_table_id(table_id_ + 1 + random_() % 1000);
        }));
      case 6:
        return Refused(Frozen([](v1::SubPush* p) {
          p->mutable_tables(0)->set_key_count(2);
          p->mutable_tables(0)->set_dim(1);  // 2 x (8 + 4) = 8 + 4 x 4 bytes: the lengths add up
        }));
      case 7:  // a number that was used, with the same bytes and with others
        return Refused(Push(1, 1.0F)) && Refused(Push(1, static_cast<float>(random_() % 100 + 2)));
      case 8:  // a number whose turn has not come
        return Refused(Push(next_ + 1 + random_() % 1000, 1.0F));
      case 9:  // a number that was consumed long ago or just now, or 0, with bytes of another
        return Refused(Push(random_() % next_, static_cast<float>(random_() % 100 + 2)));
      case 10:
        return Refused(OfNoSession());
      default:
        return PullIsRefused();
    }
  }

  // Uses number 1 of the partition.
  bool UseFirstNumber() { return Counts(pushes_.Call(Push(1, 1.0F))) == 1; }
  // Uses the number that the attacks have come to: the session is alive, and none was swallowed.
  bool UseNextNumber() { return Counts(pushes_.Call(Push(next_, 1.0F))) == 1; }
  // How sub-pushes and messages were refused.
  const std::set<v1::ErrorKind>& kinds() const { return kinds_; }

 private:
  using Change = std::function<void(v1::SubPush*)>;

  std::string Random(size_t size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    return bytes;
  }
  std::string Cut(std::string bytes) {
    bytes.resize(random_() % bytes.size());
    return bytes;
  }
  std::string Flipped(std::string bytes) {
    for (int i = 0; i < 3; ++i)
      bytes[random_() % bytes.size()] ^= static_cast<char>(1 + random_() % 255);
    return bytes;
  }

  v1::PushRequest Message(uint64_t sequence, float gradient) const {
    const Key key = 12345;
    v1::PushRequest request;
    request.set_request_id(1);
    request.set_session(session_);
    request.set_timeline(map_.timeline());
    request.set_map_version(map_.version());
    v1::SubPush* sub_push = request.add_sub_pushes();
    sub_push->set_partition(map_.PartitionOf(key, salt_));
    sub_push->set_sequence(sequence);
    sub_push->set_operation(v1::OPERATION_PUSH);
    v1::SubPushTable* table = sub_push->add_tables();
    table->set_table_id(table_id_);
    table->set_key_count(1);
    table->set_dim(kDim);
    table->set_step(1);
    std::string payload(sizeof(key) + kDim * sizeof(float), '\0');
    std::memcpy(payload.data(), &key, sizeof(key));
    for (int64_t i = 0; i < kDim; ++i) {
      std::memcpy(payload.data() + sizeof(key) + i * 4, &gradient, 4);
    }
    request.set_payload(payload);
    return request;
  }

  static std::string Freeze(v1::PushRequest request) {
    v1::SubPush& proto = *request.mutable_sub_pushes(0);
    wire::SubPush sub_push{.operation = wire::Operation::kPush, .tables = {}};
    for (const v1::SubPushTable& table : proto.tables()) {
      sub_push.tables.push_back(
          {table.table_id(), table.key_count(), table.dim(), table.step(), table.learning_rate()});
    }
    const grpc::Slice slice(request.payload());
    proto.set_content_hash(wire::ContentHash(sub_push, wire::Payload({slice}, 0, slice.size())));
    return request.SerializeAsString();
  }
  std::string Push(uint64_t sequence, float gradient) const {
    return Freeze(Message(sequence, gradient));
  }
  // Changed after the hash was made, and before.
  std::string Changed(const Change& change) const {
    v1::PushRequest request;
    request.ParseFromString(Push(2, 1.0F));
    change(request.mutable_sub_pushes(0));
    return request.SerializeAsString();
  }
  std::string Frozen(const Change& change) {
    v1::PushRequest request = Message(next_, 1.0F);
    change(request.mutable_sub_pushes(0));
    ++next_;  // a refusal for good consumes its number
    return Freeze(std::move(request));
  }

  std::string OfNoSession() {
    v1::PushRequest request;
    request.ParseFromString(Push(next_, 1.0F));
    request.set_session(random_());
    return request.SerializeAsString();
  }

  // Rows that a reply says were changed now.
  int64_t Counts(const std::string& reply) {
    v1::PushResponse response;
    EXPECT_TRUE(response.ParseFromString(reply));
    int64_t changed = 0;
    kinds_.insert(response.error().kind());
    for (const v1::SubPushResult& result : response.results()) {
      kinds_.insert(result.error().kind());
      if (result.duplicate()) continue;
      for (const v1::TableCounts& counts : result.counts()) {
        changed += counts.rows_updated() + counts.rows_created();
      }
    }
    return changed;
  }
  bool Refused(const std::string& message) { return Counts(pushes_.Call(message)) == 0; }

  bool PullIsRefused() {
    v1::PullRequest request;
    request.set_request_id(7);
    request.set_timeline(map_.timeline());
    request.set_map_version(map_.version());
    v1::TableKeys* keys = request.add_tables();
    keys->set_table_id(random_() % 2 == 0 ? table_id_ : table_id_ + 1 + random_() % 1000);
    keys->set_key_count(random_() % 2 == 0 ? 3 : UINT32_MAX);
    request.set_keys(Random(keys->key_count() == 3 && keys->table_id() == table_id_ ? 23 : 24));
    std::string message = request.SerializeAsString();
    if (random_() % 3 == 0) message = Cut(message);
    v1::PullResponse response;
    const std::string reply = pulls_.Call(message);
    return response.ParseFromString(reply) && response.rows().empty();
  }

  std::mt19937_64 random_;
  const uint32_t table_id_;
  const uint64_t salt_;
  const wire::ShardMap map_;
  const std::shared_ptr<grpc::Channel> channel_;
  ByteStreamClient pulls_;
  ByteStreamClient pushes_;
  uint64_t session_ = 0;
  uint64_t next_ = 2;
  std::set<v1::ErrorKind> kinds_;
};

int64_t ResidentBytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A server under AddressSanitizer keeps what was freed, up to 256 MiB: that is not growth.
void KeepNothingFreed() {
  const char* options = std::getenv("ASAN_OPTIONS");
  const std::string kept = options == nullptr ? "" : std::string(options) + ":";
  setenv("ASAN_OPTIONS", (kept + "quarantine_size_mb=0").c_str(), 1);
}

TEST(HostileRequests, TenThousandLeaveServerTablesAndMemoryAsTheyWere) {
  KeepNothingFreed();
  LocalServers servers(1);
  const auto client = servers.Connect();
  const auto table = client->CreateTable({.name = "t", .dim = kDim, .optimizer = Sgd{1.0F}});
  ASSERT_OK(table);
  const std::vector<Key> keys = RandomKeys(1000, UINT64_MAX, 3);
  ASSERT_OK(table->Push(keys, ValuesOf(keys, kDim)));
  const uint64_t seed = std::random_device{}();
  std::printf("seed %lu\n", seed);
  Attacker attacker(servers.addresses()[0], *table, seed);
  ASSERT_TRUE(attacker.UseFirstNumber());
  const std::vector<float> before = PullRows(*table, keys);
  const int64_t rows = *table->Size();

  int64_t resident_after_1000 = 0;
  for (int i = 1; i <= 10'000; ++i) {
    EXPECT_TRUE(attacker.Attack(i)) << "request " << i;
    if (i == 1000) resident_after_1000 = ResidentBytes(servers.pid(0));
  }
  EXPECT_LE(ResidentBytes(servers.pid(0)), resident_after_1000 + (8 << 20));
  EXPECT_EQ(PullRows(*table, keys), before);
  EXPECT_EQ(*table->Size(), rows);
  // The attacks came through, to the checks that they are about.
  EXPECT_TRUE(attacker.UseNextNumber());
  for (const v1::ErrorKind kind :
       {v1::ERROR_KIND_NOT_FOUND, v1::ERROR_KIND_SCHEMA_MISMATCH, v1::ERROR_KIND_INVALID_ARGUMENT,
        v1::ERROR_KIND_OUT_OF_ORDER, v1::ERROR_KIND_DATA_LOSS, v1::ERROR_KIND_SESSION_LOST}) {
    EXPECT_EQ(attacker.kinds().count(kind), 1u) << v1::ErrorKind_Name(kind);
  }
}

}  // namespace
}  // namespace hotrow::testing
