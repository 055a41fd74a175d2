#include "server/ops/log_limit.h"

#include <algorithm>

namespace hotrow {

void LogLimit::Refill(Bucket& bucket, Time now) {
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  if (seconds > 0) bucket.tokens = std::min(kBurst, bucket.tokens + seconds * kLinesPerSecond);
  bucket.filled = now;
}

std::optional<AllowedLine> LogLimit::Take(const LogPlace& place, LogLine line, Time now) {
  const bool known = buckets_.contains(place);
  Bucket& bucket = buckets_[known || buckets_.size() < kMaxPlaces ? place : LogPlace{}];
  Refill(bucket, now);
  if (bucket.tokens < 1) {
    ++bucket.left_out;
    if (line.text.size() > kKeptBytes) line.text.resize(kKeptBytes);
    bucket.last = std::move(line);
    return std::nullopt;
  }
  bucket.tokens -= 1;
  return AllowedLine{std::move(line), std::exchange(bucket.left_out, 0)};
}

std::vector<AllowedLine> LogLimit::TakeLeftOut(Which which, Time now) {
  std::vector<AllowedLine> lines;
  for (auto& [place, bucket] : buckets_) {
    if (bucket.left_out == 0) continue;
    Refill(bucket, now);
    if (which == Which::kAllowed && bucket.tokens < 1) continue;
    bucket.tokens = std::max(0.0, bucket.tokens - 1);
    // The line itself is not left out any more.
    lines.push_back({std::move(bucket.last), std::exchange(bucket.left_out, 0) - 1});
  }
  return lines;
}

}  // namespace hotrow
