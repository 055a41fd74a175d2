// Sums over the occurrences of each target, by the order rule of block_sums.h, where all
// occurrences are known at once: the bodies of a device.
//
// The occurrences are sorted by target, in request order within one. Blocks of kSumBlock are summed
// beside each other, so a target that has a tenth of the batch keeps no tile waiting; then each
// target adds up its blocks in order.
//
//   number the occurrences, sort (target, number)   ->  order
//   find where each target begins and ends          ->  begins, ends
//   count the blocks after the first, sum up        ->  later blocks stand in one row
//   sum first blocks | sum later blocks | add       ->  sums
//
// Thread safety: items of one stage run beside each other. Ownership: nothing.
// Bounds: at most LaterBlocks(n) blocks stand beside their targets' sums.

#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/base/float_row.h"
#include "kernels/base/host_device.h"
#include "kernels/dedupe/block_sums.h"
#include "kernels/space/lane_chunks.h"

namespace hotrow {

// Blocks after the first of their targets, among n occurrences.
constexpr int64_t LaterBlocks(int64_t n) { return n / kSumBlock; }

// A stage that gives item i the value i.
struct NumberStage {
  static constexpr const char* kName = "number";
  int32_t* numbers;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t i) const {
    tile.Leader(0, [&] {
      numbers[i] = static_cast<int32_t>(i);
      return 0;
    });
  }
};

// The occurrences of target t are order[begins[t]] .. order[ends[t] - 1].
struct SegmentView {
  const int32_t* order = nullptr;  // (n)
  int32_t* begins = nullptr;       // (targets)
  int32_t* ends = nullptr;         // (targets)
};

// Finds the segments of sorted targets; begins and ends are zero before. Targets from `targets` on
// (skipped occurrences) have none.
struct FindSegmentsStage {
  static constexpr const char* kName = "find_segments";
  const uint32_t* sorted;  // (n)
  int64_t n;
  int64_t targets;
  SegmentView segments;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t j) const {
    tile.Leader(0, [&] {
      const uint32_t target = sorted[j];
      if (target >= static_cast<uint64_t>(targets)) return 0;
      if (j == 0 || sorted[j - 1] != target) segments.begins[target] = static_cast<int32_t>(j);
      if (j == n - 1 || sorted[j + 1] != target) {
        segments.ends[target] = static_cast<int32_t>(j + 1);
      }
      return 0;
    });
  }
};

// All later blocks of a batch in one row, target by target. Almost every target has none: a block
// beside each sum would double the memory for the few that a skewed batch asks for all the time.
struct LaterBlocksView {
  int32_t* counts = nullptr;   // (targets) later blocks of each
  int32_t* begins = nullptr;   // (targets) the sums of counts before each
  int32_t* targets = nullptr;  // (LaterBlocks(n))
  float* sums = nullptr;       // (LaterBlocks(n), dim)
};

// After FindSegmentsStage, before the sums of counts.
struct CountLaterBlocksStage {
  static constexpr const char* kName = "count_later_blocks";
  SegmentView segments;
  LaterBlocksView later;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t t) const {
    tile.Leader(0, [&] {
      const int32_t size = segments.ends[t] - segments.begins[t];
      later.counts[t] = size == 0 ? 0 : (size - 1) / static_cast<int32_t>(kSumBlock);
      return 0;
    });
  }
};

// Occurrences of one block, as places in the sorted order.
struct SumRange {
  int64_t begin;
  int64_t end;
};

// Sum of one block: addend(occurrence, column) in order of the occurrences. `Addend` has the `dim`
// of the rows.
template <typename Tile, typename Addend>
HOTROW_HOST_DEVICE void SumBlock(const Tile& tile, const int32_t* order, const SumRange& block,
                                 const Addend& addend, float* out) {
  ForEachLaneChunk(tile, addend.dim, [&](const auto& chunk) {
    constexpr int kWidth = std::decay_t<decltype(chunk)>::kWidth;
    constexpr int kStride = std::decay_t<decltype(chunk)>::kStride;
    float sum[kWidth] = {};
    for (int64_t j = block.begin; j < block.end; ++j) {
      for (int c = 0; c < kWidth; ++c) {
        const float value = addend(order[j], chunk.column + c * kStride);
        sum[c] = j == block.begin ? value : sum[c] + value;
      }
    }
    for (int c = 0; c < kWidth; ++c) out[chunk.column + c * kStride] = sum[c];
  });
}

// The first block of target t, and whose the later ones are.
template <typename Addend>
struct SumFirstBlockStage {
  static constexpr const char* kName = "sum_first_block";
  SegmentView segments;
  LaterBlocksView later;
  Addend addend;
  float* sums;  // (targets, dim)

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t t) const {
    const int64_t begin = segments.begins[t];
    const int64_t end = segments.ends[t];
    const int64_t block_end = end - begin < kSumBlock ? end : begin + kSumBlock;
    SumBlock(tile, segments.order, {begin, block_end}, addend, sums + t * addend.dim);
    tile.ForEach(later.counts[t],
                 [&](int64_t k) { later.targets[later.begins[t] + k] = static_cast<int32_t>(t); });
  }
};

// Later block q, of those that there are: the grid is for as many as there can be, and only the
// device knows the number.
template <typename Addend>
struct SumLaterBlockStage {
  static constexpr const char* kName = "sum_later_block";
  SegmentView segments;
  LaterBlocksView later;
  Addend addend;
  int64_t targets;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t q) const {
    if (q >= int64_t{later.begins[targets - 1]} + later.counts[targets - 1]) return;
    const int32_t t = later.targets[q];
    const int64_t begin = segments.begins[t] + (q - later.begins[t] + 1) * kSumBlock;
    const int64_t end = begin + kSumBlock < segments.ends[t] ? begin + kSumBlock : segments.ends[t];
    SumBlock(tile, segments.order, {begin, end}, addend, later.sums + q * addend.dim);
  }
};

// Where the sums go.
struct SumOutput {
  float* sums = nullptr;         // (targets, dim)
  const float* scale = nullptr;  // (targets) factors, or null
};

// Adds the later blocks of target t to its sum, then scales it.
struct AddBlocksStage {
  static constexpr const char* kName = "add_blocks";
  LaterBlocksView later;
  int64_t dim;
  SumOutput to;

  template <typename Tile>
  HOTROW_HOST_DEVICE void operator()(const Tile& tile, int64_t t) const {
    const int32_t blocks = later.counts[t];
    if (blocks == 0 && to.scale == nullptr) return;
    const float* const first = later.sums + later.begins[t] * dim;
    tile.ForEach(dim, [&](int64_t c) {
      float sum = to.sums[t * dim + c];
      for (int32_t k = 0; k < blocks; ++k) sum += first[k * dim + c];
      to.sums[t * dim + c] = to.scale == nullptr ? sum : sum * to.scale[t];
    });
  }
};

// An addend is a functor of the occurrence and the column, with the rows' dim: each kind of sum has
// its own, and the order of the addends is here alone.
//
// The rows of a push as addends: weights[i] x rows[source[i]].
struct RowAddend {
  int64_t dim;
  const ConstRowPointer* rows;
  const int32_t* source;  // (n) or null: occurrence i has row i
  const float* weights;   // (n) or null

  HOTROW_HOST_DEVICE float operator()(int64_t occurrence, int64_t column) const {
    const int64_t row = source == nullptr ? occurrence : source[occurrence];
    const float value = rows[row][column].value;
    return weights == nullptr ? value : weights[occurrence] * value;
  }
};

}  // namespace hotrow
