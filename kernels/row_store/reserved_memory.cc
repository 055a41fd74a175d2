#include "kernels/row_store/reserved_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace hotrow {
namespace {

constexpr int64_t kAlignment = int64_t{2} << 20;  // of a huge page
constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1; an older one refuses it

}  // namespace

ReservedMemory::ReservedMemory(ReservedMemory&& other) noexcept { *this = std::move(other); }

ReservedMemory& ReservedMemory::operator=(ReservedMemory&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(data_, other.data_);
  std::swap(committed_bytes_, other.committed_bytes_);
  return *this;
}

ReservedMemory::~ReservedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(mapping_bytes_));
}

int64_t ReservedMemory::PageBytes() {
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  return page_bytes;
}

ResultOr<ReservedMemory> ReservedMemory::Reserve(int64_t bytes) {
  const int64_t mapping_bytes = bytes + kAlignment;
  void* const mapping = mmap(nullptr, static_cast<size_t>(mapping_bytes), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return Result(Code::kUnavailable, "no address space left for a row store");
  }
  ReservedMemory memory;
  memory.mapping_ = mapping;
  memory.mapping_bytes_ = mapping_bytes;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t aligned = (address + kAlignment - 1) / kAlignment * kAlignment;
  memory.data_ = static_cast<std::byte*>(mapping) + (aligned - address);
  // Random rows miss the TLB at every access otherwise; bench/row_store_bench measures it. A hint:
  // a kernel without huge pages is as correct.
  madvise(memory.data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return memory;
}

bool ReservedMemory::Commit(int64_t bytes) {
  HOTROW_CHECK(bytes >= 0 && bytes <= mapping_bytes_ - kAlignment && bytes % PageBytes() == 0);
  if (bytes > committed_bytes_) {
    const auto added = static_cast<size_t>(bytes - committed_bytes_);
    if (mprotect(data_ + committed_bytes_, added, PROT_READ | PROT_WRITE) != 0) return false;
    CollapseLastBlock(bytes);
  } else if (bytes < committed_bytes_) {
    // DONTNEED first: the pages are gone, and zero when committed again.
    const auto removed = static_cast<size_t>(committed_bytes_ - bytes);
    HOTROW_CHECK(madvise(data_ + bytes, removed, MADV_DONTNEED) == 0);
    mprotect(data_ + bytes, removed, PROT_NONE);
  }
  committed_bytes_ = bytes;
  return true;
}

// The block where the committed bytes ended was used page by page until now. Complete, it becomes
// one huge page: a store that grows in small steps had no other for its keys. A hint.
void ReservedMemory::CollapseLastBlock(int64_t bytes) const {
  const int64_t block = committed_bytes_ / kAlignment * kAlignment;
  if (block < committed_bytes_ && block + kAlignment <= bytes) {
    madvise(data_ + block, static_cast<size_t>(kAlignment), kCollapse);
  }
}

}  // namespace hotrow
