// Kernels with nothing wrong that matters: at a limit of the device, or with a fault that shows and costs nothing.
#include "bench.cuh"

// ---- products of complex halves, streamed
__global__ void stream_a(const uint4* __restrict__ x, const uint4* __restrict__ y, uint4* __restrict__ z, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 a = x[i], b = y[i], c;
  const __half2 *p = (const __half2*)&a, *q = (const __half2*)&b;
  __half2* r = (__half2*)&c;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 u = __half22float2(p[k]), v = __half22float2(q[k]);
    r[k] = __floats2half2_rn(u.x * v.x - u.y * v.y, u.x * v.y + u.y * v.x);
  }
  z[i] = c;
}
static void complex_stream(Bench& b) {
  const size_t n = size_t(1) << 24;
  Buffer<__half> x(n * 8), y(n * 8), z(n * 8);
  uniform(x, 141);
  uniform(y, 142);
  b.variant("healthy", "stream_a", z, [&] { LAUNCH(stream_a, unsigned(n / 256), 256, 0, (const uint4*)x.p, (const uint4*)y.p, (uint4*)z.p, n); });
}

// ---- a digest of words: integer arithmetic only
__global__ void __launch_bounds__(256) digest_a(const u32* __restrict__ in, u32* __restrict__ out, int rounds) {
  u32 a = in[TID], b = a ^ 0x6a09e667u, c = a + 0xbb67ae85u, d = ~a;
#pragma unroll 8
  for (int r = 0; r < rounds; ++r) {
    a += (b & c) ^ (~b & d);
    d = __funnelshift_l(d ^ a, d ^ a, 16);
    c += d ^ r;
    b = __funnelshift_l(b ^ c, b ^ c, 12);
  }
  out[TID] = a ^ b ^ c ^ d;
}
static void digest(Bench& b) {
  const int n = 132 * 64 * 256;
  Buffer<u32> in(n), out(n);
  bits(in, 143, 0xFFFFFFFFu);
  b.variant("healthy", "digest_a", out, [&] { LAUNCH(digest_a, n / 256, 256, 0, in.p, out.p, 1024); });
}

// ---- rows of 512 bytes picked at random, a warp a row, four rows in flight
__global__ void pick_a(const float4* __restrict__ table, const u32* __restrict__ ids, float4* __restrict__ out, int n) {
  const int warp = TID >> 5, lane = threadIdx.x & 31, warps = TIDS >> 5;
  for (int r = warp * 4; r + 3 < n; r += warps * 4) {
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = table[size_t(ids[r + k]) * 32 + lane];
#pragma unroll
    for (int k = 0; k < 4; ++k) out[size_t(r + k) * 32 + lane] = v[k];
  }
}
static void picked_rows(Bench& b) {
  const int n = 1 << 19;
  Buffer<float> table(size_t(n) * 128), out(table.n);
  Buffer<u32> ids(n);
  uniform(table, 144, -1, 1);
  bits(ids, 145, n - 1);
  b.variant("healthy", "pick_a", out, [&] { LAUNCH(pick_a, n / 32, 256, 0, (const float4*)table.p, ids.p, (float4*)out.p, n); });
}

// ---- largest magnitude of each row, a block a row
__global__ void __launch_bounds__(256) peak_a(const float4* __restrict__ in, float* __restrict__ out, int n4) {
  __shared__ float part[8];
  float m = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < n4; i += 256) {
    const float4 v = in[size_t(blockIdx.x) * n4 + i];
    m = fmaxf(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))), m);
  }
#pragma unroll
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = m;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) m = fmaxf(m, part[w]);
    out[blockIdx.x] = m;
  }
}
static void row_peaks(Bench& b) {
  const int rows = 1 << 14, n4 = 2048;
  Buffer<float> in(size_t(rows) * n4 * 4), out(rows);
  uniform(in, 146, -1, 1);
  b.variant("healthy", "peak_a", out, [&] { LAUNCH(peak_a, rows, 256, 0, (const float4*)in.p, out.p, n4); });
}

