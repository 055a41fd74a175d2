// How close does a pull come to the socket under it?
//
// Payload GB/s of pulls with replies of 1 MiB and of nearly 4 MiB, one at a time, beside three
// figures of the same run: the raw limit (a request and a reply of the same sizes over a bare
// socket), and a protobuf stub whose reply carries the rows in a `bytes` string. Usage:
// pull_bandwidth_bench --tcp HOST:PORT [--unix unix:PATH] with a running hotrow-server;
// bench/pull_bandwidth.py starts one and reads the lines of candidates.h.

#include <grpcpp/grpcpp.h>

#include <numeric>

#include "bench/candidates.h"
#include "bench/grpc_peer.h"
#include "bench/raw_socket.h"
#include "bench/server_table.h"
#include "hotrow/v1/parameter_service.grpc.pb.h"

namespace hotrow::bench {
namespace {

constexpr int64_t kDim = 64;
constexpr int64_t kRowBytes = kDim * 4;
constexpr int64_t kBytesPerRound = int64_t{256} << 20;

class ProtobufStub final : public v1::ParameterService::Service {
  using Stream = grpc::ServerReaderWriter<v1::PullResponse, v1::PullRequest>;
  grpc::Status Pull(grpc::ServerContext* context, Stream* stream) override {
    v1::PullRequest request;
    while (stream->Read(&request)) {
      v1::PullResponse response;
      response.set_rows(std::string(request.keys().size() / 8 * kRowBytes, 'r'));
      if (!stream->Write(response)) break;
    }
    return grpc::Status::OK;
  }
};

void ServeProtobuf(int port_pipe) {
  ProtobufStub service;
  ServeGrpc(service, port_pipe);
}

std::function<bool(int64_t)> ProtobufCall(int port) {
  using Stub = v1::ParameterService::Stub;
  struct State {
    std::unique_ptr<Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::PullRequest, v1::PullResponse>> stream;
  };
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto state = std::make_shared<State>();
  state->stub = v1::ParameterService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
  state->stream = state->stub->Pull(&state->context);
  return [state](int64_t rows) {
    v1::PullRequest request;
    request.set_keys(std::string(static_cast<size_t>(rows * 8), 'k'));
    v1::PullResponse response;
    return state->stream->Write(request) && state->stream->Read(&response) &&
           response.rows().size() == static_cast<size_t>(rows * kRowBytes);
  };
}

// Pulls distinct stored keys; rows stay in the received buffers.
std::function<bool(int64_t)> HotrowCall(const std::string& shard, const std::string& dial) {
  const std::shared_ptr<Client> client = ConnectTo(shard, dial);
  std::vector<Key> keys(kLargestReply / kRowBytes);
  std::iota(keys.begin(), keys.end(), Key{0});
  const Table table =
      FilledTable(*client, "pull_bandwidth", kDim, static_cast<int64_t>(keys.size()));
  return [client, table, keys](int64_t count) {
    const auto batch =
        table.PullBatch(std::span(keys).first(static_cast<size_t>(count)), std::nullopt);
    return batch.ok() && (*batch)->rows().rows.size() == static_cast<size_t>(count);
  };
}

void Report(const std::vector<Candidate>& candidates, const std::string& name, int64_t rows) {
  std::vector<std::vector<double>> rates(candidates.size());
  const Rounds rounds{.calls = static_cast<int>(kBytesPerRound / (rows * kRowBytes))};
  Interleave(candidates, rows, rounds, [&](size_t i, const RoundSeconds& seconds) {
    const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    const double bytes =
        static_cast<double>(seconds.size()) * static_cast<double>(rows * kRowBytes);
    rates[i].push_back(bytes / all / 1e9);
  });
  for (size_t i = 0; i < candidates.size(); ++i) {
    PrintValues(candidates[i].name, name, rates[i]);
  }
}

int Main(int argc, char** argv) {
  const std::string tcp = Argument(argc, argv, "tcp");
  const std::string unix_address = Argument(argc, argv, "unix");
  if (tcp.empty()) {
    std::fprintf(stderr, "usage: pull_bandwidth_bench --tcp HOST:PORT [--unix unix:PATH]\n");
    return 2;
  }
  const int tcp_listener = ListenTcp();
  const int unix_listener = ListenUnix();
  int port_pipe[2];
  if (pipe(port_pipe) != 0) return 1;
  const Child raw_tcp([=] { ServeRaw(tcp_listener); });
  const Child raw_unix([=] { ServeRaw(unix_listener); });
  const Child protobuf([&] { ServeProtobuf(port_pipe[1]); });
  int protobuf_port = 0;
  if (read(port_pipe[0], &protobuf_port, sizeof(protobuf_port)) != sizeof(protobuf_port)) return 1;

  std::vector<Candidate> candidates{{"Hotrow TCP", HotrowCall(tcp, "")}};
  if (!unix_address.empty()) candidates.push_back({"Hotrow Unix", HotrowCall(tcp, unix_address)});
  candidates.push_back({"raw TCP request/reply", RawCall(ConnectTo(tcp_listener), kRowBytes)});
  candidates.push_back({"raw Unix request/reply", RawCall(ConnectTo(unix_listener), kRowBytes)});
  candidates.push_back({"protobuf bytes stream, TCP", ProtobufCall(protobuf_port)});
  Report(candidates, "1 MiB", (int64_t{1} << 20) / kRowBytes);
  Report(candidates, "3.94 MiB", static_cast<int64_t>(kLargestReply) / kRowBytes);
  return 0;
}

}  // namespace
}  // namespace hotrow::bench

int main(int argc, char** argv) { return hotrow::bench::Main(argc, argv); }
