// Runs rounds on command, so that bench/harness.py can interleave a program with its peers: the
// protocol of bench/peers/worker.py.
//
//   in    OPERATION CALLS            one line a round
//   out   ready                      once, when the program has set itself up
//         {"wall": s, "cpu": s}      time that the calls took, and the processor time of the
//         process null                       the operation is not offered
//
// Thread safety: one loop a process.

#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>

#include "bench/timing.h"
#include "bench/workload.h"

namespace hotrow::bench {

// --rows=N --dim=N --batch=N --seed=N --keys=NAME, as bench/workload.py has them; other arguments
// are left to the program.
struct Shape {
  int64_t rows = 1'000'000;
  int64_t dim = 64;
  int64_t batch = 8192;
  uint64_t seed = 1;
  std::string keys = "uniform";

  static Shape Of(int argc, char** argv) {
    Shape shape;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const auto value = [&](const std::string& name) {
        return argument.rfind(name, 0) == 0 ? argv[i] + name.size() : nullptr;
      };
      if (const char* text = value("--rows=")) shape.rows = std::atoll(text);
      if (const char* text = value("--dim=")) shape.dim = std::atoll(text);
      if (const char* text = value("--batch=")) shape.batch = std::atoll(text);
      if (const char* text = value("--seed=")) shape.seed = std::strtoull(text, nullptr, 10);
      if (const char* text = value("--keys=")) shape.keys = text;
    }
    return shape;
  }
};

// One call of an operation, on the next batch each time.
using Call = std::function<void()>;

// Calls before a round's clock starts: the peers had their turn, and caches are theirs.
inline constexpr int kWarmCalls = 2;

// Serves rounds until standard input ends. `find` gives the call of an operation, null for one that
// is not offered.
inline int ServeRounds(const std::function<Call(const std::string&)>& find) {
  std::puts("ready");
  std::fflush(stdout);
  std::string operation;
  int calls = 0;
  while (std::cin >> operation >> calls) {
    const Call call = find(operation);
    if (call) {
      for (int i = 0; i < kWarmCalls; ++i) call();
      const double wall = WallSeconds();
      const double cpu = ProcessSeconds();
      for (int i = 0; i < calls; ++i) call();
      std::printf("{\"wall\": %.9f, \"cpu\": %.9f}\n", WallSeconds() - wall,
                  ProcessSeconds() - cpu);
    } else {
      std::puts("null");
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace hotrow::bench
