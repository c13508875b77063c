// Kernels whose planted fault is in what they compute with, or in how the work is cut into blocks and lanes.
#include "bench.cuh"
#include <mma.h>

// --- n bodies, tiles in shared memory: how the inverse cube of the distance is computed
template <bool LIBRARY>
__device__ void attract(const float4* __restrict__ body, float4* __restrict__ force, int n) {
  __shared__ float4 tile[256];
  float4 me = body[TID];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 256) {
    tile[threadIdx.x] = body[t + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 256; ++k) {
      float4 o = tile[k];
      float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z, d = dx * dx + dy * dy + dz * dz + 1e-3f, w;
      if (LIBRARY) {
        w = o.w * powf(d, -1.5f);
      } else {
        float i = rsqrtf(d);
        w = o.w * i * i * i;
      }
      ax += w * dx;
      ay += w * dy;
      az += w * dz;
    }
    __syncthreads();
  }
  force[TID] = make_float4(ax, ay, az, 0);
}
__global__ void __launch_bounds__(256) k11_a(const float4* __restrict__ body, float4* __restrict__ force, int n) { attract<true>(body, force, n); }
__global__ void __launch_bounds__(256) k11_b(const float4* __restrict__ body, float4* __restrict__ force, int n) { attract<false>(body, force, n); }
static void nbody(Bench& b) {
  const int n = 132 * 2 * 256;
  Buffer<float> body(size_t(n) * 4), force(size_t(n) * 4);
  uniform(body, 21, 0.1f, 1);
  b.rtol = 2e-3;
  b.atol = 1;
  b.variant("slow", "k11_a", force, [&] { LAUNCH(k11_a, n / 256, 256, 0, (const float4*)body.p, (float4*)force.p, n); });
  b.variant("fixed", "k11_b", force, [&] { LAUNCH(k11_b, n / 256, 256, 0, (const float4*)body.p, (float4*)force.p, n); });
}

// --- Black-Scholes, prices of calls and puts: the literals
template <class R>
__device__ __forceinline__ float normal(float d) {
  float k = R(1.0) / (R(1.0) + R(0.2316419) * fabsf(d));
  float poly = k * (R(0.31938153) + k * (R(-0.356563782) + k * (R(1.781477937) + k * (R(-1.821255978) + k * R(1.330274429)))));
  float c = R(0.39894228) * __expf(R(-0.5) * d * d) * poly;
  return d > 0 ? R(1.0) - c : c;
}
template <class R>
__device__ void price(const float* __restrict__ spot, const float* __restrict__ strike, const float* __restrict__ years, float* __restrict__ call, float* __restrict__ put, int n) {
  int i = TID;
  if (i >= n) return;
  float s = spot[i], x = strike[i], t = years[i], root = sqrtf(t);
  float d1 = (__logf(s / x) + (R(0.02) + R(0.5) * R(0.3) * R(0.3)) * t) / (R(0.3) * root), d2 = d1 - R(0.3) * root;
  float a = normal<R>(d1), c = normal<R>(d2), e = __expf(R(-0.02) * t);
  call[i] = s * a - x * e * c;
  put[i] = x * e * (R(1.0) - c) - s * (R(1.0) - a);
}
__global__ void k12_a(const float* spot, const float* strike, const float* years, float* call, float* put, int n) { price<float>(spot, strike, years, call, put, n); }
__global__ void k12_b(const float* spot, const float* strike, const float* years, float* call, float* put, int n) { price<double>(spot, strike, years, call, put, n); }
static void black_scholes(Bench& b) {
  const int n = 1 << 24;
  Buffer<float> spot(n), strike(n), years(n), call(n), put(n);
  uniform(spot, 22, 5, 30);
  uniform(strike, 23, 1, 100);
  uniform(years, 24, 0.25f, 10);
  b.atol = 1e-2;
  b.rtol = 1e-3;
  b.variant("slow", "k12_b", call, [&] { LAUNCH(k12_b, n / 256, 256, 0, spot.p, strike.p, years.p, call.p, put.p, n); });
  b.variant("fixed", "k12_a", call, [&] { LAUNCH(k12_a, n / 256, 256, 0, spot.p, strike.p, years.p, call.p, put.p, n); });
}

