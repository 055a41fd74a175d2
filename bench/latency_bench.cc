// How long does a small pull take, beside an empty call?
//
// Microseconds at the 50th and 99th percentile of each round: pulls of 256 and of 8192 keys into
// the caller's buffer, one at a time, an empty unary gRPC call, and a request and a reply of the
// same bytes over a bare TCP socket. Usage: latency_bench --tcp HOST:PORT with a running
// hotrow-server; bench/latency.py starts one and reads the lines of candidates.h.

#include <grpcpp/grpcpp.h>

#include "bench/candidates.h"
#include "bench/grpc_peer.h"
#include "bench/raw_socket.h"
#include "bench/server_table.h"
#include "bench/workload.h"
#include "hotrow/v1/admin_service.grpc.pb.h"

namespace hotrow::bench {
namespace {

constexpr int64_t kDim = 64;
constexpr int64_t kStoredRows = 200'000;
constexpr int64_t kBatches = 64;

struct Case {
  const char* name;
  int64_t keys;
  Rounds rounds;
};
constexpr Case kCases[] = {
    {"256 keys", 256, {.counted = 9, .calls = 600, .warm_calls = 50}},
    {"8192 keys", 8192, {.counted = 9, .calls = 200, .warm_calls = 20}},
};

// The cheapest unary call that gRPC's synchronous interface has.
class EmptyService final : public v1::AdminService::Service {
  grpc::Status ListTables(grpc::ServerContext* context, const v1::ListTablesRequest* request,
                          v1::ListTablesResponse* response) override {
    return grpc::Status::OK;
  }
};

void ServeEmpty(int port_pipe) {
  EmptyService service;
  ServeGrpc(service, port_pipe);
}

std::function<bool(int64_t)> EmptyCall(int port) {
  const std::shared_ptr<v1::AdminService::Stub> stub = v1::AdminService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  return [stub](int64_t /*rows*/) {
    grpc::ClientContext context;
    v1::ListTablesResponse response;
    return stub->ListTables(&context, {}, &response).ok();
  };
}

std::function<bool(int64_t)> PullCall(const std::string& address, int64_t count) {
  const std::shared_ptr<Client> client = ConnectTo(address);
  const Table table = FilledTable(*client, "latency", kDim, kStoredRows);
  std::vector<std::vector<Key>> batches;
  KeySource source = *KeySource::Named("uniform", kStoredRows, 1);
  for (int64_t i = 0; i < kBatches; ++i) batches.push_back(source.Draw(count));
  std::vector<float> rows(static_cast<size_t>(count * kDim));
  return [client, table, batches, rows, next = size_t{0}](int64_t) mutable {
    return table.Pull(batches[next++ % batches.size()], rows).ok();
  };
}

void Report(const std::vector<Candidate>& candidates, const Case& of) {
  std::vector<std::vector<double>> middle(candidates.size());
  std::vector<std::vector<double>> high(candidates.size());
  Interleave(candidates, of.keys, of.rounds, [&](size_t i, const RoundSeconds& seconds) {
    middle[i].push_back(Quantile(seconds, 0.5) * 1e6);
    high[i].push_back(Quantile(seconds, 0.99) * 1e6);
  });
  for (size_t i = 0; i < candidates.size(); ++i) {
    PrintValues(candidates[i].name, std::string(of.name) + ", p50", middle[i]);
    PrintValues(candidates[i].name, std::string(of.name) + ", p99", high[i]);
  }
}

int Main(int argc, char** argv) {
  const std::string tcp = Argument(argc, argv, "tcp");
  if (tcp.empty()) {
    std::fprintf(stderr, "usage: latency_bench --tcp HOST:PORT\n");
    return 2;
  }
  const int listener = ListenTcp();
  int port_pipe[2];
  if (pipe(port_pipe) != 0) return 1;
  const Child raw([=] { ServeRaw(listener); });
  const Child empty([&] { ServeEmpty(port_pipe[1]); });
  int port = 0;
  if (read(port_pipe[0], &port, sizeof(port)) != sizeof(port)) return 1;
  const int raw_socket = ConnectTo(listener);
  for (const Case& of : kCases) {
    Report({{"Hotrow", PullCall(tcp, of.keys)},
            {"empty unary gRPC call", EmptyCall(port)},
            {"raw TCP, same bytes", RawCall(raw_socket, kDim * 4)}},
           of);
  }
  return 0;
}

}  // namespace
}  // namespace hotrow::bench

int main(int argc, char** argv) { return hotrow::bench::Main(argc, argv); }
