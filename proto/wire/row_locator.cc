#include <algorithm>
#include <cstring>

#include "kernels/base/check.h"
#include "proto/wire/payload.h"

namespace hotrow::wire {
namespace {

using Piece = std::span<const std::byte>;

// A position within a payload's pieces.
class Cursor {
 public:
  Cursor(std::span<const Piece> pieces, size_t offset) : pieces_(pieces) {
    while (!pieces_.empty() && offset >= pieces_.front().size()) {
      offset -= pieces_.front().size();
      pieces_ = pieces_.subspan(1);
    }
    if (!pieces_.empty()) rest_ = pieces_.front().subspan(offset);
  }

  // Bytes up to the end of the current piece.
  Piece rest() const { return rest_; }
  // Boundaries that the next `size` bytes can meet, at most.
  size_t boundaries() const { return pieces_.size() - 1; }

  void Skip(size_t size) {
    rest_ = rest_.subspan(size);
    if (rest_.empty()) NextPiece();
  }
  void Copy(size_t size, std::byte* out) {
    while (size > 0) {
      const size_t part = std::min(size, rest_.size());
      std::memcpy(out, rest_.data(), part);
      out += part;
      size -= part;
      Skip(part);
    }
  }

 private:
  void NextPiece() {
    pieces_ = pieces_.subspan(1);
    rest_ = pieces_.empty() ? Piece() : pieces_.front();
  }

  std::span<const Piece> pieces_;
  Piece rest_;
};

}  // namespace

void RowLocator::Append(const Payload& payload, size_t offset, int64_t count, int64_t dim) {
  HOTROW_CHECK(count >= 0 && dim > 0);
  const size_t row_bytes = static_cast<size_t>(dim) * sizeof(float);
  const auto rows = static_cast<size_t>(count);
  HOTROW_CHECK(offset <= payload.size() && rows <= (payload.size() - offset) / row_bytes);
  rows_.reserve(rows_.size() + rows);
  Cursor cursor(payload.pieces(), offset);
  std::byte* copy = nullptr;
  for (size_t left = rows; left > 0; --left) {
    if (cursor.rest().size() >= row_bytes) {
      rows_.push_back(AsRow(cursor.rest().data()));
      cursor.Skip(row_bytes);
      continue;
    }
    if (copy == nullptr) {
      // Room for all rows that can still straddle: never more than the rows that are left.
      const size_t straddling = std::min(left, cursor.boundaries());
      copies_.push_back(std::make_unique_for_overwrite<std::byte[]>(straddling * row_bytes));
      copy = copies_.back().get();
    }
    cursor.Copy(row_bytes, copy);
    rows_.push_back(AsRow(copy));
    copy += row_bytes;
    ++copied_rows_;
  }
}

void RowLocator::Clear() {
  rows_.clear();
  copies_.clear();
  copied_rows_ = 0;
}

}  // namespace hotrow::wire
