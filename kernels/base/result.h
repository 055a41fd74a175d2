// Error results of kernels/, which knows no third-party library: a code and a static sentence.
//
// Thread safety: values. Ownership: messages are string literals.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/base/check.h"

namespace hotrow {

// Codes carry the numbers of gRPC's, so that upper layers convert them with a cast.
enum class Code : uint8_t {
  kOk = 0,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kInternal = 13,
  kUnavailable = 14,  // the system refuses what the budget allows
};

// Success, or a code and the sentence that says why.
class [[nodiscard]] Result {
 public:
  constexpr Result() = default;  // success
  constexpr Result(Code code, const char* message) : code_(code), message_(message) {}

  // message() is "" on success and a string literal otherwise.
  constexpr bool ok() const { return code_ == Code::kOk; }
  constexpr Code code() const { return code_; }
  constexpr const char* message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  const char* message_ = "";
};

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] ResultOr {
 public:
  ResultOr(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  ResultOr(Result result) : result_(result) {
    HOTROW_CHECK(!result_.ok());
  }  // NOLINT: implicit by design

  // The operators need ok(): without a value they end the process.
  bool ok() const { return value_.has_value(); }
  const Result& result() const { return result_; }
  T& operator*() & { return Get(); }
  T&& operator*() && { return std::move(Get()); }
  T* operator->() { return &Get(); }

 private:
  T& Get() {
    HOTROW_CHECK(value_.has_value());
    return *value_;
  }
  std::optional<T> value_;
  Result result_;
};

}  // namespace hotrow
