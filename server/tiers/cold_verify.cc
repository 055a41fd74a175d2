// Reading all there is in a cold store, to see whether it is whole.

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include <memory>
#include <string_view>

#include "proto/wire/status_codec.h"
#include "server/tiers/cold_record.h"
#include "server/tiers/cold_store_impl.h"

namespace hotrow {
namespace {

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace

absl::Status ColdStore::Verify() const {
  // All blocks of all files, old versions of rows, indexes and filters included.
  const rocksdb::Status blocks = impl_->db->VerifyChecksum();
  if (!blocks.ok()) return FromRocksdb(blocks, impl_->options, "checking the cold tier");
  // A row can be wrong in a block that is right: written under another key, or damaged before.
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = size_t{1} << 20;
  const std::unique_ptr<rocksdb::Iterator> rows(impl_->db->NewIterator(options));
  const std::string end = MetaBegin();
  for (rows->SeekToFirst(); rows->Valid() && View(rows->key()) < end; rows->Next()) {
    if (IsIntact(View(rows->key()), View(rows->value()))) continue;
    impl_->damaged_rows.fetch_add(1, std::memory_order_relaxed);
    const uint32_t table = TableOfColdKey(View(rows->key()));
    return DamagedRow(impl_->options, {.id = table, .name = fmt::format("#{}", table)},
                      "its checksum does not match");
  }
  return FromRocksdb(rows->status(), impl_->options, "checking the cold tier");
}

}  // namespace hotrow
