// A kernel that keeps 64 values in 16 registers: the build must refuse it.

__global__ void PlantedSpill(const float* in, float* out, int rounds) {
  float values[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) values[i] = in[i + threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 64; ++i) values[i] = values[i] * values[(i * 7 + 1) % 64] + in[round];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) out[i * 64 + threadIdx.x] = values[i];
}
