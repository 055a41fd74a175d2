#include "proto/wire/hashes.h"

#include <array>
#include <cstring>

#include "proto/wire/xxh3_stream.h"

namespace hotrow::wire {
namespace {

template <typename T>
void Put(T value, std::byte*& to) {
  std::memcpy(to, &value, sizeof(value));
  to += sizeof(value);
}

}  // namespace

uint64_t TableSalt(std::string_view table_name) {
  return XXH64(table_name.data(), table_name.size(), 0);
}

Key HashString(std::string_view feature, std::string_view value) {
  const auto feature_bytes = static_cast<uint32_t>(feature.size());
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, &feature_bytes, sizeof(feature_bytes));
  XXH64_update(&state, feature.data(), feature.size());
  XXH64_update(&state, value.data(), value.size());
  return XXH64_digest(&state);
}

uint64_t SessionId(std::span<const std::byte> client_uid, uint64_t restart_count) {
  const uint64_t session = XXH64(client_uid.data(), client_uid.size(), restart_count);
  return session == 0 ? 1 : session;
}

uint64_t PayloadHash(std::span<const std::byte> bytes) { return Xxh3Of(bytes); }

uint64_t ContentHash(const SubPush& sub_push, const Payload& part) {
  Xxh3Stream stream;
  std::array<std::byte, 24> buffer;
  std::byte* to = buffer.data();
  Put(static_cast<uint8_t>(sub_push.operation), to);
  Put(static_cast<uint32_t>(sub_push.tables.size()), to);
  stream.Add({buffer.data(), to});
  for (const SubPushTable& table : sub_push.tables) {
    to = buffer.data();
    Put(table.table_id, to);
    Put(table.key_count, to);
    Put(table.dim, to);
    Put(table.step, to);
    Put(table.learning_rate, to);
    stream.Add({buffer.data(), to});
  }
  for (const std::span<const std::byte> piece : part.pieces()) stream.Add(piece);
  return stream.Digest();
}

}  // namespace hotrow::wire
