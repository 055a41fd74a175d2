#include "proto/wire/payload.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/check.h"
#include "proto/wire/xxh3_stream.h"

namespace hotrow::wire {
namespace {

// A payload in more pieces than this, and smaller ones than that, is laid together.
constexpr size_t kManyPieces = 64;
constexpr size_t kSmallPieceBytes = 1024;

std::span<const std::byte> BytesOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const std::byte*>(slice.begin()), slice.size()};
}

// Whether the bytes lie inside the slice object itself and would move with it.
bool IsInlined(const grpc::Slice& slice) {
  const auto* object = reinterpret_cast<const uint8_t*>(&slice);
  return std::less_equal<>()(object, slice.begin()) &&
         std::less<>()(slice.begin(), object + sizeof(slice));
}

grpc::Slice Flatten(std::span<const std::span<const std::byte>> pieces, size_t size) {
  PayloadBuffer flat(size);
  std::byte* to = flat.bytes().data();
  for (const std::span<const std::byte> piece : pieces) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return std::move(flat).Release();
}

}  // namespace

Payload::Payload(std::vector<grpc::Slice> slices, size_t offset, size_t size) : size_(size) {
  slices_.reserve(slices.size());
  pieces_.reserve(slices.size());
  size_t wanted = size;
  for (grpc::Slice& slice : slices) {
    const size_t skipped = std::min(offset, slice.size());
    offset -= skipped;
    const size_t part = std::min(wanted, slice.size() - skipped);
    wanted -= part;
    if (part == 0) continue;
    if (IsInlined(slice)) {
      const std::span<const std::byte> inlined = BytesOf(slice);
      slices_.push_back(Flatten({&inlined, 1}, inlined.size()));
    } else {
      slices_.push_back(std::move(slice));
    }
    pieces_.push_back(BytesOf(slices_.back()).subspan(skipped, part));
  }
  HOTROW_CHECK(wanted == 0);
  if (pieces_.size() > kManyPieces && size / pieces_.size() < kSmallPieceBytes) {
    slices_ = {Flatten(pieces_, size)};
    pieces_ = {BytesOf(slices_.back())};
  }
}

Payload Payload::Part(size_t offset, size_t size) const {
  HOTROW_CHECK(offset <= size_ && size <= size_ - offset);
  Payload part;
  part.size_ = size;
  for (size_t i = 0; size > 0; ++i) {
    const std::span<const std::byte> piece = pieces_[i];
    const size_t skipped = std::min(offset, piece.size());
    offset -= skipped;
    const size_t taken = std::min(size, piece.size() - skipped);
    size -= taken;
    if (taken == 0) continue;
    part.slices_.push_back(slices_[i]);
    part.pieces_.push_back(piece.subspan(skipped, taken));
  }
  return part;
}

void Payload::CopyTo(size_t offset, std::span<std::byte> out) const {
  HOTROW_CHECK(offset <= size_ && out.size() <= size_ - offset);
  for (size_t i = 0; !out.empty(); ++i) {
    const std::span<const std::byte> piece = pieces_[i];
    const size_t skipped = std::min(offset, piece.size());
    offset -= skipped;
    const size_t part = std::min(out.size(), piece.size() - skipped);
    if (part > 0) std::memcpy(out.data(), piece.data() + skipped, part);
    out = out.subspan(part);
  }
}

uint64_t Payload::Hash() const {
  if (pieces_.size() == 1) return Xxh3Of(pieces_[0]);
  Xxh3Stream stream;
  for (const std::span<const std::byte> piece : pieces_) stream.Add(piece);
  return stream.Digest();
}

}  // namespace hotrow::wire
