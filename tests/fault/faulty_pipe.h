// One direction of a stream of messages that a bad network carries: some messages are dropped, some
// come twice, some come after later ones.
//
// Thread safety: one thread; the counts may be read by others. Ownership: owns what waits in it;
// the random numbers and the counts are the caller's. Bounds: holds what was put in and not yet
// taken out; a message is held behind at most kMostBehind later ones.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace hotrow::testing {

// Shares of all messages, each 0 .. 1, their sum at most 1.
struct FaultRates {
  double drop = 0.0;
  double duplicate = 0.0;
  double reorder = 0.0;
};

// What was done. A held message counts as reordered once a later one has overtaken it.
struct FaultCounts {
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> dropped = 0;
  std::atomic<int64_t> duplicated = 0;
  std::atomic<int64_t> reordered = 0;
};

template <typename Message>
class FaultyPipe {
 public:
  static constexpr int kMostBehind = 3;

  FaultyPipe(const FaultRates& rates, std::mt19937_64& random, FaultCounts& counts)
      : rates_(rates), random_(random), counts_(counts) {}

  void Put(const Message& message) {
    ++counts_.messages;
    double lot = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
    if (lot < rates_.drop) {
      ++counts_.dropped;
      lost_ = true;
      return;
    }
    lot -= rates_.drop;
    if (lot < rates_.duplicate) {
      ++counts_.duplicated;
      Pass(message);
      // The second copy at once, or late.
      const int behind = Behind(0);
      if (behind == 0) {
        ready_.push_back(message);
      } else {
        held_.push_back({message, behind, Why::kCopy});
      }
      return;
    }
    lot -= rates_.duplicate;
    if (lot < rates_.reorder) {
      held_.push_back({message, Behind(1), Why::kReordered});
      return;
    }
    Pass(message);
  }

  // What may go out next.
  std::optional<Message> Take() {
    if (ready_.empty()) return std::nullopt;
    Message message = std::move(ready_.front());
    ready_.pop_front();
    return message;
  }

  // Whether something waits for later messages, and the end of that.
  bool holding() const { return !held_.empty(); }
  void ReleaseHeld() {
    for (Held& held : held_) Release(held);
    held_.clear();
  }

  // Whether a message was dropped, ever.
  bool lost() const { return lost_; }

 private:
  enum class Why : uint8_t { kReordered, kCopy };
  struct Held {
    Message message;
    int behind = 0;  // later messages that still go first
    Why why = Why::kReordered;
    bool overtaken = false;
  };

  int Behind(int least) { return std::uniform_int_distribution<int>(least, kMostBehind)(random_); }

  void Pass(const Message& message) {
    ready_.push_back(message);
    for (Held& held : held_) {
      held.overtaken = true;
      --held.behind;
    }
    for (Held& held : held_) {
      if (held.behind == 0) Release(held);
    }
    std::erase_if(held_, [](const Held& held) { return held.behind == 0; });
  }

  void Release(Held& held) {
    if (held.why == Why::kReordered && held.overtaken) ++counts_.reordered;
    ready_.push_back(held.message);
  }

  const FaultRates rates_;
  std::mt19937_64& random_;
  FaultCounts& counts_;
  bool lost_ = false;
  std::deque<Message> ready_;
  std::vector<Held> held_;
};

}  // namespace hotrow::testing
