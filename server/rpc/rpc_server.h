// RpcServer: listens, accepts calls of both services and ends them in good order. With an admin
// listener, what only operators call is served there and refused beside the data.
//
//   Listen (addresses are bound, health NOT_SERVING) -> Serve (a shard answers) -> StopServing
//   (health NOT_SERVING) -> Shutdown (open calls are answered with UNAVAILABLE)
//
// Thread safety: one owner thread calls these; the observers and
// StopServing() from any thread.
// Ownership: owns threads and sockets; the shard and the metrics are the caller's and outlive it
// and every reply, so destroy in the order server, shard, metrics. Errors: Unavailable naming the
// address that cannot be bound.

#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/ops/connection_counts.h"
#include "server/ops/rpc_metrics.h"
#include "server/ops/serving_state.h"
#include "server/rpc/stream_call.h"
#include "server/shard/shard.h"

namespace hotrow {

struct RpcServerOptions {
  std::string listen;        // HOST:PORT, port 0: a free one
  std::string unix_path;     // empty: none
  std::string admin_listen;  // HOST:PORT, empty: admin calls are served with all others
  std::string cluster_id;    // told to clients
  int event_loops = 1;
  int blocking_threads = 4;                 // for admin calls
  int64_t memory_bytes = int64_t{1} << 30;  // gRPC's quota
  int64_t max_connections = 0;              // 0: what the limit of open files allows
  StreamLimits stream_limits;
};

class RpcServer {
 public:
  static absl::StatusOr<std::unique_ptr<RpcServer>> Listen(RpcServerOptions options,
                                                           RpcMetrics* metrics);
  ~RpcServer();  // shuts down at once

  // The bound address, with the port that was chosen.
  const std::string& listen_address() const;
  const std::string& admin_address() const;  // empty without an admin listener

  // Accepts calls for `shard` from now on. Call once.
  void Serve(Shard* shard);
  // Health checks answer NOT_SERVING from now on, but for "live"; calls go on.
  void StopServing();
  // Ends open calls with UNAVAILABLE once their accepted requests are answered, at `deadline`
  // without; returns when no thread of the server is left. Drain the shard first.
  void Shutdown(Deadline deadline);

  // Starting until Serve(), draining from StopServing() or the Drain call on.
  ServingState state() const;
  // Most that all streams have held at once: accepted requests and replies, those to come included.
  int64_t highest_stream_bytes() const;
  // Of clients of both services; those of the admin listener are not among them.
  ConnectionCounts connections() const;
  // Whether all event loops and whoever accepts connections turn.
  bool Alive() const;
  // Whether connections can be taken: false once that has failed for some seconds.
  bool Accepting() const;
  // Tells the health service "live" what Alive() says, and "ready" what Accepting() says while
  // calls are served. To be called every few seconds.
  void ReportAlive();

 private:
  struct Impl;
  explicit RpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
