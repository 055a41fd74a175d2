// A device that is host memory: it records what launch code asks of it and does it at once, kernels
// included. So launch code is tested, and so is all that runs on a device but the tile itself.

#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/space/device_stream.h"
#include "kernels/space/thread_team.h"

namespace hotrow::testing {

// What a stream was asked, in the order of all streams of a device.
struct DeviceCall {
  int stream = 0;
  std::string what;  // a stage's name, "copy", "zero", "wait", "finish", "sort", "scan"
  int64_t size = 0;  // blocks, bytes, items, or the number of the stream waited for

  bool operator==(const DeviceCall&) const = default;
};

struct DeviceRecord {
  std::vector<DeviceCall> calls;
  int64_t fail_at = -1;        // number of the call that is refused, or none
  ThreadTeam* team = nullptr;  // runs the kernels; null: the calling thread
  int64_t allocations = 0;     // held now
  int64_t allocation_limit = INT64_MAX;

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const DeviceCall& call : calls) names.push_back(call.what);
    return names;
  }
};

class RecordingStream : public DeviceStream {
 public:
  RecordingStream(DeviceRecord& record, int number) : record_(record), number_(number) {}

  Result Launch(const DeviceLaunch& launch) override {
    const Result noted = Note(launch.name, launch.blocks);
    if (!noted.ok()) return noted;
    if (launch.blocks < 1 || launch.threads < 1) {
      return {Code::kInternal, "an empty grid"};  // CUDA refuses it too
    }
    using Kernel = void (*)(void**);
    void* arguments[] = {launch.arguments[0], launch.arguments[1], record_.team};
    reinterpret_cast<Kernel>(const_cast<void*>(launch.kernel))(arguments);
    return {};
  }
  Result Copy(void* to, const void* from, int64_t bytes) override {
    const Result noted = Note("copy", bytes);
    if (noted.ok() && bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
    return noted;
  }
  Result Zero(void* to, int64_t bytes) override {
    const Result noted = Note("zero", bytes);
    if (noted.ok() && bytes > 0) std::memset(to, 0, static_cast<size_t>(bytes));
    return noted;
  }
  Result WaitFor(DeviceStream& earlier) override {
    return Note("wait", static_cast<RecordingStream&>(earlier).number_);
  }
  Result FinishSync() override { return Note("finish", 0); }
  void* handle() const override { return nullptr; }

  Result Note(const std::string& what, int64_t size) {
    const bool fails = static_cast<int64_t>(record_.calls.size()) == record_.fail_at;
    record_.calls.push_back({number_, what, size});
    return fails ? Result(Code::kInternal, "refused") : Result();
  }

 private:
  DeviceRecord& record_;
  const int number_;
};

class RecordingDevice : public DeviceRuntime {
 public:
  explicit RecordingDevice(DeviceRecord& record) : record_(record) {}

  ResultOr<std::unique_ptr<DeviceStream>> OpenStream() override {
    return std::unique_ptr<DeviceStream>(new RecordingStream(record_, streams_++));
  }
  ResultOr<void*> AllocateSync(int64_t bytes) override {
    if (bytes > record_.allocation_limit) return Result(Code::kResourceExhausted, "no memory left");
    ++record_.allocations;
    return std::aligned_alloc(256, static_cast<size_t>((bytes + 255) / 256 * 256));
  }
  void FreeSync(void* memory) override {
    --record_.allocations;
    std::free(memory);
  }

 private:
  DeviceRecord& record_;
  int streams_ = 0;
};

}  // namespace hotrow::testing
