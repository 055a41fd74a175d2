#include "server/rpc/rpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <utility>

#include "grpc/health/v1/health.pb.h"
#include "proto/wire/status_codec.h"
#include "server/rpc/acceptor.h"
#include "server/rpc/descriptor_limit.h"
#include "server/rpc/health_calls.h"
#include "server/rpc/listen_socket.h"
#include "server/rpc/scan_call.h"
#include "server/rpc/server_arguments.h"
#include "server/rpc/services.h"
#include "server/rpc/stream_handlers.h"
#include "server/rpc/unary_methods.h"
#include "server/runtime/event_loops.h"
#include "server/runtime/thread_pool.h"

namespace hotrow {
namespace {

constexpr size_t kMaxWaitingAdminCalls = 256;
constexpr int64_t kMaxAdminConnections = 64;
constexpr std::chrono::seconds kAliveWithin(10);
constexpr std::chrono::seconds kMayFailToAccept(5);
constexpr std::chrono::milliseconds kHangUp(50);
// Admin calls are a few kilobytes.
constexpr int64_t kAdminMemoryBytes = int64_t{16} << 20;
constexpr const char* kLiveService = "live";
constexpr const char* kReadyServices[] = {"", "ready", "hotrow.v1.ParameterService",
                                          "hotrow.v1.AdminService"};

// Process-wide switches of gRPC, set before any server is built.
void EnablePlugins() {
  static const bool enabled = [] {
    // Links the description of the health service, which reflection shows.
    grpc::health::v1::HealthCheckRequest::descriptor();
    grpc::EnableDefaultHealthCheckService(false);  // see health_calls.h
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // Never given back: the end of the last server would wait up to 10 s for a poller of gRPC's
    // own.
    grpc_init();
    return true;
  }();
  static_cast<void>(enabled);
}

// HOST:PORT with the port replaced.
std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

absl::Status CannotServe(const std::string& address) {
  return wire::MakeError(wire::ErrorKind::kUnavailable, "gRPC cannot serve " + address);
}

using GrpcAcceptor = grpc::experimental::ExternalConnectionAcceptor;

// gRPC takes connections that we accepted.
std::shared_ptr<GrpcAcceptor> AddAcceptor(grpc::ServerBuilder& builder) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  return builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD,
                                                              grpc::InsecureServerCredentials());
}

void HandOver(GrpcAcceptor& to, int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  // gRPC would write a line about a client that has left already.
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    close(descriptor);
    return;
  }
  GrpcAcceptor::NewConnectionParameters connection;
  connection.fd = descriptor;
  to.HandleNewConnection(&connection);
}

struct ConnectionBound {
  int64_t most;
  const char* name;
};

std::unique_ptr<Acceptor> Accept(std::vector<ListenSocket> sockets, const ConnectionBound& bound,
                                 const std::shared_ptr<GrpcAcceptor>& to) {
  return std::make_unique<Acceptor>(
      Acceptor::Options{.sockets = std::move(sockets),
                        .max_connections = bound.most,
                        .bound = bound.name,
                        .take = [to](int descriptor) { HandOver(*to, descriptor); }});
}

}  // namespace

struct RpcServer::Impl {
  explicit Impl(RpcServerOptions wished)
      : options(std::move(wished)),
        streams(std::make_shared<StreamShared>(options.stream_limits)),
        pool(options.blocking_threads, kMaxWaitingAdminCalls) {}

  absl::Status StartServers();
  absl::Status StartData(EventLoops::Queues& queues);
  absl::Status StartAdmin(EventLoops::Queues& queues);

