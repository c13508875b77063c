// Data layouts, tables and passes: pairs whose planted fault lies in how data is arranged or read.
#include "bench.cuh"

// ---- tridiagonal systems of 64 unknowns, one a thread (Thomas): all of a system together, or all systems' i-th together
template <bool TOGETHER>
__device__ __forceinline__ size_t cell(int system, int i, int systems) {
  return TOGETHER ? size_t(system) * 64 + i : size_t(i) * systems + system;
}
template <bool TOGETHER>
__device__ void eliminate(const float* __restrict__ diag, const float* __restrict__ rhs, float* __restrict__ c, float* __restrict__ d, float* __restrict__ x, int systems) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  float cp = 0, dp = 0;
  for (int i = 0; i < 64; ++i) {
    const size_t at = cell<TOGETHER>(s, i, systems);
    const float m = __frcp_rn(diag[at] + cp);
    cp = -m;
    dp = (rhs[at] + dp) * m;
    c[at] = cp;
    d[at] = dp;
  }
  float back = 0, sum = 0;
  for (int i = 63; i >= 0; --i) {
    const size_t at = cell<TOGETHER>(s, i, systems);
    back = d[at] - c[at] * back;
    sum += back * float(i + 1);
  }
  x[s] = sum;
}
__global__ void tri_p(const float* __restrict__ g, const float* __restrict__ r, float* __restrict__ c, float* __restrict__ d, float* __restrict__ x, int n) {
  eliminate<false>(g, r, c, d, x, n);
}
__global__ void tri_q(const float* __restrict__ g, const float* __restrict__ r, float* __restrict__ c, float* __restrict__ d, float* __restrict__ x, int n) {
  eliminate<true>(g, r, c, d, x, n);
}
__global__ void relayout(const float* __restrict__ in, float* __restrict__ out, int systems) {
  for (size_t k = TID; k < size_t(systems) * 64; k += TIDS) out[(k % 64) * systems + k / 64] = in[k];
}
static void thomas(Bench& b) {
  const int systems = 1 << 18;
  Buffer<float> g(size_t(systems) * 64), r(g.n), g2(g.n), r2(g.n), c(g.n), d(g.n), x(systems);
  uniform(g, 101, 2.5f, 4);
  uniform(r, 102, -1, 1);
  LAUNCH(relayout, 4096, 256, 0, g.p, g2.p, systems);
  LAUNCH(relayout, 4096, 256, 0, r.p, r2.p, systems);
  b.rtol = b.atol = 1e-3;
  b.variant("slow", "tri_q", x, [&] { LAUNCH(tri_q, systems / 128, 128, 0, g.p, r.p, c.p, d.p, x.p, systems); });
  b.variant("fixed", "tri_p", x, [&] { LAUNCH(tri_p, systems / 128, 128, 0, g2.p, r2.p, c.p, d.p, x.p, systems); });
}

// ---- ten rounds of a table cipher, four words a thread: one table for all, or one for each lane
__device__ __forceinline__ u32 turn_left(u32 v, int by) { return __funnelshift_l(v, v, by); }
template <int COPIES>
__device__ void cipher(const uint4* __restrict__ in, uint4* __restrict__ out, int n, u32* table) {
  for (int i = threadIdx.x; i < 256 * COPIES; i += blockDim.x) table[i] = mix(u32(i / COPIES) * 0x01000193u);
  __syncthreads();
  const int mine = threadIdx.x & (COPIES - 1);
#define LOOK(byte) table[((byte) & 255) * COPIES + mine]
  for (int i = TID; i < n; i += TIDS) {
    uint4 s = in[i];
#pragma unroll 2
    for (int round = 0; round < 10; ++round) {
      uint4 t;
      const u32 key = 0x9E3779B9u * (round + 1);
      t.x = LOOK(s.x) ^ turn_left(LOOK(s.y >> 8), 8) ^ turn_left(LOOK(s.z >> 16), 16) ^ turn_left(LOOK(s.w >> 24), 24) ^ key;
      t.y = LOOK(s.y) ^ turn_left(LOOK(s.z >> 8), 8) ^ turn_left(LOOK(s.w >> 16), 16) ^ turn_left(LOOK(s.x >> 24), 24) ^ key;
      t.z = LOOK(s.z) ^ turn_left(LOOK(s.w >> 8), 8) ^ turn_left(LOOK(s.x >> 16), 16) ^ turn_left(LOOK(s.y >> 24), 24) ^ key;
      t.w = LOOK(s.w) ^ turn_left(LOOK(s.x >> 8), 8) ^ turn_left(LOOK(s.y >> 16), 16) ^ turn_left(LOOK(s.z >> 24), 24) ^ key;
      s = t;
    }
    out[i] = s;
  }
#undef LOOK
}
__global__ void __launch_bounds__(512) rounds_one(const uint4* __restrict__ in, uint4* __restrict__ out, int n) {
  DYNAMIC_SHARED(u32, table);
  cipher<32>(in, out, n, table);
}
__global__ void __launch_bounds__(512) rounds_two(const uint4* __restrict__ in, uint4* __restrict__ out, int n) {
  DYNAMIC_SHARED(u32, table);
  cipher<1>(in, out, n, table);
}
static void cipher_tables(Bench& b) {
  const int n = 1 << 22;
  Buffer<u32> in(size_t(n) * 4), out(in.n);
  bits(in, 103, 0xFFFFFFFFu);
  b.variant("slow", "rounds_two", out, [&] { LAUNCH(rounds_two, 132 * 4, 512, 256 * 4, (const uint4*)in.p, (uint4*)out.p, n); });
  b.variant("fixed", "rounds_one", out, [&] { LAUNCH(rounds_one, 132 * 4, 512, 256 * 32 * 4, (const uint4*)in.p, (uint4*)out.p, n); });
}

