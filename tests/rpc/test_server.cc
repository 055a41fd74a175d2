#include "tests/rpc/test_server.h"

#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "kernels/base/key.h"
#include "proto/wire/hashes.h"

namespace hotrow::testing {
namespace {

void AppendBytes(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

uint64_t HashOf(const v1::SubPush& sub_push, const std::string& part) {
  wire::SubPush plain{.partition = sub_push.partition(), .sequence = sub_push.sequence()};
  plain.operation = static_cast<wire::Operation>(sub_push.operation());
  for (const auto& table : sub_push.tables()) {
    plain.tables.push_back({.table_id = table.table_id(),
                            .key_count = table.key_count(),
                            .dim = table.dim(),
                            .step = table.step(),
                            .learning_rate = table.learning_rate()});
  }
  return wire::ContentHash(plain, wire::Payload({grpc::Slice(part)}, 0, part.size()));
}

}  // namespace

TestServer::TestServer(RpcServerOptions options, std::chrono::milliseconds slow_call,
                       int64_t max_sessions)
    : metrics(slow_call) {
  if (options.listen.empty()) options.listen = "127.0.0.1:0";
  auto listening = RpcServer::Listen(std::move(options), &metrics);
  EXPECT_TRUE(listening.ok()) << listening.status().message();
  rpc = *std::move(listening);
  auto created =
      Shard::Create({.shard = 0,
                     .map = *wire::ShardMap::Static({rpc->listen_address()}, kPartitions),
                     .memory_budget_bytes = int64_t{256} << 20,
                     .max_sessions = max_sessions,
                     .strands = 3});
  EXPECT_TRUE(created.ok()) << created.status().message();
  shard = *std::move(created);
  rpc->Serve(shard.get());
}

TestClient::TestClient(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  parameters_ = v1::ParameterService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kTestTimeout);
  context.set_wait_for_ready(true);
}

uint32_t TestClient::CreateTable(const std::string& name, uint32_t dim) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CreateTableRequest request;
  *request.mutable_schema() = Schema(name, dim);
  v1::CreateTableResponse response;
  const grpc::Status status = admin_->CreateTable(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.table().table_id();
}

uint64_t TestClient::OpenSession(const std::string& uid) {
  v1::OpenSessionResponse response;
  const grpc::Status status = TryOpenSession(uid, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.session();
}

grpc::Status TestClient::TryOpenSession(const std::string& uid, v1::OpenSessionResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::OpenSessionRequest request;
  request.set_client_uid(uid);
  request.set_session(wire::SessionId(std::as_bytes(std::span(uid.data(), uid.size())), 0));
  request.set_world_size(1);
  request.set_mode(v1::STEP_MODE_ASYNC);
  return parameters_->OpenSession(&context, request, response);
}

v1::PullResponse TestClient::Pull(uint32_t table, const std::vector<uint64_t>& keys) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = parameters_->Pull(&context);
  v1::PullResponse response;
  EXPECT_TRUE(stream->Write(PullOf(1, table, keys)));
  stream->WritesDone();
  EXPECT_TRUE(stream->Read(&response));
  v1::PullResponse more;
  EXPECT_FALSE(stream->Read(&more)) << "one request has one answer";
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::PushResponse TestClient::Push(const v1::PushRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = parameters_->Push(&context);
  v1::PushResponse response;
  EXPECT_TRUE(stream->Write(request));
  stream->WritesDone();
  EXPECT_TRUE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

v1::TableSchema Schema(const std::string& name, uint32_t dim) {
  v1::TableSchema schema;
  schema.set_name(name);
  schema.set_dim(dim);
  schema.mutable_optimizer()->mutable_sgd()->set_lr(1.0F);
  schema.mutable_initializer()->mutable_zeros();
  schema.set_durability(v1::DURABILITY_CLASS_MEMORY);
  return schema;
}

v1::PullRequest PullOf(uint64_t request_id, uint32_t table, const std::vector<uint64_t>& keys) {
  v1::PullRequest request;
  request.set_request_id(request_id);
  request.set_timeline(1);
  request.set_map_version(1);
  request.set_mode(v1::PULL_MODE_TRAIN);
  auto* table_keys = request.add_tables();
  table_keys->set_table_id(table);
  table_keys->set_key_count(static_cast<uint32_t>(keys.size()));
  AppendBytes(*request.mutable_keys(), keys.data(), keys.size() * sizeof(uint64_t));
  return request;
}

v1::PushRequest PushMaker::Make(const PushTarget& target, const std::vector<uint64_t>& keys,
                                const std::vector<float>& gradients) {
  const uint64_t salt = wire::TableSalt(target.name);
  std::map<uint32_t, std::vector<size_t>> by_partition;
  for (size_t i = 0; i < keys.size(); ++i) {
    by_partition[PartitionOfHash(HashKey(keys[i], salt), 3)].push_back(i);
  }
  v1::PushRequest request;
  request.set_request_id(++request_id_);
  request.set_session(session_);
  request.set_timeline(1);
  request.set_map_version(1);
  ++step_;
  for (const auto& [partition, positions] : by_partition) {
    v1::SubPush* sub_push = request.add_sub_pushes();
    sub_push->set_partition(partition);
    sub_push->set_sequence(++sequences_[partition]);
    sub_push->set_operation(v1::OPERATION_PUSH);
    v1::SubPushTable* table = sub_push->add_tables();
    table->set_table_id(target.id);
    table->set_key_count(static_cast<uint32_t>(positions.size()));
    table->set_dim(target.dim);
    table->set_step(step_);
    table->set_learning_rate(1.0F);
    std::string part;
    for (size_t i : positions) AppendBytes(part, &keys[i], sizeof(uint64_t));
    for (size_t i : positions) {
      AppendBytes(part, &gradients[i * target.dim], target.dim * sizeof(float));
    }
    sub_push->set_content_hash(HashOf(*sub_push, part));
    *request.mutable_payload() += part;
  }
  return request;
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

float MixedValue(uint64_t key, uint32_t column) {
  // 16 bits: sums of a few of them are exact.
  return static_cast<float>(MixKey(MixKey(key) + column) >> 48) / 256.0F;
}

}  // namespace hotrow::testing
