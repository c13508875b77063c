// Kernels that are as fast as they can be, and pairs in which a fault that shows is not the limit: repairing it buys nothing.
#include "bench.cuh"

// ---------------------------------------------------------------- healthy
__global__ void __launch_bounds__(256) k31_a(const float4* __restrict__ in, float4* __restrict__ out) {
  size_t i = size_t(blockIdx.x) * 1024 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = in[i + k * 256];
#pragma unroll
  for (int k = 0; k < 4; ++k) out[i + k * 256] = v[k];
}
static void duplicate(Bench& b) {
  const int n4 = 1 << 25;
  Buffer<float> in(size_t(n4) * 4), out(in.n);
  uniform(in, 51, 0.1f, 1);
  b.variant("healthy", "k31_a", out, [&] { LAUNCH(k31_a, n4 / 1024, 256, 0, (const float4*)in.p, (float4*)out.p); });
}

// 128 x 128 of C a block, 8 x 8 a thread, 16 deep, the next tile fetched while this one is used
__global__ void __launch_bounds__(256) k32_a(const float* __restrict__ a, const float* __restrict__ bm, float* __restrict__ c, int n) {
  __shared__ float sa[2][16][132], sb[2][16][128];
  int t = threadIdx.x, tx = t & 15, ty = t >> 4;
  const float* pa = a + (size_t(blockIdx.y) * 128 + (t >> 1)) * n + (t & 1) * 8;
  const float* pb = bm + size_t(t >> 4) * n + blockIdx.x * 128 + (t & 15) * 8;
  float acc[8][8] = {};
  float4 ra[2], rb[2];
  auto fetch = [&](int k) {
    ra[0] = *(const float4*)(pa + k);
    ra[1] = *(const float4*)(pa + k + 4);
    rb[0] = *(const float4*)(pb + size_t(k) * n);
    rb[1] = *(const float4*)(pb + size_t(k) * n + 4);
  };
  auto store = [&](int s) {
    const float* f = &ra[0].x;
#pragma unroll
    for (int i = 0; i < 8; ++i) sa[s][(t & 1) * 8 + i][t >> 1] = f[i];
    *(float4*)&sb[s][t >> 4][(t & 15) * 8] = rb[0];
    *(float4*)&sb[s][t >> 4][(t & 15) * 8 + 4] = rb[1];
  };
  fetch(0);
  store(0);
  __syncthreads();
  for (int k = 0, s = 0; k < n; k += 16, s ^= 1) {
    if (k + 16 < n) fetch(k + 16);
#pragma unroll
    for (int d = 0; d < 16; ++d) {
      float x[8], y[8];
      *(float4*)x = *(float4*)&sa[s][d][ty * 4];
      *(float4*)(x + 4) = *(float4*)&sa[s][d][64 + ty * 4];
      *(float4*)y = *(float4*)&sb[s][d][tx * 4];
      *(float4*)(y + 4) = *(float4*)&sb[s][d][64 + tx * 4];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] += x[i] * y[j];
    }
    if (k + 16 < n) store(s ^ 1);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    size_t row = size_t(blockIdx.y) * 128 + (i >> 2) * 64 + ty * 4 + (i & 3);
    *(float4*)&c[row * n + blockIdx.x * 128 + tx * 4] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *(float4*)&c[row * n + blockIdx.x * 128 + 64 + tx * 4] = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
  }
}
static void product(Bench& b) {
  const int n = 4096;
  Buffer<float> x(size_t(n) * n), y(x.n), z(x.n);
  uniform(x, 52, 0, 1);
  uniform(y, 53, 0, 1);
  b.variant("healthy", "k32_a", z, [&] { LAUNCH(k32_a, dim3(n / 128, n / 128), 256, 0, x.p, y.p, z.p, n); });
}

__global__ void __launch_bounds__(256) k33_a(const float4* __restrict__ in, float* __restrict__ out, size_t n4) {
  __shared__ float part[8];
  float s = 0;
#pragma unroll 8
  for (size_t i = TID; i < n4; i += TIDS) {
    float4 v = in[i];
    s = fmaxf(s, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  for (int d = 16; d; d >>= 1) s = fmaxf(s, __shfl_xor_sync(~0u, s, d));
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) s = fmaxf(s, part[k]);
    out[blockIdx.x] = s;
  }
}
static void maximum(Bench& b) {
  const size_t n4 = size_t(1) << 26;
  Buffer<float> in(n4 * 4), out(132 * 8);
  uniform(in, 54, 0, 1);
  b.variant("healthy", "k33_a", out, [&] { LAUNCH(k33_a, 132 * 8, 256, 0, (const float4*)in.p, out.p, n4); });
}