// ---- eight-bit weights back to halves, a scale for each 128: one weight a thread, or sixteen
__global__ void widen_m(const signed char* __restrict__ q, const float* __restrict__ scale, __half* __restrict__ w, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) w[i] = __float2half(float(q[i]) * scale[i >> 7]);
}
__global__ void widen_k(const int4* __restrict__ q, const float* __restrict__ scale, uint4* __restrict__ w, size_t n16) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n16) return;
  const int4 v = q[i];
  const float s = scale[i >> 3];
  const int word[4] = {v.x, v.y, v.z, v.w};
  __half2 h[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    h[2 * k] = __floats2half2_rn(float((signed char)(word[k])) * s, float((signed char)(word[k] >> 8)) * s);
    h[2 * k + 1] = __floats2half2_rn(float((signed char)(word[k] >> 16)) * s, float((signed char)(word[k] >> 24)) * s);
  }
  w[2 * i] = ((const uint4*)h)[0];
  w[2 * i + 1] = ((const uint4*)h)[1];
}
static void dequantise(Bench& b) {
  const size_t n = size_t(1) << 27;
  Buffer<u32> q(n / 4);
  Buffer<float> scale(n / 128);
  Buffer<__half> w(n);
  bits(q, 104, 0xFFFFFFFFu);
  uniform(scale, 105, 0.001f, 0.01f);
  b.variant("slow", "widen_m", w, [&] { LAUNCH(widen_m, unsigned(n / 256), 256, 0, (const signed char*)q.p, scale.p, w.p, n); });
  b.variant("fixed", "widen_k", w, [&] { LAUNCH(widen_k, unsigned(n / 16 / 256), 256, 0, (const int4*)q.p, scale.p, (uint4*)w.p, n / 16); });
}

// ---- standardise long rows: a pass for the mean, one for the deviation, one to write; or both sums in one pass
__device__ float block_sum(float v, float* s) {
#pragma unroll
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
  __syncthreads();
  v = 0;
  for (int w = 0; w < int(blockDim.x >> 5); ++w) v += s[w];
  return v;
}
__global__ void __launch_bounds__(512) rows_u(const float4* __restrict__ in, float4* __restrict__ out, int n4) {
  __shared__ float s[16];
  in += size_t(blockIdx.x) * n4;
  out += size_t(blockIdx.x) * n4;
  float a = 0, q = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < n4; i += 512) {
    const float4 v = in[i];
    a += v.x + v.y + v.z + v.w;
    q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  a = block_sum(a, s) / (4.0f * n4);
  q = rsqrtf(block_sum(q, s) / (4.0f * n4) - a * a);
#pragma unroll 4
  for (int i = threadIdx.x; i < n4; i += 512) {
    const float4 v = in[i];
    out[i] = make_float4((v.x - a) * q, (v.y - a) * q, (v.z - a) * q, (v.w - a) * q);
  }
}
__global__ void __launch_bounds__(512) rows_v(const float4* __restrict__ in, float4* __restrict__ out, int n4) {
  __shared__ float s[16];
  in += size_t(blockIdx.x) * n4;
  out += size_t(blockIdx.x) * n4;
  float a = 0, q = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < n4; i += 512) {
    const float4 v = in[i];
    a += v.x + v.y + v.z + v.w;
  }
  a = block_sum(a, s) / (4.0f * n4);
#pragma unroll 4
  for (int i = threadIdx.x; i < n4; i += 512) {
    const float4 v = in[i];
    q += (v.x - a) * (v.x - a) + (v.y - a) * (v.y - a) + (v.z - a) * (v.z - a) + (v.w - a) * (v.w - a);
  }
  q = rsqrtf(block_sum(q, s) / (4.0f * n4));
