#include "server/ops/http_server.h"

#include <civetweb.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <utility>

#include "server/ops/address.h"
#include "server/ops/listen_check.h"

namespace hotrow {
namespace {

constexpr std::chrono::milliseconds kKnockPeriod(10);

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

bool IsHead(const mg_request_info& request) {
  return std::strcmp(request.request_method, "HEAD") == 0;
}

enum class Body : uint8_t { kSent, kLeftOut };

void Send(mg_connection* connection, const HttpPage& page, Body body) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            page.code, ReasonOf(page.code), page.content_type.c_str(), page.body.size());
  if (body == Body::kSent) mg_write(connection, page.body.data(), page.body.size());
}

}  // namespace

struct HttpServer::Impl {
  Pages pages;
  std::string address;
  mg_context* context = nullptr;

  ~Impl();

  HttpPage PageFor(const mg_request_info& request) const {
    if (std::strcmp(request.request_method, "GET") != 0 && !IsHead(request)) {
      return {.code = 405, .body = "only GET and HEAD are served here\n"};
    }
    const auto page = pages.find(request.local_uri);
    if (page != pages.end()) return page->second();
    std::string known;
    for (const auto& [path, function] : pages) known += path + "\n";
    return {.code = 404, .body = "no such page; there are\n" + known};
  }

  static int OnRequest(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    Send(connection, static_cast<const Impl*>(request->user_data)->PageFor(*request),
         IsHead(*request) ? Body::kLeftOut : Body::kSent);
    return 1;  // handled
  }
};

HttpServer::Impl::~Impl() {
  if (context == nullptr) return;
  // The library looks for the end only when a client comes or two seconds have passed, so be that
  // client until it has ended.
  const std::future<void> stopped = std::async(std::launch::async, [this] { mg_stop(context); });
  const absl::StatusOr<Address> own = ParseAddress(address);
  do {
    if (!own.ok()) continue;
    char error[256];  // the library complains when it has to cut its reason
    mg_close_connection(mg_connect_client(own->host.c_str(), own->port, 0, error, sizeof(error)));
  } while (stopped.wait_for(kKnockPeriod) != std::future_status::ready);
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

const std::string& HttpServer::address() const { return impl_->address; }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Pages pages) {
  absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  // The library listens on numeric addresses only.
  Address numeric = *parsed;
  if (numeric.host == "localhost") numeric.host = "127.0.0.1";
  const std::string port = numeric.ToString();
  if (absl::Status free = CheckListen(port); !free.ok()) {
    return absl::UnavailableError("metrics: " + std::string(free.message()));
  }
  const std::string threads = std::to_string(kHttpThreads);
  const std::array<const char*, 9> options = {"listening_ports",
                                              port.c_str(),
                                              "num_threads",
                                              threads.c_str(),
                                              "request_timeout_ms",
                                              "1000",
                                              "enable_keep_alive",
                                              "no",
                                              nullptr};

  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  mg_callbacks callbacks{};
  callbacks.begin_request = &Impl::OnRequest;
  // Failures are told by the result; the library's own lines on stderr would not be JSON.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  impl->context = mg_start(&callbacks, impl.get(), const_cast<const char**>(options.data()));
  mg_server_port bound{};
  if (impl->context == nullptr || mg_get_server_ports(impl->context, 1, &bound) < 1) {
    return absl::UnavailableError("metrics: cannot listen on " + address);
  }
  parsed->port = static_cast<uint16_t>(bound.port);
  impl->address = parsed->ToString();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace hotrow
