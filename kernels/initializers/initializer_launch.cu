#include "kernels/initializers/initial_value.h"
#include "kernels/initializers/initializer_launch.h"
#include "kernels/space/cuda_space.cuh"

namespace hotrow {
namespace {

constexpr int kLanes = 32;

}  // namespace

Result LaunchInitializeRows(DeviceStream& stream, const Initializer& initializer,
                            std::span<const Key> keys, const RowsView& rows) {
  HOTROW_RETURN_IF_ERROR(ValidateInitializer(initializer));
  if (keys.size() != rows.rows.size() || rows.dim < 1) {
    return Result(Code::kInvalidArgument, "there is one row of at least one column per key");
  }
  const auto launch = [&](const auto& draw) {
    return CudaSpace(stream).Run<kLanes>(
        static_cast<int64_t>(keys.size()),
        InitialRowStage<std::decay_t<decltype(draw)>>{draw, InitialStream(initializer), rows.dim,
                                                      keys.data(), rows.rows.data()});
  };
  switch (initializer.kind) {
    case InitializerKind::kZeros:
      return launch(ConstantValue{0.0F});
    case InitializerKind::kConstant:
      return launch(ConstantValue{initializer.a});
    case InitializerKind::kUniform:
      return launch(UniformValueOf(initializer));
    case InitializerKind::kNormal:
      return launch(NormalValueOf(initializer));
  }
  return Result(Code::kInvalidArgument, "there is no such initializer");
}

}  // namespace hotrow
