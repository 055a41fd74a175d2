#include <grpc/slice.h>

#include <utility>

#include "proto/wire/buffer_pool.h"
#include "proto/wire/payload.h"

namespace hotrow::wire {
namespace {

void GiveBack(void* buffer, size_t size) {
  BufferPool::Process().GiveBack(static_cast<std::byte*>(buffer), size);
}

}  // namespace

PayloadBuffer::PayloadBuffer(size_t size) : data_(BufferPool::Process().Take(size)), size_(size) {
  slice_ = grpc::Slice(grpc_slice_new_with_len(data_, size, GiveBack), grpc::Slice::STEAL_REF);
}

grpc::Slice PayloadBuffer::Release() && {
  data_ = nullptr;
  size_ = 0;
  return std::move(slice_);
}

}  // namespace hotrow::wire
