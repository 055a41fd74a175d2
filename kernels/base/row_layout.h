// Layout of a row record: weights, optimizer state and metadata in one piece, moved and saved as
// one piece.
//
//   offset 0                  state_offset              meta_offset         row_bytes
//     | weights: dim float32  | state: float32 columns  | pad | RowMeta     |
//
// Thread safety: values. Units: offsets and sizes in bytes. Records start at 16-byte boundaries.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/host_device.h"

namespace hotrow {

// Where copies of a row are; bits of RowMeta::flags.
inline constexpr uint32_t kRowDirty = 1;  // newer than what the cold tier has, or it has nothing
inline constexpr uint32_t kRowBelow =
    2;  // the cold tier has a version of it, or will: it is queued

struct RowMeta {
  uint64_t lsn = 0;         // of the last mutation applied to the row
  uint32_t step_count = 0;  // pushes applied to the row, saturating
  uint32_t flags = 0;
};
static_assert(sizeof(RowMeta) == 16);

struct RowLayout {
  int64_t dim = 0;
  int64_t state_columns = 0;
  int64_t meta_offset = 0;
  int64_t row_bytes = 0;

  static constexpr RowLayout Of(int64_t dim, int64_t state_columns) {
    const int64_t values = (dim + state_columns) * static_cast<int64_t>(sizeof(float));
    const int64_t meta = (values + 15) / 16 * 16;
    return {dim, state_columns, meta, meta + static_cast<int64_t>(sizeof(RowMeta))};
  }

  HOTROW_HOST_DEVICE float* weights(std::byte* record) const {
    return reinterpret_cast<float*>(record);
  }
  HOTROW_HOST_DEVICE float* state(std::byte* record) const { return weights(record) + dim; }
  HOTROW_HOST_DEVICE RowMeta* meta(std::byte* record) const {
    return reinterpret_cast<RowMeta*>(record + meta_offset);
  }
};

}  // namespace hotrow
