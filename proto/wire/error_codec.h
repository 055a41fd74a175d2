// hotrow.v1.Error inside data messages.
//
// Thread safety: pure functions.

#pragma once

#include "proto/wire/batch_codec.h"
#include "proto/wire/proto_reader.h"
#include "proto/wire/proto_writer.h"

namespace hotrow::wire {

inline constexpr size_t kMaxErrorTextBytes = 1024;  // of message, hint and table, each

// Writes the error as sub-message `field`, nothing when it is ok. Texts are cut to `text_limit`
// bytes.
void WriteError(const ErrorInfo& error, uint32_t field, size_t text_limit, ProtoWriter& writer);

// Reads the fields of one Error into `error`. An error without a kind, or with a kind that this
// version does not know, becomes kInternal: it must not pass for success.
void ReadError(ProtoReader& reader, ErrorInfo* error);

}  // namespace hotrow::wire
