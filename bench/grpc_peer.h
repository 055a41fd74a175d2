// A gRPC peer of a benchmark: a service that a forked child serves on a free port of loopback.
//
// Thread safety: one thread, in the child. Errors: a port that cannot be told ends the child.

#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

namespace hotrow::bench {

// Tells the port through `port_pipe` and serves until the child is killed.
inline void ServeGrpc(grpc::Service& service, int port_pipe) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (write(port_pipe, &port, sizeof(port)) == sizeof(port)) server->Wait();
}

}  // namespace hotrow::bench