// ---- streaming with few warps, each with eight loads in flight: the shared memory asked for
template <int UNUSED>
__device__ __forceinline__ void eight(const float4* __restrict__ in, float4* __restrict__ out, size_t n, float* scratch) {
  if (threadIdx.x == 0) scratch[0] = 0.5f;
  __syncthreads();
  const float h = scratch[0];
  for (size_t i = size_t(blockIdx.x) * 2048 + threadIdx.x; i < n; i += size_t(gridDim.x) * 2048) {
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = in[i + 256 * k];
#pragma unroll
    for (int k = 0; k < 8; ++k) out[i + 256 * k] = make_float4(v[k].x * h, v[k].y * h, v[k].z * h, v[k].w * h);
  }
}
__global__ void __launch_bounds__(256) halve_a(const float4* __restrict__ in, float4* __restrict__ out, size_t n) {
  DYNAMIC_SHARED(float, scratch);
  eight<0>(in, out, n, scratch);
}
__global__ void __launch_bounds__(256) halve_b(const float4* __restrict__ in, float4* __restrict__ out, size_t n) {
  DYNAMIC_SHARED(float, scratch);
  eight<1>(in, out, n, scratch);
}
static void eight_in_flight(Bench& b) {
  const size_t n = size_t(1) << 24;
  Buffer<float> in(n * 4), out(n * 4);
  uniform(in, 147, -1, 1);
  CK(cudaFuncSetAttribute(halve_b, cudaFuncAttributeMaxDynamicSharedMemorySize, 56 * 1024));
  b.variant("slow", "halve_b", out, [&] { LAUNCH(halve_b, unsigned(n / 2048), 256, 56 * 1024, (const float4*)in.p, (float4*)out.p, n); });
  b.variant("fixed", "halve_a", out, [&] { LAUNCH(halve_a, unsigned(n / 2048), 256, 64, (const float4*)in.p, (float4*)out.p, n); });
}

// ---- sums with one atomic a warp to 64 counters, in a sweep that memory bounds: or one a block
__global__ void __launch_bounds__(256) tally_d(const float4* __restrict__ in, float* __restrict__ out) {
  float s = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const float4 v = in[size_t(blockIdx.x) * 4096 + k * 256 + threadIdx.x];
    s += v.x + v.y + v.z + v.w;
  }
#pragma unroll
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(&out[blockIdx.x & 63], s);
}
__global__ void __launch_bounds__(256) tally_b(const float4* __restrict__ in, float* __restrict__ out) {
  __shared__ float part[8];
  float s = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const float4 v = in[size_t(blockIdx.x) * 4096 + k * 256 + threadIdx.x];
    s += v.x + v.y + v.z + v.w;
  }
#pragma unroll
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) s += part[w];
    atomicAdd(&out[blockIdx.x & 63], s);
  }
}
static void tallies(Bench& b) {
  const size_t n4 = size_t(1) << 25;
  Buffer<float> in(n4 * 4), out(64);
  uniform(in, 148, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "tally_d", out, [&] { LAUNCH(tally_d, unsigned(n4 / 4096), 256, 0, (const float4*)in.p, out.p); });
  b.variant("fixed", "tally_b", out, [&] { LAUNCH(tally_b, unsigned(n4 / 4096), 256, 0, (const float4*)in.p, out.p); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"complex_stream", "healthy", "healthy=stream_a", complex_stream},
      {"digest", "healthy", "healthy=digest_a", digest},
      {"picked_rows", "healthy", "healthy=pick_a", picked_rows},
      {"row_peaks", "healthy", "healthy=peak_a", row_peaks},
      {"eight_in_flight", "no_gain:low_occupancy", "slow=halve_b fixed=halve_a", eight_in_flight},
      {"tallies", "no_gain:atomic_contention", "slow=tally_d fixed=tally_b", tallies},
  });
}
