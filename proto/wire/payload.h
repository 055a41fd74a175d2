// Payloads: the one `bytes` field of a data message, held as the reference-counted slices that gRPC
// received or will send. Nothing here copies a payload (one exception: see the constructor).
//
// Thread safety: a Payload is a value; its bytes are immutable once shared. Ownership: a Payload
// keeps its slices alive; every pointer and view taken from it is valid as long as it or a copy of
// it lives.

#pragma once

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/float_row.h"
#include "kernels/base/key.h"

namespace hotrow::wire {

class Payload {
 public:
  Payload() = default;
  // The bytes [offset, offset + size) of `slices` laid end to end. Slices so small that gRPC keeps
  // their bytes inside the slice object are copied, because their address would not last; a payload
  // that arrives in crumbs (many slices, under 1 KiB each on average) is laid together once, so
  // that a peer cannot make every later walk over the pieces expensive.
  Payload(std::vector<grpc::Slice> slices, size_t offset, size_t size);

  size_t size() const { return size_; }
  // A part of this payload that shares its slices. offset + size <= size().
  Payload Part(size_t offset, size_t size) const;
  // Contiguous pieces in order, together size() bytes.
  std::span<const std::span<const std::byte>> pieces() const { return pieces_; }

  // Copies bytes [offset, offset + out.size()) out; for keys and other small fields only.
  void CopyTo(size_t offset, std::span<std::byte> out) const;
  // XXH3-64 of the bytes.
  uint64_t Hash() const;

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<std::span<const std::byte>> pieces_;
  size_t size_ = 0;
};

// Addresses of fixed-size records within a payload. A record that lies across slices is copied to a
// side buffer (at most one per slice boundary); all others are addressed in place. Addresses stay
// valid over later calls of Append.
class RowLocator {
 public:
  // Appends the addresses of `count` rows of `dim` floats that start at byte `offset` to rows().
  // The payload must outlive the locator's use. offset + count * dim * 4 <= payload.size().
  void Append(const Payload& payload, size_t offset, int64_t count, int64_t dim);
  void Clear();

  std::span<const ConstRowPointer> rows() const { return rows_; }
  int64_t copied_rows() const { return copied_rows_; }

 private:
  std::vector<ConstRowPointer> rows_;
  // One block per Append that met a boundary: its straddling rows, end to end.
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  int64_t copied_rows_ = 0;
};

// Memory for a payload to be sent: filled once, then handed to gRPC without a copy. Not zeroed.
// Large buffers come from, and return to, a bounded pool of the process, whoever drops the last
// reference (see buffer_pool.h). Aligned to 64 bytes.
class PayloadBuffer {
 public:
  explicit PayloadBuffer(size_t size);
  PayloadBuffer(PayloadBuffer&&) = default;
  PayloadBuffer& operator=(PayloadBuffer&&) = default;

  std::span<std::byte> bytes() { return {data_, size_}; }
  // Gives the memory up. Call once.
  grpc::Slice Release() &&;

 private:
  grpc::Slice slice_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hotrow::wire
