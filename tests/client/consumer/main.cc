// A program outside the tree that uses the installed client.

#include <cstdio>

#include "hotrow/client.h"
#include "hotrow/errors.h"
#include "hotrow/pulled_batch.h"

// Nothing listens on port 1: the right answer is a typed error in time.
int main() {
  const auto client = hotrow::Client::Connect(
      {.addresses = {"127.0.0.1:1"}, .timeout = std::chrono::milliseconds(200)});
  const hotrow::ErrorDetails error = hotrow::DescribeError(client.status());
  std::printf("%s\n", error.message.c_str());
  return error.kind == hotrow::ErrorKind::kUnavailable ? 0 : 1;
}
