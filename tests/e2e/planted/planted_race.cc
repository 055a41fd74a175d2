// Breaks the row store's rule of a single writer: two threads write the score of one slot. A build
// under ThreadSanitizer that does not report it could report nothing.

#include <array>
#include <cstdlib>
#include <thread>

#include "kernels/row_store/row_store.h"

int main() {
  using namespace hotrow;  // NOLINT
  MemoryBudget budget(int64_t{64} << 20);
  auto created_store = RowStore::Create({.layout = RowLayout::Of(4, 0)}, budget);
  if (!created_store.ok()) return EXIT_FAILURE;
  RowStore& store = **created_store;
  const std::array<Key, 1> key = {7};
  std::array<Slot, 1> slot{};
  std::array<uint8_t, 1> created{};
  store.FindOrClaim(key, slot, created, nullptr);
  const auto write = [&](uint32_t score) {
    for (int i = 0; i < 1000; ++i) store.SetScores(slot, score);
  };
  std::thread first(write, 1U);
  std::thread second(write, 2U);
  first.join();
  second.join();
  return EXIT_SUCCESS;
}