  void SetHealth(const char* service, bool serving) {
    health.table.Set(service, serving ? Health::kServing : Health::kNotServing);
  }
  void ServeHealth() {
    for (int i = 0; i < options.event_loops; ++i) {
      std::make_shared<HealthCheckCall>(&health, loops->queue(i))->Start();
      std::make_shared<HealthWatchCall>(&health, loops->queue(i))->Start();
    }
  }
  void SetReady(bool ready) {
    for (const char* service : kReadyServices) SetHealth(service, ready);
  }
  void ReportReady() {
    if (state.load() == ServingState::kServing) SetReady(Accepting());
    if (state.load() == ServingState::kDraining) SetReady(false);  // since then, by another thread
  }
  bool Accepting() const {
    return acceptor == nullptr || acceptor->failing_for() < kMayFailToAccept;
  }
  void StopAccepting() {
    if (acceptor != nullptr) acceptor->Stop();
    if (admin_acceptor != nullptr) admin_acceptor->Stop();
  }
  void Drain() {
    state.store(ServingState::kDraining);
    SetReady(false);
  }

  const RpcServerOptions options;
  const std::shared_ptr<StreamShared> streams;  // shared with the calls
  std::string listen_address;
  ThreadPool pool;
  CallEnvironment environment;
  HealthEnvironment health;
  PullHandler pull_handler{&environment};
  PushHandler push_handler{&environment};
  std::optional<UnaryMethods> unary_methods;
  std::optional<UnaryMethods> admin_methods;  // of the admin listener
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::Server> admin_server;
  std::unique_ptr<Acceptor> acceptor;
  std::unique_ptr<Acceptor> admin_acceptor;
  std::unique_ptr<EventLoops> loops;
  std::atomic<ServingState> state{ServingState::kStarting};
  bool shut_down = false;
};

absl::Status RpcServer::Impl::StartServers() {
  EventLoops::Queues queues;
  absl::Status status = StartData(queues);
  if (status.ok() && !options.admin_listen.empty()) status = StartAdmin(queues);
  // Also after a failure: loops end the queues in good order.
  loops = std::make_unique<EventLoops>(std::move(queues));
  return status;
}

absl::Status RpcServer::Impl::StartData(EventLoops::Queues& queues) {
  absl::StatusOr<TcpSockets> tcp = ListenTcp(options.listen);
  if (!tcp.ok()) return tcp.status();
  listen_address = WithPort(options.listen, tcp->port);
  if (!options.unix_path.empty()) {
    absl::StatusOr<ListenSocket> unix_socket = ListenUnix(options.unix_path);
    if (!unix_socket.ok()) return unix_socket.status();
    tcp->sockets.push_back(*std::move(unix_socket));
  }
  grpc::ServerBuilder builder;
  ApplyServerArguments(options.memory_bytes, builder);
  const std::shared_ptr<GrpcAcceptor> to = AddAcceptor(builder);
  builder.RegisterService(&environment.parameters);
  builder.RegisterService(&environment.admin);
  builder.RegisterService(&health.service);
  for (int i = 0; i < options.event_loops; ++i) queues.push_back(builder.AddCompletionQueue());
  server = builder.BuildAndStart();
  if (server == nullptr) return CannotServe(options.listen);
  const int64_t most =
      options.max_connections > 0 ? options.max_connections : ConnectionsUnder(DescriptorLimit());
  acceptor = Accept(std::move(tcp->sockets), {most, "rpc.max_connections"}, to);
  return absl::OkStatus();
}

// A server of its own with a queue of its own: gRPC serves every service on every address of a
// server.
absl::Status RpcServer::Impl::StartAdmin(EventLoops::Queues& queues) {
  absl::StatusOr<TcpSockets> tcp = ListenTcp(options.admin_listen);
  if (!tcp.ok()) return tcp.status();
  grpc::ServerBuilder builder;
  ApplyServerArguments(kAdminMemoryBytes, builder);
  const std::shared_ptr<GrpcAcceptor> to = AddAcceptor(builder);
  builder.RegisterService(&environment.admin_only);
  queues.push_back(builder.AddCompletionQueue());
  admin_server = builder.BuildAndStart();
  if (admin_server == nullptr) return CannotServe(options.admin_listen);
  environment.admin_address = WithPort(options.admin_listen, tcp->port);
  admin_acceptor =
      Accept(std::move(tcp->sockets), {kMaxAdminConnections, "of the admin listener"}, to);
  return absl::OkStatus();
}