// --- iterations until a point of the plane escapes: lanes on neighbouring points, or on points far apart
template <bool NEIGHBOURS>
__device__ void escape(u32* __restrict__ out, int n, int limit) {
  u32 i = TID, at = NEIGHBOURS ? i : (i * 2654435761u) & (u32(n) * n - 1);
  u32 tile = at >> 5, x = (tile % (n / 8)) * 8 + (at & 7), y = (tile / (n / 8)) * 4 + (at >> 3 & 3);
  float cx = -2.0f + 2.6f * x / n, cy = -1.3f + 2.6f * y / n, zx = 0, zy = 0;
  u32 k = 0;
  while (k < u32(limit) && zx * zx + zy * zy < 4.0f) {
    float t = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = t;
    ++k;
  }
  out[at] = k + 1;
}
__global__ void k13_a(u32* __restrict__ out, int n, int limit) { escape<true>(out, n, limit); }
__global__ void k13_b(u32* __restrict__ out, int n, int limit) { escape<false>(out, n, limit); }
static void mandelbrot(Bench& b) {
  const int n = 2048;
  Buffer<u32> out(size_t(n) * n);
  b.variant("slow", "k13_b", out, [&] { LAUNCH(k13_b, n * n / 256, 256, 0, out.p, n, 512); });
  b.variant("fixed", "k13_a", out, [&] { LAUNCH(k13_a, n * n / 256, 256, 0, out.p, n, 512); });
}

// --- random walks counted in a disc: 1.06 waves of whole-SM blocks, or the same threads in small blocks
__device__ __forceinline__ void walk(u32* __restrict__ out, int steps) {
  u32 s = mix(TID + 1), in = 0;
#pragma unroll 4
  for (int k = 0; k < steps; ++k) {
    s = s * 1664525u + 1013904223u;
    u32 x = s >> 17, y = (s >> 2) & 32767;
    in += x * x + y * y < 1073741824u;
  }
  out[TID] = in;
}
__global__ void __launch_bounds__(1024, 1) k14_a(u32* __restrict__ out, int steps) {
  DYNAMIC_SHARED(u32, unused);
  if (steps < 0) unused[threadIdx.x] = 1;
  walk(out, steps);
}
__global__ void __launch_bounds__(128) k14_b(u32* __restrict__ out, int steps) { walk(out, steps); }
static void disc(Bench& b) {
  const int blocks = 140, steps = 8192;
  Buffer<u32> out(size_t(blocks) * 1024);
  CK(cudaFuncSetAttribute(k14_a, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10));
  b.variant("slow", "k14_a", out, [&] { LAUNCH(k14_a, blocks, 1024, 160 << 10, out.p, steps); });
  b.variant("fixed", "k14_b", out, [&] { LAUNCH(k14_b, blocks * 8, 128, 0, out.p, steps); });
}

