// Marks functions that nvcc compiles for the device as well as for the host.

#pragma once

#if defined(__CUDACC__)
#define HOTROW_HOST_DEVICE __host__ __device__
#else
#define HOTROW_HOST_DEVICE
#endif
