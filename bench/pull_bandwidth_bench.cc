// How close does a pull come to the socket under it?
//
// Prints payload GB/s of pulls with replies of 1 MiB and of nearly 4 MiB, one at a time, beside
// three figures of the same run: the raw limit (a request and a reply of the same sizes over a bare
// socket), and a protobuf stub whose reply carries the rows in a `bytes` string. Usage:
// pull_bandwidth_bench --tcp HOST:PORT [--unix unix:PATH] with a running hotrow-server;
// bench/pull_bandwidth.py starts one.

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"
#include "hotrow/v1/parameter_service.grpc.pb.h"

namespace {

constexpr int64_t kDim = 64;
constexpr int64_t kRowBytes = kDim * 4;
constexpr int kRounds = 7;
constexpr size_t kLargestReply = (size_t{4} << 20) - (size_t{64} << 10);

using Clock = std::chrono::steady_clock;

bool ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = ::read(fd, data, size);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(fd, data, size);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// A forked child that serves; killed at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& serve) : pid_(fork()) {
    if (pid_ == 0) {
      serve();
      _exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// Answers {u32 request bytes, u32 reply bytes, request} with a reply of that size from a fixed
// buffer.
void ServeRaw(int listener) {
  const int fd = accept(listener, nullptr, nullptr);
  std::vector<char> request(kLargestReply);
  std::vector<char> reply(kLargestReply, 'r');
  uint32_t sizes[2];
  while (ReadAll(fd, reinterpret_cast<char*>(sizes), sizeof(sizes))) {
    if (!ReadAll(fd, request.data(), sizes[0]) || !WriteAll(fd, reply.data(), sizes[1])) return;
  }
}

int Listen(sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM, 0);
  if (bind(fd, address, size) != 0 || listen(fd, 1) != 0) std::perror("listen");
  return fd;
}

int Connect(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int fd = socket(address.ss_family, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) std::perror("connect");
  const int on = 1;
  if (address.ss_family == AF_INET) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

class ProtobufStub final : public hotrow::v1::ParameterService::Service {
  using Stream = grpc::ServerReaderWriter<hotrow::v1::PullResponse, hotrow::v1::PullRequest>;
  grpc::Status Pull(grpc::ServerContext* context, Stream* stream) override {
    hotrow::v1::PullRequest request;
    while (stream->Read(&request)) {
      hotrow::v1::PullResponse response;
      response.set_rows(std::string(request.keys().size() / 8 * kRowBytes, 'r'));
      if (!stream->Write(response)) break;
    }
    return grpc::Status::OK;
  }
};

void ServeProtobuf(int port_pipe) {
  ProtobufStub service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (write(port_pipe, &port, sizeof(port)) == sizeof(port)) server->Wait();
}

struct Candidate {
  std::string name;
  std::function<bool(int64_t rows)> call;  // one request and its reply
  std::vector<double> gigabytes_per_second;
};

std::function<bool(int64_t)> RawCall(int fd) {
  return [fd, buffer = std::vector<char>(kLargestReply)](int64_t rows) mutable {
    const uint32_t sizes[2] = {static_cast<uint32_t>(rows * 8),
                               static_cast<uint32_t>(rows * kRowBytes)};
    return WriteAll(fd, reinterpret_cast<const char*>(sizes), sizeof(sizes)) &&
           WriteAll(fd, buffer.data(), sizes[0]) && ReadAll(fd, buffer.data(), sizes[1]);
  };
}

std::function<bool(int64_t)> ProtobufCall(int port) {
  using Stub = hotrow::v1::ParameterService::Stub;
  struct State {
    std::unique_ptr<Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<hotrow::v1::PullRequest, hotrow::v1::PullResponse>>
        stream;
  };
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto state = std::make_shared<State>();
  state->stub = hotrow::v1::ParameterService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
  state->stream = state->stub->Pull(&state->context);
  return [state](int64_t rows) {
    hotrow::v1::PullRequest request;
    request.set_keys(std::string(static_cast<size_t>(rows * 8), 'k'));
    hotrow::v1::PullResponse response;
    return state->stream->Write(request) && state->stream->Read(&response) &&
           response.rows().size() == static_cast<size_t>(rows * kRowBytes);
  };
}

// Pulls distinct stored keys; rows stay in the received buffers.
std::function<bool(int64_t)> HotrowCall(const std::string& shard, const std::string& dial) {
  hotrow::ConnectOptions options;
  options.addresses = {shard};
  if (dial != shard) options.address_map[shard] = dial;
  auto client = hotrow::Client::Connect(options);
  if (!client.ok()) {
    std::fprintf(stderr, "%s: %s\n", dial.c_str(), std::string(client.status().message()).c_str());
    std::exit(1);
  }
  hotrow::TableSchema schema;
  schema.name = "pull_bandwidth";
  schema.dim = kDim;
  schema.optimizer = hotrow::Sgd{};
  auto table = (*client)->CreateTable(schema, /*exist_ok=*/true);
  std::vector<hotrow::Key> keys(kLargestReply / kRowBytes);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> rows(keys.size() * kDim, 1.0F);
  if (!table.ok() || !table->Upsert(keys, rows).ok()) {
    std::fprintf(stderr, "%s: could not fill the table\n", dial.c_str());
    std::exit(1);
  }
  return [client = *client, table = *table, keys](int64_t count) {
    const auto batch =
        table.PullBatch(std::span(keys).first(static_cast<size_t>(count)), std::nullopt);
    return batch.ok() && (*batch)->rows().rows.size() == static_cast<size_t>(count);
  };
}

double Measure(Candidate& candidate, int64_t rows, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) {
    if (!candidate.call(rows)) {
      std::fprintf(stderr, "%s: a call failed\n", candidate.name.c_str());
      std::exit(1);
    }
  }
  const std::chrono::duration<double> seconds = Clock::now() - start;
  return static_cast<double>(calls) * static_cast<double>(rows * kRowBytes) / seconds.count() / 1e9;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Own candidates come first; ratios are taken to the three others.
void Report(std::vector<Candidate>& candidates, size_t own, int64_t rows) {
  for (Candidate& candidate : candidates) candidate.gigabytes_per_second.clear();
  const int calls = static_cast<int>((int64_t{256} << 20) / (rows * kRowBytes));
  for (int round = 0; round <= kRounds; ++round) {
    for (Candidate& candidate : candidates) {
      const double rate = Measure(candidate, rows, calls);
      if (round > 0) candidate.gigabytes_per_second.push_back(rate);
    }
  }
  std::printf("\nreply %.2f MiB, %d rounds of %d calls\n",
              static_cast<double>(rows * kRowBytes) / (1 << 20), kRounds, calls);
  for (const Candidate& candidate : candidates) {
    std::printf("  %-34s %6.2f GB/s", candidate.name.c_str(),
                Median(candidate.gigabytes_per_second));
    if (&candidate >= candidates.data() + own) {
      for (size_t i = 0; i < own; ++i) {
        std::printf(
            "   %s %.2fx", candidates[i].name.c_str(),
            Median(candidates[i].gigabytes_per_second) / Median(candidate.gigabytes_per_second));
      }
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string tcp;
  std::string unix_address;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--tcp") tcp = argv[i + 1];
    if (std::string(argv[i]) == "--unix") unix_address = argv[i + 1];
  }
  if (tcp.empty()) {
    std::fprintf(stderr, "usage: pull_bandwidth_bench --tcp HOST:PORT [--unix unix:PATH]\n");
    return 2;
  }
  // Children fork before gRPC starts threads.
  sockaddr_in inet{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
  std::snprintf(local.sun_path + 1, sizeof(local.sun_path) - 1, "hotrow-bench-%d", getpid());
  const int tcp_listener = Listen(reinterpret_cast<sockaddr*>(&inet), sizeof(inet));
  const int unix_listener = Listen(reinterpret_cast<sockaddr*>(&local), sizeof(local));
  int port_pipe[2];
  if (pipe(port_pipe) != 0) return 1;
  const Child raw_tcp([=] { ServeRaw(tcp_listener); });
  const Child raw_unix([=] { ServeRaw(unix_listener); });
  const Child protobuf([&] { ServeProtobuf(port_pipe[1]); });
  int protobuf_port = 0;
  if (read(port_pipe[0], &protobuf_port, sizeof(protobuf_port)) != sizeof(protobuf_port)) return 1;

  std::vector<Candidate> candidates;
  candidates.push_back({"Hotrow TCP", HotrowCall(tcp, tcp), {}});
  if (!unix_address.empty())
    candidates.push_back({"Hotrow Unix", HotrowCall(tcp, unix_address), {}});
  const size_t own = candidates.size();
  candidates.push_back({"limit: raw TCP request/reply", RawCall(Connect(tcp_listener)), {}});
  candidates.push_back({"limit: raw Unix request/reply", RawCall(Connect(unix_listener)), {}});
  candidates.push_back({"peer: protobuf bytes stream, TCP", ProtobufCall(protobuf_port), {}});
  Report(candidates, own, (int64_t{1} << 20) / kRowBytes);
  Report(candidates, own, static_cast<int64_t>(kLargestReply) / kRowBytes);
  return 0;
}
