// Gives up a waiting call from outside, such as by Ctrl-C in a program that embeds the client.
//
//   hotrow::InterruptScope scope(&StopWasAskedFor);
//   table.Pull(keys, rows);  // DeadlineExceeded soon after StopWasAskedFor() says true
//
// Thread safety: a scope belongs to the thread that made it and covers the calls of that thread
// alone. Scopes nest; the innermost counts.

#pragma once

#include <chrono>
#include <functional>

namespace hotrow {

class InterruptScope {
 public:
  // How often the question is asked: soon for a person, seldom for a processor.
  static constexpr std::chrono::milliseconds kLookEvery{100};

  // While the scope lives, a call that waits asks `interrupted` every kLookEvery, holding no
  // lock, until it has said true. Then the call ends as if its deadline had passed: a pull is
  // dropped, a push that was numbered stays pending. Not asked: a call that waits for room under
  // max_in_flight_bytes.
  explicit InterruptScope(std::function<bool()> interrupted);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Asks the innermost scope of this thread; false without one. For the client itself.
  static bool AskInnermost();

 private:
  const std::function<bool()> interrupted_;
  InterruptScope* const outer_;  // the scope around this one
  bool said_true_ = false;
};

}  // namespace hotrow