__global__ void __launch_bounds__(256) k34_a(const float* __restrict__ in, float* __restrict__ out, int steps) {
  float w = in[TID], v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma unroll 8
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], w, 0.5f);
  out[TID] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}
static void decay_sums(Bench& b) {
  const int grid = 132 * 8 * 4;
  Buffer<float> in(size_t(grid) * 256), out(in.n);
  uniform(in, 55, 0.1f, 0.9f);
  b.variant("healthy", "k34_a", out, [&] { LAUNCH(k34_a, grid, 256, 0, in.p, out.p, 2048); });
}

__global__ void __launch_bounds__(256) k35_a(const double* __restrict__ in, double* __restrict__ out, int steps) {
  double w = in[TID], v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma unroll 4
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = fma(v[k], w, 0.5);
  out[TID] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}
static void decay_doubles(Bench& b) {   // doubles in, doubles out: they are meant
  const int grid = 132 * 8 * 2;
  std::vector<double> h(size_t(grid) * 256);
  for (size_t i = 0; i < h.size(); ++i) h[i] = 0.1 + 0.8 * (mix(u32(i)) >> 8) / 16777216.0;
  Buffer<double> in(h.size()), out(h.size());
  in.put(h);
  b.variant("healthy", "k35_a", out, [&] { LAUNCH(k35_a, grid, 256, 0, in.p, out.p, 1024); });
}

__global__ void __launch_bounds__(256) k36_a(float4* __restrict__ out, float v) {
  size_t i = size_t(blockIdx.x) * 1024 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) out[i + k * 256] = make_float4(v, v, v, v);
}
static void constant_fill(Bench& b) {
  const int n4 = 1 << 26;
  Buffer<float> out(size_t(n4) * 4);
  b.variant("healthy", "k36_a", out, [&] { LAUNCH(k36_a, n4 / 1024, 256, 0, (float4*)out.p, 1.5f); });
}

// ---------------------------------------------------------------- the plausible repair buys nothing
// Fields of a 32-byte record are read one by one, but 600 multiply-adds an element take the time.
template <bool RECORDS>
__device__ void integrate(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int n) {
  int i = TID;
  float u = RECORDS ? x[size_t(i) * 8] : x[i], v = RECORDS ? x[size_t(i) * 8 + 5] : y[i];
  float s[4] = {u, v, u + v, u - v};
#pragma unroll 10
  for (int k = 0; k < 600; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) s[j] = fmaf(s[j], u, v);
  out[i] = s[0] + s[1] + s[2] + s[3];
}
__global__ void __launch_bounds__(256) k41_a(const float* x, const float* y, float* out, int n) { integrate<true>(x, y, out, n); }
__global__ void __launch_bounds__(256) k41_b(const float* x, const float* y, float* out, int n) { integrate<false>(x, y, out, n); }
static void layout_of_inputs(Bench& b) {
  const int n = 1 << 23;
  std::vector<float> r(size_t(n) * 8), u(n), v(n);
  for (size_t i = 0; i < size_t(n); ++i) {
    u[i] = r[i * 8] = 0.1f + 0.8f * (mix(u32(i)) >> 8) / 16777216.0f;
    v[i] = r[i * 8 + 5] = 0.1f + 0.8f * (mix(u32(i) ^ 0x55555555u) >> 8) / 16777216.0f;
  }
  Buffer<float> br(r.size()), bu(n), bv(n), out(n);
  br.put(r);
  bu.put(u);
  bv.put(v);
  b.variant("slow", "k41_a", out, [&] { LAUNCH(k41_a, n / 256, 256, 0, br.p, br.p, out.p, n); });
  b.variant("fixed", "k41_b", out, [&] { LAUNCH(k41_b, n / 256, 256, 0, bu.p, bv.p, out.p, n); });
}

