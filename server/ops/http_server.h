// HttpServer: a few read-only pages for monitoring, on their own address.
//
// Thread safety: pages are made on the server's own threads, several at once; a page function must
// allow that. Ownership: owns its socket and threads; page functions are called until the
// destructor returns. Bounds: kHttpThreads requests at once; requests carry no body. Errors:
// Unavailable naming the address.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hotrow {

inline constexpr int kHttpThreads = 16;

struct HttpPage {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  using Pages = std::map<std::string, std::function<HttpPage()>>;  // by path

  // `address`: HOST:PORT, port 0 picks a free one.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, Pages pages);
  ~HttpServer();

  // HOST:PORT with the port in use.
  const std::string& address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