// --- distances to all earlier points: the blocks of a persistent grid take rows side by side, or in turn
template <bool IN_TURN>
__device__ void nearest(const float2* __restrict__ p, float* __restrict__ out, int n) {
  int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, per = n / gridDim.x;
  for (int k = warp; k < per; k += 8) {
    int row = IN_TURN ? k * gridDim.x + blockIdx.x : blockIdx.x * per + k;
    float2 me = p[row];
    float best = 1e30f;
    for (int j = lane; j < row; j += 32) {
      float dx = p[j].x - me.x, dy = p[j].y - me.y;
      best = fminf(best, dx * dx + dy * dy);
    }
    for (int d = 16; d; d >>= 1) best = fminf(best, __shfl_xor_sync(~0u, best, d));
    if (lane == 0) out[row] = best;
  }
}
__global__ void __launch_bounds__(256) k15_a(const float2* __restrict__ p, float* __restrict__ out, int n) { nearest<false>(p, out, n); }
__global__ void __launch_bounds__(256) k15_b(const float2* __restrict__ p, float* __restrict__ out, int n) { nearest<true>(p, out, n); }
static void nearest_before(Bench& b) {
  const int grid = 132 * 4, n = grid * 64;
  Buffer<float> p(size_t(n) * 2), out(n);
  uniform(p, 25, 0, 100);
  b.variant("slow", "k15_a", out, [&] { LAUNCH(k15_a, grid, 256, 0, (const float2*)p.p, out.p, n); });
  b.variant("fixed", "k15_b", out, [&] { LAUNCH(k15_b, grid, 256, 0, (const float2*)p.p, out.p, n); });
}

// --- image drawn along a displacement field: the shared memory that a block of 64 asks for
__device__ __forceinline__ void displace(const float* __restrict__ image, const float2* __restrict__ shift, float* __restrict__ out, int n) {
  DYNAMIC_SHARED(float, edge);
  edge[threadIdx.x] = 0.5f + threadIdx.x * 0.001f;
  __syncthreads();
  int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y;
  float2 d = shift[size_t(y) * n + x];
  int u = min(n - 2, max(0, x + int(d.x))), v = min(n - 2, max(0, y + int(d.y)));
  const float* q = image + size_t(v) * n + u;
  float fx = d.x - int(d.x), fy = d.y - int(d.y), w = edge[63 - threadIdx.x];
  out[size_t(y) * n + x] = w * ((1 - fy) * ((1 - fx) * q[0] + fx * q[1]) + fy * ((1 - fx) * q[n] + fx * q[n + 1]));
}
__global__ void __launch_bounds__(64) k16_a(const float* image, const float2* shift, float* out, int n) { displace(image, shift, out, n); }
__global__ void __launch_bounds__(64) k16_b(const float* image, const float2* shift, float* out, int n) { displace(image, shift, out, n); }
static void warp_image(Bench& b) {
  const int n = 4096;
  Buffer<float> image(size_t(n) * n), shift(size_t(n) * n * 2), out(size_t(n) * n);
  uniform(image, 26, 0, 1);
  uniform(shift, 27, 0, 8);
  CK(cudaFuncSetAttribute(k16_a, cudaFuncAttributeMaxDynamicSharedMemorySize, 110 << 10));
  b.variant("slow", "k16_a", out, [&] { LAUNCH(k16_a, dim3(n / 64, n), 64, 110 << 10, image.p, (const float2*)shift.p, out.p, n); });
  b.variant("fixed", "k16_b", out, [&] { LAUNCH(k16_b, dim3(n / 64, n), 64, 256, image.p, (const float2*)shift.p, out.p, n); });
}

// --- logistic map of many seeds, then the mean: 40 blocks that loop, or enough for every SM
__device__ __forceinline__ void iterate(const float* __restrict__ in, float* __restrict__ out, int n) {
  for (int i = TID; i < n; i += TIDS) {
    float v = in[i];
#pragma unroll
    for (int k = 0; k < 24; ++k) v = 3.7f * v * (1 - v);
    out[i] = v;
  }
}
__global__ void __launch_bounds__(256) k17_a(const float* in, float* out, int n) { iterate(in, out, n); }
__global__ void __launch_bounds__(256) k17_b(const float* in, float* out, int n) { iterate(in, out, n); }
static void logistic(Bench& b) {
  const int n = 1 << 24;
  Buffer<float> in(n), out(n);
  uniform(in, 28, 0.1f, 0.9f);
  b.variant("slow", "k17_a", out, [&] { LAUNCH(k17_a, 40, 256, 0, in.p, out.p, n); });
  b.variant("fixed", "k17_b", out, [&] { LAUNCH(k17_b, 132 * 8, 256, 0, in.p, out.p, n); });
}

