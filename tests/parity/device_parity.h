// A device against the host: the same batches, bit for bit. A test names a runtime; every array is
// copied there and back, so that it may be a device of any kind.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/dedupe/dedupe.h"
#include "kernels/dedupe/dedupe_launch.h"
#include "kernels/initializers/initializer_launch.h"
#include "kernels/optimizers/optimizer_launch.h"
#include "kernels/row_store/row_store_launch.h"
#include "kernels/space/device_buffer.h"
#include "tests/conformance/row_values.h"
#include "tests/kernels/math_helpers.h"

namespace hotrow::testing {

class DeviceParity {
 public:
  explicit DeviceParity(DeviceRuntime& runtime)
      : runtime_(runtime), stream_(*runtime.OpenStream()) {}

  void ExpectEqualOptimizers();
  void ExpectEqualInitialValues();
  void ExpectEqualDedupe();
  void ExpectRowsFoundAndCopied();

 private:
  // An array on the device, with what `values` holds.
  template <typename T>
  DeviceBuffer<T> Upload(const std::vector<T>& values) {
    DeviceBuffer<T> buffer =
        *DeviceBuffer<T>::CreateSync(runtime_, static_cast<int64_t>(values.size()));
    EXPECT_TRUE(stream_->Copy(buffer.data(), values.data(), buffer.bytes()).ok());
    EXPECT_TRUE(stream_->FinishSync().ok());
    return buffer;
  }
  template <typename T>
  DeviceBuffer<T> Zeros(int64_t size) {
    DeviceBuffer<T> buffer = *DeviceBuffer<T>::CreateSync(runtime_, size);
    EXPECT_TRUE(stream_->Zero(buffer.data(), buffer.bytes()).ok());
    return buffer;
  }
  template <typename T>
  std::vector<T> Download(const DeviceBuffer<T>& buffer) {
    std::vector<T> values(static_cast<size_t>(buffer.size()));
    EXPECT_TRUE(stream_->Copy(values.data(), buffer.data(), buffer.bytes()).ok());
    EXPECT_TRUE(stream_->FinishSync().ok());
    return values;
  }
  // Addresses of `rows` rows of `stride` bytes from `first` on.
  template <typename Pointer>
  static std::vector<Pointer> Rows(void* first, int64_t rows, int64_t stride) {
    std::vector<Pointer> pointers;
    for (int64_t r = 0; r < rows; ++r) {
      pointers.push_back(reinterpret_cast<Pointer>(static_cast<std::byte*>(first) + r * stride));
    }
    return pointers;
  }
  static std::vector<float> Mixed(int64_t rows, int64_t dim) {
    std::vector<float> values;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < dim; ++c) values.push_back(MixedValue(static_cast<Key>(r), c));
    }
    return values;
  }

  static constexpr int64_t kRows = 1000;

  DeviceRuntime& runtime_;
  const std::unique_ptr<DeviceStream> stream_;
};

inline void DeviceParity::ExpectEqualOptimizers() {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                   OptimizerKind::kRowwiseAdagrad, OptimizerKind::kAdam}) {
    for (const int64_t dim : {1, 33, 128}) {
      const OptimizerOptions options{.kind = kind, .eps = 1e-8F};
      const RowLayout layout = RowLayout::Of(dim, StateColumns(kind, dim));
      std::vector<float> host(static_cast<size_t>(kRows * layout.row_bytes / 4), 0.25F);
      std::vector<float> gradients = Mixed(kRows, dim);
      const DeviceBuffer<float> values = Upload(host);
      const DeviceBuffer<float> device_gradients = Upload(gradients);
      const auto records = Upload(Rows<std::byte*>(values.data(), kRows, layout.row_bytes));
      const auto rows = Upload(Rows<ConstRowPointer>(device_gradients.data(), kRows, dim * 4));
      const auto host_records = Rows<std::byte*>(host.data(), kRows, layout.row_bytes);
      const auto host_rows = Rows<ConstRowPointer>(gradients.data(), kRows, dim * 4);
      for (uint64_t step = 1; step <= 3; ++step) {
        ApplyGradients(options, {0.1F, step}, layout, host_records, {host_rows, dim});
        ASSERT_TRUE(LaunchApplyGradients(*stream_, options, {0.1F, step},
                                         {layout,
                                          {records.data(), static_cast<size_t>(kRows)},
                                          {{rows.data(), static_cast<size_t>(kRows)}, dim}})
                        .ok());
      }
      ASSERT_EQ(Bits(Download(values)), Bits(host)) << OptimizerName(kind) << ", dim " << dim;
    }
  }
}

inline void DeviceParity::ExpectEqualInitialValues() {
  using Kind = InitializerKind;
  const std::vector<Key> keys = Keys(0, kRows);
  const DeviceBuffer<Key> device_keys = Upload(keys);
  for (const Initializer& initializer : {Initializer{Kind::kUniform, -1.0F, 2.0F, 5, 6},
                                         Initializer{Kind::kNormal, 0.1F, 2.0F, 7, 8}}) {
    constexpr int64_t kDim = 130;
    std::vector<float> host(kRows * kDim);
    const DeviceBuffer<float> device = Zeros<float>(kRows * kDim);
    const auto rows = Upload(Rows<RowPointer>(device.data(), kRows, kDim * 4));
    const auto host_rows = Rows<RowPointer>(host.data(), kRows, kDim * 4);
    InitializeRows(initializer, keys, {host_rows, kDim});
    ASSERT_TRUE(LaunchInitializeRows(*stream_, initializer, {device_keys.data(), keys.size()},
                                     {{rows.data(), static_cast<size_t>(kRows)}, kDim})
                    .ok());
    ASSERT_EQ(Bits(Download(device)), Bits(host));
  }
}