// 100 KB of shared memory a block allow 2 blocks an SM, but 16 chains a thread keep the pipe full; then without.
__device__ __forceinline__ void sixteen_chains(const float* __restrict__ in, float* __restrict__ out, int steps) {
  DYNAMIC_SHARED(float, s);
  s[threadIdx.x] = in[TID];
  __syncthreads();
  float w = s[255 - threadIdx.x], v[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) v[k] = 0.25f * k;
#pragma unroll 4
  for (int i = 0; i < steps; ++i)
#pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = fmaf(v[k], w, 0.125f);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += v[k];
  out[TID] = sum;
}
__global__ void __launch_bounds__(256) k42_a(const float* in, float* out, int steps) { sixteen_chains(in, out, steps); }
__global__ void __launch_bounds__(256) k42_b(const float* in, float* out, int steps) { sixteen_chains(in, out, steps); }
static void few_warps(Bench& b) {
  const int grid = 132 * 32;
  Buffer<float> in(size_t(grid) * 256), out(in.n);
  uniform(in, 57, 0.1f, 0.9f);
  CK(cudaFuncSetAttribute(k42_a, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  b.variant("slow", "k42_a", out, [&] { LAUNCH(k42_a, grid, 256, 100 << 10, in.p, out.p, 1024); });
  b.variant("fixed", "k42_b", out, [&] { LAUNCH(k42_b, grid, 256, 1024, in.p, out.p, 1024); });
}

// Blocks hand values on through a tile with four lanes a bank, while memory is what they wait for.
template <int STRIDE>
__device__ void reverse_rows(const float4* __restrict__ in, float4* __restrict__ out, float* s) {
  float4 v = in[TID];
  s[threadIdx.x * STRIDE] = v.x + v.y + v.z + v.w;
  __syncthreads();
  float o = s[(255 - threadIdx.x) * STRIDE];
  out[TID] = make_float4(v.x + o, v.y + o, v.z + o, v.w + o);
}
__global__ void __launch_bounds__(256) k43_a(const float4* __restrict__ in, float4* __restrict__ out) {
  __shared__ float s[256 * 4];
  reverse_rows<4>(in, out, s);
}
__global__ void __launch_bounds__(256) k43_b(const float4* __restrict__ in, float4* __restrict__ out) {
  __shared__ float s[256];
  reverse_rows<1>(in, out, s);
}
static void mirrored(Bench& b) {
  const int n4 = 1 << 24;
  Buffer<float> in(size_t(n4) * 4), out(in.n);
  uniform(in, 58, 0, 1);
  b.variant("slow", "k43_a", out, [&] { LAUNCH(k43_a, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p); });
  b.variant("fixed", "k43_b", out, [&] { LAUNCH(k43_b, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p); });
}

// Lanes take one of two arms at random, 12 multiply-adds each, in a kernel that streams; then both arms and a select.
template <bool BRANCH>
__device__ void two_arms(const float4* __restrict__ in, float4* __restrict__ out) {
  float4 v = in[TID];
  float w = v.w, p = v.x, q = v.y;
  bool odd = __float_as_uint(v.z) & 1;
  if (BRANCH) {
    if (odd) {
      for (int k = 0; k < 12; ++k) p = fmaf(p, w, 0.5f + k * v.y);
    } else {
      for (int k = 0; k < 12; ++k) p = fmaf(p, v.y, 0.25f + k * w);
    }
  } else {
    float a = p, c = p;
#pragma unroll
    for (int k = 0; k < 12; ++k) {
      a = fmaf(a, w, 0.5f + k * v.y);
      c = fmaf(c, v.y, 0.25f + k * w);
    }
    p = odd ? a : c;
  }
  out[TID] = make_float4(p, q, v.z, w);
}
__global__ void __launch_bounds__(256) k44_a(const float4* __restrict__ in, float4* __restrict__ out) { two_arms<true>(in, out); }
__global__ void __launch_bounds__(256) k44_b(const float4* __restrict__ in, float4* __restrict__ out) { two_arms<false>(in, out); }
static void two_kinds(Bench& b) {
  const int n4 = 1 << 24;
  Buffer<float> in(size_t(n4) * 4), out(in.n);
  uniform(in, 59, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "k44_a", out, [&] { LAUNCH(k44_a, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p); });
  b.variant("fixed", "k44_b", out, [&] { LAUNCH(k44_b, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"duplicate", "healthy", "healthy=k31_a", duplicate},
      {"product", "not_at_peak", "healthy=k32_a", product},
      {"maximum", "healthy", "healthy=k33_a", maximum},
      {"decay_sums", "healthy", "healthy=k34_a", decay_sums},
      {"decay_doubles", "healthy", "healthy=k35_a", decay_doubles},
      {"constant_fill", "healthy", "healthy=k36_a", constant_fill},
      {"layout_of_inputs", "no_gain:uncoalesced_access", "slow=k41_a fixed=k41_b", layout_of_inputs},
      {"few_warps", "no_gain:low_occupancy", "slow=k42_a fixed=k42_b", few_warps},
      {"mirrored", "no_gain:shared_bank_conflicts", "slow=k43_a fixed=k43_b", mirrored},
      {"two_kinds", "no_gain:thread_divergence", "slow=k44_a fixed=k44_b", two_kinds},
  });
}