#pragma unroll 4
  for (int i = threadIdx.x; i < n4; i += 512) {
    const float4 v = in[i];
    out[i] = make_float4((v.x - a) * q, (v.y - a) * q, (v.z - a) * q, (v.w - a) * q);
  }
}
static void standardise(Bench& b) {
  const int rows = 264, n4 = 1 << 16;
  Buffer<float> in(size_t(rows) * n4 * 4), out(in.n);
  uniform(in, 106, -1, 1);
  b.rtol = b.atol = 1e-2;
  b.variant("slow", "rows_v", out, [&] { LAUNCH(rows_v, rows, 512, 0, (const float4*)in.p, (float4*)out.p, n4); });
  b.variant("fixed", "rows_u", out, [&] { LAUNCH(rows_u, rows, 512, 0, (const float4*)in.p, (float4*)out.p, n4); });
}

// ---- shortest paths over one more hop, C = min(C, A + B): from device memory, or 8 x 8 a thread from tiles
__global__ void hop_r(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  float best = 1e30f;
  for (int k = 0; k < n; ++k) best = fminf(best, a[size_t(row) * n + k] + b[size_t(k) * n + col]);
  c[size_t(row) * n + col] = best;
}
__global__ void __launch_bounds__(256) hop_s(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float ta[16][128 + 4], tb[16][128];
  const int t = threadIdx.x, tx = t & 15, ty = t >> 4, row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  float best[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) best[i][j] = 1e30f;
  for (int k0 = 0; k0 < n; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      ta[t & 15][(t >> 4) + 16 * i] = a[size_t(row0 + (t >> 4) + 16 * i) * n + k0 + (t & 15)];
      tb[(t >> 7) + 2 * i][t & 127] = b[size_t(k0 + (t >> 7) + 2 * i) * n + col0 + (t & 127)];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float u[8], v[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        u[i] = ta[k][ty * 8 + i];
        v[i] = tb[k][tx + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) best[i][j] = fminf(best[i][j], u[i] + v[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) c[size_t(row0 + ty * 8 + i) * n + col0 + tx + 16 * j] = best[i][j];
}
static void hops(Bench& b) {
  const int n = 2048;
  Buffer<float> a(size_t(n) * n), m(a.n), c(a.n);
  uniform(a, 107, 0, 1);
  uniform(m, 108, 0, 1);
  b.variant("slow", "hop_r", c, [&] { LAUNCH(hop_r, dim3(n / 32, n / 8), dim3(32, 8), 0, a.p, m.p, c.p, n); });
  b.variant("fixed", "hop_s", c, [&] { LAUNCH(hop_s, dim3(n / 128, n / 128), 256, 0, a.p, m.p, c.p, n); });
}

// ---- mean of 15 x 15 neighbours: each output reads all 225, or row sums in a tile first
const int R = 7;
__global__ void smooth_f(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float rows[32 + 2 * R][32 + 2 * R + 1], sums[32 + 2 * R][33];
  const int x0 = blockIdx.x * 32 - R, y0 = blockIdx.y * 32 - R, tx = threadIdx.x, ty = threadIdx.y;
  for (int j = ty; j < 32 + 2 * R; j += 8)
    for (int i = tx; i < 32 + 2 * R; i += 32) {
      const int x = x0 + i, y = y0 + j;
      rows[j][i] = x >= 0 && y >= 0 && x < n && y < n ? in[size_t(y) * n + x] : 0;
    }
  __syncthreads();
  for (int j = ty; j < 32 + 2 * R; j += 8) {
    float s = 0;
#pragma unroll
    for (int i = 0; i <= 2 * R; ++i) s += rows[j][tx + i];
    sums[j][tx] = s;
  }
  __syncthreads();
  for (int j = ty; j < 32; j += 8) {
    float s = 0;
#pragma unroll
    for (int i = 0; i <= 2 * R; ++i) s += sums[j + i][tx];
    out[size_t(blockIdx.y * 32 + j) * n + blockIdx.x * 32 + tx] = s * (1.0f / 225);
  }
}
__global__ void smooth_e(const float* __restrict__ in, float* __restrict__ out, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float s = 0;
  for (int j = -R; j <= R; ++j) {
    if (y + j < 0 || y + j >= n) continue;
#pragma unroll
    for (int i = -R; i <= R; ++i)
      if (x + i >= 0 && x + i < n) s += in[size_t(y + j) * n + x + i];
  }
  out[size_t(y) * n + x] = s * (1.0f / 225);
}
static void box_mean(Bench& b) {
  const int n = 4096;
  Buffer<float> in(size_t(n) * n), out(in.n);
  uniform(in, 109, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "smooth_e", out, [&] { LAUNCH(smooth_e, dim3(n / 32, n / 8), dim3(32, 8), 0, in.p, out.p, n); });
  b.variant("fixed", "smooth_f", out, [&] { LAUNCH(smooth_f, dim3(n / 32, n / 32), dim3(32, 8), 0, in.p, out.p, n); });
}

// ---- nearest of 64 centres in 16 dimensions: points as rows, or a dimension at a time; the arithmetic is the same
__constant__ float centres[64 * 16];
template <bool ROWS>
__device__ void nearest(const float* __restrict__ points, int* __restrict__ label, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float p[16];
#pragma unroll
  for (int d = 0; d < 16; ++d) p[d] = ROWS ? points[size_t(i) * 16 + d] : points[size_t(d) * n + i];
  float best = 1e30f;
  int which = 0;
  for (int c = 0; c < 64; ++c) {
    float s = 0;
#pragma unroll
    for (int d = 0; d < 16; ++d) {
      const float t = p[d] - centres[c * 16 + d];
      s = fmaf(t, t, s);
    }
    if (s < best) {
      best = s;
      which = c + 1;
    }
  }
  label[i] = which;
}
__global__ void assign_c(const float* __restrict__ p, int* __restrict__ l, int n) { nearest<true>(p, l, n); }
__global__ void assign_d(const float* __restrict__ p, int* __restrict__ l, int n) { nearest<false>(p, l, n); }
__global__ void by_dimension(const float* __restrict__ in, float* __restrict__ out, int n) {
  for (size_t k = TID; k < size_t(n) * 16; k += TIDS) out[(k % 16) * n + k / 16] = in[k];
}
static void clusters(Bench& b) {
  const int n = 1 << 22;
  Buffer<float> p(size_t(n) * 16), q(p.n);
  Buffer<int> label(n);
  uniform(p, 110, 0, 1);
  LAUNCH(by_dimension, 4096, 256, 0, p.p, q.p, n);
  std::vector<float> c(64 * 16);
  for (size_t i = 0; i < c.size(); ++i) c[i] = (mix(u32(i) + 77u) >> 8) * (1.0f / 16777216.0f);
  CK(cudaMemcpyToSymbol(centres, c.data(), c.size() * sizeof(float)));
  b.variant("slow", "assign_c", label, [&] { LAUNCH(assign_c, n / 256, 256, 0, p.p, label.p, n); });
  b.variant("fixed", "assign_d", label, [&] { LAUNCH(assign_d, n / 256, 256, 0, q.p, label.p, n); });
}

// ---- sums of very short rows (4 entries): a warp a row, or four lanes a row
template <int LANES>
__device__ void short_rows(const int* __restrict__ from, const float* __restrict__ v, float* __restrict__ out, int rows) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x & (LANES - 1);
  if (r >= rows) return;
  const int end = from[r + 1];
  float s = 0;
  for (int k = from[r] + lane; k < end; k += LANES) s += v[k] * v[k];
#pragma unroll
  for (int d = LANES / 2; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) out[r] = s;
}
__global__ void rowsq_j(const int* __restrict__ f, const float* __restrict__ v, float* __restrict__ o, int rows) { short_rows<4>(f, v, o, rows); }
__global__ void rowsq_h(const int* __restrict__ f, const float* __restrict__ v, float* __restrict__ o, int rows) { short_rows<32>(f, v, o, rows); }
__global__ void every_fourth(int* from, int n) {
  for (int i = TID; i < n; i += TIDS) from[i] = 4 * i;
}
static void short_sums(Bench& b) {
  const int rows = 1 << 23;
  Buffer<int> from(rows + 1);
  Buffer<float> v(size_t(rows) * 4), out(rows);
  LAUNCH(every_fourth, 4096, 256, 0, from.p, rows + 1);
  uniform(v, 111, -1, 1);
  b.variant("slow", "rowsq_h", out, [&] { LAUNCH(rowsq_h, rows / 8, 256, 0, from.p, v.p, out.p, rows); });
  b.variant("fixed", "rowsq_j", out, [&] { LAUNCH(rowsq_j, rows / 64, 256, 0, from.p, v.p, out.p, rows); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"thomas", "uncoalesced_access", "slow=tri_q fixed=tri_p", thomas},
      {"cipher_tables", "shared_bank_conflicts", "slow=rounds_two fixed=rounds_one", cipher_tables},
      {"dequantise", "narrow_access", "slow=widen_m fixed=widen_k", dequantise},
      {"standardise", "extra_passes l2_thrash", "slow=rows_v fixed=rows_u", standardise},
      {"hops", "missing_tiling", "slow=hop_r fixed=hop_s", hops},
      {"box_mean", "missing_tiling", "slow=smooth_e fixed=smooth_f", box_mean},
      {"clusters", "no_gain:uncoalesced_access", "slow=assign_c fixed=assign_d", clusters},
      {"short_sums", "thread_divergence", "slow=rowsq_h fixed=rowsq_j", short_sums},
  });
}