inline void DeviceParity::ExpectEqualDedupe() {
  std::vector<Key> keys;
  for (int64_t i = 0; i < kRows; ++i) keys.push_back(MixKey(MixKey(static_cast<Key>(i)) % 300));
  Deduper host;
  host.Run(keys);
  const DeviceBuffer<Key> device_keys = Upload(keys);
  const DeviceBuffer<Key> unique = Zeros<Key>(kRows);
  const DeviceBuffer<Key> sorted = Zeros<Key>(kRows);
  const DeviceBuffer<int32_t> arrays = Zeros<int32_t>(9 * kRows);
  const auto bytes = *SortWorkspaceBytes(kRows);
  const DeviceBuffer<std::byte> workspace = *DeviceBuffer<std::byte>::CreateSync(runtime_, bytes);
  const auto array = [&](int64_t i) { return arrays.data() + i * kRows; };
  const DeviceDedupe to{unique.data(),
                        array(0),
                        array(8),
                        sorted.data(),
                        array(1),
                        array(2),
                        {array(3), array(4), array(5), array(6), array(7)},
                        {workspace.data(), bytes}};
  ASSERT_TRUE(LaunchDedupe(*stream_, device_keys.data(), kRows, std::nullopt, to).ok());
  const std::vector<int32_t> results = Download(arrays);
  const std::vector<Key> keys_found = Download(unique);
  const int32_t count = results[8 * kRows];
  ASSERT_EQ(count, static_cast<int32_t>(host.unique().size()));
  EXPECT_TRUE(std::equal(host.unique().begin(), host.unique().end(), keys_found.begin()));
  EXPECT_TRUE(std::equal(host.inverse().begin(), host.inverse().end(), results.begin()));
}

// Claims rows of the initializer's values, finds them, and half as many others.
inline void DeviceParity::ExpectRowsFoundAndCopied() {
  constexpr int64_t kSlots = 32;
  constexpr int64_t kSets = 100;
  constexpr int64_t kDim = 128;
  const RowLayout layout = RowLayout::Of(kDim, 0);
  const auto digests = Zeros<uint8_t>(kSets * kSlots);
  const auto store_keys = Zeros<Key>(kSets * kSlots);
  const auto scores = Zeros<uint32_t>(kSets * kSlots);
  const auto pins = Zeros<uint64_t>(kSets);
  const auto store_records = Zeros<std::byte>(kSets * kSlots * layout.row_bytes);
  SlotIndexView index{digests.data(), store_keys.data(),    scores.data(),
                      pins.data(),    store_records.data(), layout.row_bytes};
  index.slots_per_set = kSlots;
  index.SetCount(kSets);
  const std::vector<Key> keys = Keys(0, kRows);
  const auto device_keys = Upload(keys);
  const auto slots = Zeros<Slot>(kRows);
  const auto states = Zeros<uint8_t>(kRows);
  const auto words = Zeros<uint64_t>(1024);
  const auto chunks = Zeros<uint32_t>(ClaimChunks(kRows));
  const auto totals = Zeros<ClaimTotals>(1);
  DeviceClaim claim{index, {device_keys.data(), slots.data(), states.data()}, kRows};
  claim.reservations = {words.data(), 1023, 0};
  claim.waiting_in = chunks.data();
  claim.totals = totals.data();
  ASSERT_TRUE(LaunchFindOrClaim(*stream_, FullPolicy::kRefuse, &claim).ok());
  ASSERT_EQ(Download(totals)[0].created, kRows);
  const auto records = Zeros<std::byte*>(kRows);
  const DeviceKeys batch{device_keys.data(), slots.data(), kRows};
  ASSERT_TRUE(LaunchRecordAddresses(*stream_, index, batch, records.data()).ok());
  const Initializer initializer{InitializerKind::kUniform, -1.0F, 1.0F, 3, 4};
  const std::vector<std::byte*> addresses = Download(records);
  const auto places = Upload(
      std::vector<RowPointer>(reinterpret_cast<RowPointer const*>(addresses.data()),
                              reinterpret_cast<RowPointer const*>(addresses.data()) + kRows));
  ASSERT_TRUE(LaunchInitializeRows(*stream_, initializer, {device_keys.data(), keys.size()},
                                   {{places.data(), static_cast<size_t>(kRows)}, kDim})
                  .ok());
  const std::vector<Key> wanted = Keys(kRows / 2, kRows);
  const auto device_wanted = Upload(wanted);
  const auto copies = Zeros<float>(kRows * kDim);
  const auto rows = Upload(Rows<RowPointer>(copies.data(), kRows, kDim * 4));
  ASSERT_TRUE(LaunchFindAndCopy(*stream_, index, {device_wanted.data(), slots.data(), kRows},
                                rows.data(), kDim)
                  .ok());
  std::vector<float> host(kRows * kDim);
  auto host_rows = Rows<RowPointer>(host.data(), kRows, kDim * 4);
  host_rows.resize(kRows / 2);
  InitializeRows(initializer, std::span(wanted).first(kRows / 2), {host_rows, kDim});
  ASSERT_EQ(Bits(Download(copies)), Bits(host));
}

}  // namespace hotrow::testing
