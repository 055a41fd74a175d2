#include "server/ops/address.h"

#include <arpa/inet.h>

#include <charconv>

namespace hotrow {

bool Address::IsLoopback() const {
  if (host == "localhost" || host == "::1") return true;
  in_addr ip{};
  return inet_pton(AF_INET, host.c_str(), &ip) == 1 && (ntohl(ip.s_addr) >> 24) == 127;
}

std::string Address::ToString() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  const absl::Status malformed = absl::InvalidArgumentError(
      "'" + text + "' is not HOST:PORT; write for example 127.0.0.1:7070");
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return malformed;
  Address address;
  address.host = text.substr(0, colon);
  if (address.host.front() == '[') {
    if (address.host.size() < 3 || address.host.back() != ']') return malformed;
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return malformed;  // an IPv6 address needs brackets
  }
  if (address.host.find_first_of(" \t/,") != std::string::npos) return malformed;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || rest != end) return malformed;
  return address;
}

}  // namespace hotrow
