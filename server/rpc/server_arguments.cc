#include "server/rpc/server_arguments.h"

#include <grpcpp/resource_quota.h>

#include "proto/wire/batch_codec.h"

namespace hotrow {
namespace {

// A message a little over the limit is read and answered with an error that says so; one far over
// it ends the stream.
constexpr int kMessageSlackBytes = 64 << 10;
constexpr int kMaxMetadataBytes = 8 << 10;
constexpr int kMaxStreamsPerConnection = 256;
constexpr int kHandshakeTimeoutMs = 10'000;

constexpr int kLookaheadBytes = 8 << 20;
constexpr int kFrameBytes = 4 << 20;
constexpr int kWriteBufferBytes = 4 << 20;
constexpr int kReadChunkBytes = 256 << 10;
constexpr int kMaxReadChunkBytes = 4 << 20;

// Clients ping idle connections, once a second at most; a server that counts pings as abuse would
// cut them.
constexpr int kMinPingIntervalMs = 500;
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;

void SetLimits(int64_t memory_bytes, grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("hotrow");
  quota.Resize(static_cast<size_t>(memory_bytes));
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(static_cast<int>(wire::kMaxMessageBytes) + kMessageSlackBytes);
  builder.SetMaxSendMessageSize(static_cast<int>(wire::kMaxMessageBytes) + kMessageSlackBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  // A small gzip message may unpack to gigabytes, which no size limit of gRPC sees.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
}

void SetTransport(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  // Two servers on one port would share its clients at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

void ApplyServerArguments(int64_t memory_bytes, grpc::ServerBuilder& builder) {
  SetLimits(memory_bytes, builder);
  SetTransport(builder);
}

}  // namespace hotrow
