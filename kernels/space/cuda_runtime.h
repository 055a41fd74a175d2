// The device runtime that calls CUDA. Part of builds with HOTROW_CUDA only.
//
// Launch code knows only device_stream.h; programs that choose a space include this.
//
// Thread safety and ownership: see device_stream.h. A program that links this starts on a machine
// without a driver; only opening a device says that there is none.

#pragma once

#include <memory>

#include "kernels/base/result.h"
#include "kernels/space/device_stream.h"

namespace hotrow {

// What a program asks first: with 0 it takes the host space.
// Devices that this process can use; 0 without a driver or with one older than the build.
int CountCudaDevices();

// The runtime of device 0 <= number < CountCudaDevices(). kUnavailable when there is no such device
// or it does not answer.
ResultOr<std::unique_ptr<DeviceRuntime>> OpenCudaRuntime(int number);

}  // namespace hotrow
