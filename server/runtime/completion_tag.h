// CompletionTag: what a gRPC completion queue carries back when an operation has ended.
//
// Thread safety: Arm() and Complete() alternate; at most one operation of a tag is outstanding.
// Ownership: from Arm() until its event has been handled a tag keeps its owner alive, so a call
// object lives as long as any of its operations. ThreadSanitizer sees no happens-before through
// gRPC, which is not instrumented: Arm and Complete tell it.

#pragma once

#include <memory>
#include <utility>

#include "kernels/base/tsan.h"

namespace hotrow {

class CompletionTag {
 public:
  CompletionTag() = default;
  virtual ~CompletionTag() = default;
  CompletionTag(const CompletionTag&) = delete;
  CompletionTag& operator=(const CompletionTag&) = delete;

  // The pointer to give to gRPC with the operation that starts now.
  void* Arm(std::shared_ptr<void> owner) {
    owner_ = std::move(owner);
    HOTROW_TSAN_RELEASE(this);
    return this;
  }
  // Takes back an Arm() whose event will never come.
  void Disarm() { owner_.reset(); }
  // Handles the event. The owner may be gone when this returns.
  void Complete(bool ok) {
    HOTROW_TSAN_ACQUIRE(this);
    const std::shared_ptr<void> owner = std::move(owner_);
    OnComplete(ok);
  }

 private:
  virtual void OnComplete(bool ok) = 0;

  std::shared_ptr<void> owner_;  // keeps the call alive while the operation is outstanding
};

// A tag that calls a member function of the object that it is part of.
template <typename Owner>
class MemberTag final : public CompletionTag {
 public:
  using Handler = void (Owner::*)(bool ok);
  MemberTag(Owner* owner, Handler handler) : owner_(owner), handler_(handler) {}

 private:
  void OnComplete(bool ok) override { (owner_->*handler_)(ok); }

  Owner* const owner_;
  const Handler handler_;
};

}  // namespace hotrow