// --- a polynomial of degree 127, one warp a scheduler: Horner's chain, or eight chains in powers of x^8
__global__ void __launch_bounds__(128) k18_a(const float* __restrict__ x, float* __restrict__ y, int rounds) {
  float v = x[TID], total = 0;
  for (int r = 0; r < rounds; ++r) {
    float p = v;
#pragma unroll
    for (int k = 127; k >= 0; --k) p = p * v + (0.01f * (k & 15) + 0.1f);
    v += p * 1e-12f;
    total += p;
  }
  y[TID] = total;
}
__global__ void __launch_bounds__(128) k18_b(const float* __restrict__ x, float* __restrict__ y, int rounds) {
  float v = x[TID], total = 0;
  for (int r = 0; r < rounds; ++r) {
    float v2 = v * v, v4 = v2 * v2, v8 = v4 * v4, p[8] = {v, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
    for (int k = 15; k >= 0; --k)
#pragma unroll
      for (int j = 0; j < 8; ++j) p[j] = p[j] * v8 + (0.01f * ((8 * k + j) & 15) + 0.1f);
    float s = p[7];
#pragma unroll
    for (int j = 6; j >= 0; --j) s = s * v + p[j];
    v += s * 1e-12f;
    total += s;
  }
  y[TID] = total;
}
static void polynomial(Bench& b) {
  Buffer<float> x(132 * 128), y(132 * 128);
  uniform(x, 29, 0.2f, 0.9f);
  b.rtol = 1e-3;
  b.variant("slow", "k18_a", y, [&] { LAUNCH(k18_a, 132, 128, 0, x.p, y.p, 2048); });
  b.variant("fixed", "k18_b", y, [&] { LAUNCH(k18_b, 132, 128, 0, x.p, y.p, 2048); });
}

// --- damped rotations, complex: products and sums apart, or fused
template <bool FUSED>
__device__ void rotate(const float2* __restrict__ in, float2* __restrict__ out, int steps) {
  float2 w = in[TID];
  float x[4], y[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    x[k] = 0.1f * k;
    y[k] = 0.2f;
  }
#pragma unroll 4
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float t = FUSED ? fmaf(x[k], w.x, fmaf(y[k], w.y, 0.3f)) : __fadd_rn(__fmul_rn(x[k], w.x), __fadd_rn(__fmul_rn(y[k], w.y), 0.3f));
      y[k] = FUSED ? fmaf(x[k], w.y, fmaf(y[k], w.x, 0.1f)) : __fadd_rn(__fmul_rn(x[k], w.y), __fadd_rn(__fmul_rn(y[k], w.x), 0.1f));
      x[k] = t;
    }
  out[TID] = make_float2(x[0] + x[1] + x[2] + x[3], y[0] + y[1] + y[2] + y[3]);
}
__global__ void k19_a(const float2* __restrict__ in, float2* __restrict__ out, int steps) { rotate<false>(in, out, steps); }
__global__ void k19_b(const float2* __restrict__ in, float2* __restrict__ out, int steps) { rotate<true>(in, out, steps); }
static void rotations(Bench& b) {
  const int grid = 132 * 8 * 2;
  Buffer<float> in(size_t(grid) * 256 * 2), out(in.n);
  uniform(in, 30, 0.1f, 0.45f);
  b.variant("slow", "k19_a", out, [&] { LAUNCH(k19_a, grid, 256, 0, (const float2*)in.p, (float2*)out.p, 1024); });
  b.variant("fixed", "k19_b", out, [&] { LAUNCH(k19_b, grid, 256, 0, (const float2*)in.p, (float2*)out.p, 1024); });
}