RpcServer::RpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RpcServer::~RpcServer() { Shutdown(std::chrono::steady_clock::now()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Listen(RpcServerOptions options,
                                                             RpcMetrics* metrics) {
  EnablePlugins();
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->environment.metrics = metrics;
  impl->environment.pool = &impl->pool;
  impl->environment.registry = std::make_shared<CallRegistry>();
  impl->health.registry = impl->environment.registry;
  impl->environment.cluster_id = impl->options.cluster_id;
  std::unique_ptr<RpcServer> result(new RpcServer(std::move(impl)));
  Impl& ready = *result->impl_;
  if (absl::Status status = ready.StartServers(); !status.ok()) return status;
  ready.SetReady(false);
  ready.SetHealth(kLiveService, true);
  ready.ServeHealth();
  return result;
}

const std::string& RpcServer::listen_address() const { return impl_->listen_address; }

const std::string& RpcServer::admin_address() const { return impl_->environment.admin_address; }

void RpcServer::Serve(Shard* shard) {
  CallEnvironment& environment = impl_->environment;
  environment.shard = shard;
  environment.on_drain = [impl = impl_.get()] { impl->Drain(); };
  impl_->unary_methods.emplace(&environment, UnaryMethods::Listener::kData);
  for (int i = 0; i < impl_->options.event_loops; ++i) {
    grpc::ServerCompletionQueue* queue = impl_->loops->queue(i);
    const auto start_stream = [&](StreamHandler* handler) {
      std::make_shared<StreamCall>(handler, impl_->streams, environment.registry, queue)->Start();
    };
    start_stream(&impl_->pull_handler);
    start_stream(&impl_->push_handler);
    std::make_shared<ScanCall>(&environment, queue)->Start();
    impl_->unary_methods->Start(queue);
  }
  if (impl_->admin_server != nullptr) {
    impl_->admin_methods.emplace(&environment, UnaryMethods::Listener::kAdminOnly);
    impl_->admin_methods->Start(impl_->loops->queue(impl_->loops->size() - 1));
  }
  ServingState starting = ServingState::kStarting;  // or a drain came first, and stays
  impl_->state.compare_exchange_strong(starting, ServingState::kServing);
  impl_->ReportReady();
}

void RpcServer::StopServing() { impl_->Drain(); }

ServingState RpcServer::state() const { return impl_->state.load(); }

void RpcServer::Shutdown(Deadline deadline) {
  if (impl_->shut_down) return;
  impl_->shut_down = true;
  if (impl_->server == nullptr) return;  // could not listen: there are no calls
  impl_->Drain();
  CallRegistry& registry = *impl_->environment.registry;
  const grpc::Status stopping =
      wire::ToGrpcStatus(wire::ToStatus({.kind = wire::ErrorKind::kUnavailable,
                                         .message = "the shard is shutting down",
                                         .hint = "connect again when it is back"}));
  registry.EndAll(stopping, deadline);
  impl_->StopAccepting();  // while gRPC still takes what is accepted
  // What is open now is cut: idle clients need not hang up first.
  const auto hang_up = std::chrono::system_clock::now() + kHangUp;
  impl_->server->Shutdown(hang_up);
  if (impl_->admin_server != nullptr) impl_->admin_server->Shutdown(hang_up);
  impl_->pool.Stop();
  registry.Close();
  impl_->loops->Stop();
}

int64_t RpcServer::highest_stream_bytes() const {
  return impl_->streams->memory.highest_used_bytes();
}

ConnectionCounts RpcServer::connections() const { return impl_->acceptor->counts(); }

bool RpcServer::Accepting() const { return impl_->Accepting(); }

void RpcServer::ReportAlive() {
  impl_->SetHealth(kLiveService, Alive());
  impl_->ReportReady();
}

bool RpcServer::Alive() const {
  const auto turns = [](const std::unique_ptr<Acceptor>& acceptor) {
    return acceptor == nullptr || acceptor->AliveWithin(kAliveWithin);
  };
  return impl_->loops->AliveWithin(kAliveWithin) && turns(impl_->acceptor) &&
         turns(impl_->admin_acceptor);
}

}  // namespace hotrow
