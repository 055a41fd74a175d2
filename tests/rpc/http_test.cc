#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/ops/address.h"
#include "server/ops/ops_pages.h"
#include "tests/rpc/test_server.h"

namespace hotrow::testing {
namespace {

// The whole answer to one request.
std::string Fetch(const std::string& address, const std::string& request_line) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(ParseAddress(address)->port);
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0) {
    const std::string request = request_line + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(write(socket_fd, request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n = 0; (n = read(socket_fd, buffer, sizeof(buffer))) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(socket_fd);
  return answer;
}

struct PagesOfServer {
  TestServer server;
  bool alive = true;
  bool accepting = true;
  std::unique_ptr<HttpServer> http;

  PagesOfServer() {
    OpsSources sources{.state = [this] { return server.rpc->state(); },
                       .rpc = &server.metrics,
                       .stats = [this] { return server.shard->GetStats(""); },
                       .sub_pushes = [] { return SubPushCounts(); },
                       .shard_map =
                           [this] {
                             v1::ShardMap map;
                             server.shard->map().ToProto(&map);
                             return map;
                           },
                       .alive = [this] { return alive; },
                       .accepting = [this] { return accepting; },
                       .connections = [this] { return server.rpc->connections(); }};
    http = *HttpServer::Start("127.0.0.1:0", OpsPages(std::move(sources)));
  }
  std::string Get(const std::string& path) { return Fetch(http->address(), "GET " + path); }
};

TEST(OpsPages, TellWhetherTheShardIsReadyAndAlive) {
  PagesOfServer pages;
  for (const char* path : {"/healthz", "/readyz", "/livez", "/version"}) {
    EXPECT_EQ(pages.Get(path).rfind("HTTP/1.1 200 ", 0), 0u) << path;
  }
  pages.accepting = false;
  EXPECT_EQ(pages.Get("/readyz").rfind("HTTP/1.1 503 ", 0), 0u);
  EXPECT_NE(pages.Get("/healthz").find("no connection can be accepted"), std::string::npos);
  EXPECT_EQ(pages.Get("/livez").rfind("HTTP/1.1 200 ", 0), 0u);
  pages.accepting = true;
  EXPECT_EQ(pages.Get("/readyz").rfind("HTTP/1.1 200 ", 0), 0u);
  pages.server.rpc->StopServing();
  EXPECT_EQ(pages.Get("/readyz").rfind("HTTP/1.1 503 ", 0), 0u);
  EXPECT_EQ(pages.Get("/livez").rfind("HTTP/1.1 200 ", 0), 0u);
  pages.alive = false;
  EXPECT_EQ(pages.Get("/livez").rfind("HTTP/1.1 503 ", 0), 0u);
}

TEST(OpsPages, ShowWhatClientsDid) {
  PagesOfServer pages;
  TestClient client = pages.server.Client();
  const uint32_t table = client.CreateTable("shown", 4);
  client.Pull(table, {1, 2, 3});
  const std::string metrics = pages.Get("/metrics");
  EXPECT_NE(metrics.find("hotrow_rpc_requests_total{method=\"Pull\",code=\"OK\"} 1\n"),
            std::string::npos);
  EXPECT_NE(metrics.find("hotrow_rows_pulled_total{table=\"shown\",tier=\"new\"} 3\n"),
            std::string::npos);
  EXPECT_NE(metrics.find("version=0.0.4"), std::string::npos);
  const std::string status = pages.Get("/status");
  EXPECT_NE(status.find("\"name\": \"shown\""), std::string::npos);
  EXPECT_NE(status.find("\"state\": \"serving\""), std::string::npos);
}

TEST(OpsPages, OtherPathsAndMethodsAreRefused) {
  PagesOfServer pages;
  EXPECT_EQ(pages.Get("/etc/passwd").rfind("HTTP/1.1 404 ", 0), 0u);
  EXPECT_EQ(Fetch(pages.http->address(), "POST /metrics").rfind("HTTP/1.1 405 ", 0), 0u);
}

TEST(OpsPages, AnAddressInUseIsNamed) {
  PagesOfServer pages;
  const auto second = HttpServer::Start(pages.http->address(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(pages.http->address()), std::string::npos);
}

}  // namespace
}  // namespace hotrow::testing
