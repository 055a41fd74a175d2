// The errors that more than one kind of request can get, worded once.
//
// Thread safety: pure functions. No error names a key or a value of a row.

#pragma once

#include <string>

#include "proto/wire/batch_codec.h"
#include "proto/wire/shard_map.h"
#include "server/table/table_options.h"

namespace hotrow {

// The request was routed by another map than this shard's.
wire::ErrorInfo StaleMap(const wire::ShardMap& map);
// A key of `table` (or a sub-push) belongs to a partition of another shard.
wire::ErrorInfo NotOwned(const std::string& table);
// A sub-push was made for another life of this shard.
wire::ErrorInfo OtherLife();
wire::ErrorInfo KeyOutOfRange(const TableOptions& table);
wire::ErrorInfo DeadlinePassed();
wire::ErrorInfo ScanExpired();
wire::ErrorInfo QueueFull();
wire::ErrorInfo Draining();

}  // namespace hotrow
