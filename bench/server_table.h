// A table on running servers, for the benchmarks that measure a client: connected, made, filled.
//
// Thread safety: one thread. Errors: any one ends the program with what it says.

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/client.h"
#include "hotrow/pulled_batch.h"

namespace hotrow::bench {

template <typename T>
T OrExit(absl::StatusOr<T> result, const std::string& what) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::string(result.status().message()).c_str());
  std::exit(1);
}

// addresses: HOST:PORT, separated by commas. `dial`: where to find the first of them, if elsewhere.
inline std::shared_ptr<Client> ConnectTo(const std::string& addresses,
                                         const std::string& dial = "") {
  ConnectOptions options;
  std::istringstream in(addresses);
  for (std::string address; std::getline(in, address, ',');) options.addresses.push_back(address);
  if (!dial.empty()) options.address_map[options.addresses.front()] = dial;
  return OrExit(Client::Connect(options), addresses);
}

// The value after --name, or nothing.
inline std::string Argument(int argc, char** argv, const std::string& name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == "--" + name) return argv[i + 1];
  }
  return "";
}

// A table of `dim` columns that stores the keys 0 .. rows-1.
inline Table FilledTable(Client& client, const std::string& name, int64_t dim, int64_t rows) {
  constexpr int64_t kPart = 65536;
  TableSchema schema;
  schema.name = name;
  schema.dim = dim;
  schema.optimizer = Sgd{};
  const Table table = OrExit(client.CreateTable(schema, /*exist_ok=*/true), name);
  for (int64_t begin = 0; begin < rows; begin += kPart) {
    std::vector<Key> keys(static_cast<size_t>(std::min(kPart, rows - begin)));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<Key>(begin) + i;
    const std::vector<float> values(keys.size() * static_cast<size_t>(dim), 1.0F);
    OrExit(table.Upsert(keys, values), name);
  }
  return table;
}

}  // namespace hotrow::bench
