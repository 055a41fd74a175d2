// Gives up a waiting call from outside, such as by Ctrl-C in a program that embeds the client.
//
//   hotrow::InterruptScope scope(&StopWasAskedFor);
//   table.Pull(keys, rows);  // DeadlineExceeded soon after StopWasAskedFor() says true
//
// Thread safety: a scope belongs to the thread that made it and covers the calls of that thread
// alone. Scopes nest; the innermost counts.

#pragma once

namespace hotrow {

class InterruptScope {
 public:
  // While the scope lives, a call that waits asks `interrupted` about ten times a second, holding
  // no lock. Once it has said true, the call ends as if its deadline had passed: a pull is dropped,
  // a push that was numbered stays pending. Not asked: a call that waits for room under
  // max_in_flight_bytes, and one question of Connect to one address (3 seconds at most).
  explicit InterruptScope(bool (*interrupted)());
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool (*const outer_)();
};

}  // namespace hotrow