// --- scores of 32 heads, Q times K transposed, 1024 x 64 halves each: multiply-adds of floats, or matrix units
__global__ void __launch_bounds__(256) k20_a(const __half* __restrict__ q, const __half* __restrict__ k, float* __restrict__ s, int n) {
  __shared__ float tq[64][65], tk[64][65];
  const __half *hq = q + size_t(blockIdx.z) * n * 64 + size_t(blockIdx.y) * 64 * 64, *hk = k + size_t(blockIdx.z) * n * 64 + size_t(blockIdx.x) * 64 * 64;
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    tq[i >> 6][i & 63] = __half2float(hq[i]);
    tk[i >> 6][i & 63] = __half2float(hk[i]);
  }
  __syncthreads();
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  float acc[4][4] = {};
#pragma unroll 8
  for (int d = 0; d < 64; ++d) {
    float a[4], c[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = tq[ty + 16 * i][d];
      c[i] = tk[tx + 16 * i][d];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * c[j];
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) s[(size_t(blockIdx.z) * n + blockIdx.y * 64 + ty + 16 * i) * n + blockIdx.x * 64 + tx + 16 * j] = acc[i][j];
}
__global__ void __launch_bounds__(128) k20_b(const __half* __restrict__ q, const __half* __restrict__ k, float* __restrict__ s, int n) {
  using namespace nvcuda::wmma;
  int warp = threadIdx.x >> 5, row = blockIdx.y * 64 + (warp >> 1) * 32, col = blockIdx.x * 64 + (warp & 1) * 32;
  const __half *hq = q + size_t(blockIdx.z) * n * 64, *hk = k + size_t(blockIdx.z) * n * 64;
  fragment<accumulator, 16, 16, 16, float> c[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) fill_fragment(c[i][j], 0.0f);
#pragma unroll
  for (int d = 0; d < 64; d += 16) {
    fragment<matrix_a, 16, 16, 16, __half, row_major> a[2];
    fragment<matrix_b, 16, 16, 16, __half, col_major> t[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      load_matrix_sync(a[i], hq + size_t(row + 16 * i) * 64 + d, 64);
      load_matrix_sync(t[i], hk + size_t(col + 16 * i) * 64 + d, 64);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) mma_sync(c[i][j], a[i], t[j], c[i][j]);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) store_matrix_sync(s + (size_t(blockIdx.z) * n + row + 16 * i) * n + col + 16 * j, c[i][j], n, mem_row_major);
}
static void scores(Bench& b) {
  const int n = 1024, heads = 32;
  Buffer<__half> q(size_t(heads) * n * 64), k(q.n);
  Buffer<float> s(size_t(heads) * n * n);
  uniform(q, 31);
  uniform(k, 32);
  b.atol = 1e-2;
  b.variant("slow", "k20_a", s, [&] { LAUNCH(k20_a, dim3(n / 64, n / 64, heads), 256, 0, q.p, k.p, s.p, n); });
  b.variant("fixed", "k20_b", s, [&] { LAUNCH(k20_b, dim3(n / 64, n / 64, heads), 128, 0, q.p, k.p, s.p, n); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"nbody", "sfu_pipe slow_math", "slow=k11_a fixed=k11_b", nbody},
      {"black_scholes", "fp64_pipe sfu_pipe", "slow=k12_b fixed=k12_a", black_scholes},
      {"mandelbrot", "thread_divergence", "slow=k13_b fixed=k13_a", mandelbrot},
      {"disc", "tail_effect", "slow=k14_a fixed=k14_b", disc},
      {"nearest_before", "load_imbalance", "slow=k15_a fixed=k15_b", nearest_before},
      {"warp_image", "low_occupancy", "slow=k16_a fixed=k16_b", warp_image},
      {"logistic", "small_grid", "slow=k17_a fixed=k17_b", logistic},
      {"polynomial", "dependency_stalls low_occupancy", "slow=k18_a fixed=k18_b", polynomial},
      {"rotations", "non_fused_fp", "slow=k19_a fixed=k19_b", rotations},
      {"scores", "tensor_cores_idle", "slow=k20_a fixed=k20_b", scores},
  });
}
