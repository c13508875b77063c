// Kernels whose planted fault is in how they reach memory. Each pair computes the same from inputs of the same content.
#include "bench.cuh"

// --- sparse matrix times vector, 48 entries a row: rows stored one after the other, or entry by entry over all rows
__global__ void k01_a(const int* __restrict__ cols, const float* __restrict__ vals, const float* __restrict__ x, float* __restrict__ y, int rows, int width) {
  int r = TID;
  if (r >= rows) return;
  float s = 0;
  for (int k = 0; k < width; ++k) s += vals[size_t(r) * width + k] * x[cols[size_t(r) * width + k]];
  y[r] = s;
}
__global__ void k01_b(const int* __restrict__ cols, const float* __restrict__ vals, const float* __restrict__ x, float* __restrict__ y, int rows, int width) {
  int r = TID;
  if (r >= rows) return;
  float s = 0;
  for (int k = 0; k < width; ++k) s += vals[size_t(k) * rows + r] * x[cols[size_t(k) * rows + r]];
  y[r] = s;
}
static void spmv(Bench& b) {
  const int rows = 1 << 19, width = 48, n = 1 << 15;
  std::vector<int> cols(size_t(rows) * width), cols_t(cols.size());
  std::vector<float> vals(cols.size()), vals_t(cols.size());
  for (size_t r = 0; r < size_t(rows); ++r)
    for (size_t k = 0; k < size_t(width); ++k) {
      u32 h = mix(u32(r * width + k));
      cols[r * width + k] = cols_t[k * rows + r] = int((r / 32 + (h & 255)) % n);
      vals[r * width + k] = vals_t[k * rows + r] = (h >> 8) * (1.0f / 16777216.0f);
    }
  Buffer<int> c(cols.size());
  Buffer<float> v(vals.size()), x(n), y(rows);
  uniform(x, 1, 0, 1);
  c.put(cols);
  v.put(vals);
  b.variant("slow", "k01_a", y, [&] { LAUNCH(k01_a, rows / 256, 256, 0, c.p, v.p, x.p, y.p, rows, width); });
  c.put(cols_t);
  v.put(vals_t);
  b.variant("fixed", "k01_b", y, [&] { LAUNCH(k01_b, rows / 256, 256, 0, c.p, v.p, x.p, y.p, rows, width); });
}

// --- one Jacobi step on a cube: which axis runs along the lanes
template <bool LANES_ON_X>
__device__ void relax(const float* __restrict__ in, float* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
  int x = LANES_ON_X ? i : k, z = LANES_ON_X ? k : i, y = j;
  if (x < 1 || y < 1 || z < 1 || x > n - 2 || y > n - 2 || z > n - 2) return;
  size_t at = (size_t(z) * n + y) * n + x, plane = size_t(n) * n;
  out[at] = (in[at - 1] + in[at + 1] + in[at - n] + in[at + n] + in[at - plane] + in[at + plane]) * (1.0f / 6);
}
__global__ void k02_a(const float* __restrict__ in, float* __restrict__ out, int n) { relax<true>(in, out, n); }
__global__ void k02_b(const float* __restrict__ in, float* __restrict__ out, int n) { relax<false>(in, out, n); }
static void jacobi(Bench& b) {
  const int n = 384;
  Buffer<float> in(size_t(n) * n * n), out(in.n);
  uniform(in, 2, 0, 1);
  dim3 grid(n / 32, n / 8, n), block(32, 8);
  b.variant("slow", "k02_b", out, [&] { LAUNCH(k02_b, grid, block, 0, in.p, out.p, n); });
  b.variant("fixed", "k02_a", out, [&] { LAUNCH(k02_a, grid, block, 0, in.p, out.p, n); });
}

// --- rows of 64 picked from a table, scaled and stored: a thread or half a warp a row
__global__ void k03_a(const float* __restrict__ table, const u32* __restrict__ ids, float* __restrict__ out, int n) {
  int i = TID;
  if (i >= n) return;
  const float* row = table + size_t(ids[i]) * 64;
  for (int k = 0; k < 64; ++k) out[size_t(i) * 64 + k] = row[k] * 0.125f;
}
__global__ void k03_b(const float4* __restrict__ table, const u32* __restrict__ ids, float4* __restrict__ out, int n) {
  int i = TID >> 4, k = TID & 15;
  if (i >= n) return;
  float4 v = table[size_t(ids[i]) * 16 + k];
  out[size_t(i) * 16 + k] = make_float4(v.x * 0.125f, v.y * 0.125f, v.z * 0.125f, v.w * 0.125f);
}
static void embedding(Bench& b) {
  const int n = 1 << 20, entries = 1 << 20;
  Buffer<float> table(size_t(entries) * 64), out(size_t(n) * 64);
  Buffer<u32> ids(n);
  uniform(table, 3, -1, 1);
  bits(ids, 4, entries - 1);
  b.variant("slow", "k03_a", out, [&] { LAUNCH(k03_a, n / 256, 256, 0, table.p, ids.p, out.p, n); });
  b.variant("fixed", "k03_b", out, [&] { LAUNCH(k03_b, n / 16, 256, 0, (const float4*)table.p, ids.p, (float4*)out.p, n); });
}

// --- colour to grey: a pixel of three bytes a thread, or sixteen pixels from three 16-byte words
__device__ __forceinline__ u32 grey(u32 r, u32 g, u32 b) { return (77 * r + 150 * g + 29 * b) >> 8; }
__global__ void k04_a(const unsigned char* __restrict__ in, unsigned char* __restrict__ out, int n) {
  int i = TID;
  if (i < n) out[i] = (unsigned char)grey(in[3 * size_t(i)], in[3 * size_t(i) + 1], in[3 * size_t(i) + 2]);
}
__global__ void k04_b(const uint4* __restrict__ in, uint4* __restrict__ out, int n16) {
  int i = TID;
  if (i >= n16) return;
  uint4 w[3] = {in[3 * size_t(i)], in[3 * size_t(i) + 1], in[3 * size_t(i) + 2]};
  const u32* word = &w[0].x;
  u32 o[4] = {0, 0, 0, 0};
#pragma unroll
  for (int p = 0; p < 16; ++p) {
    u32 c[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) c[k] = word[(3 * p + k) >> 2] >> (8 * ((3 * p + k) & 3)) & 255;
    o[p >> 2] |= grey(c[0], c[1], c[2]) << (8 * (p & 3));
  }
  out[i] = make_uint4(o[0], o[1], o[2], o[3]);
}
static void gray(Bench& b) {
  const int n = 1 << 27;
  Buffer<u32> in(size_t(n) * 3 / 4);
  Buffer<unsigned char> out(n);
  bits(in, 5, 0xFFFFFFFFu);
  b.variant("slow", "k04_a", out, [&] { LAUNCH(k04_a, n / 256, 256, 0, (const unsigned char*)in.p, out.p, n); });
  b.variant("fixed", "k04_b", out, [&] { LAUNCH(k04_b, n / 16 / 256, 256, 0, (const uint4*)in.p, (uint4*)out.p, n / 16); });
}

// --- int8 matrix times vector, a warp a row: a byte a lane, or sixteen and four-way products
__global__ void k05_a(const signed char* __restrict__ a, const signed char* __restrict__ x, int* __restrict__ y, int cols) {
  int row = TID >> 5, lane = TID & 31, s = 0;
  const signed char* r = a + size_t(row) * cols;
  for (int c = lane; c < cols; c += 32) s += int(r[c]) * int(x[c]);
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[row] = s;
}
__global__ void k05_b(const int4* __restrict__ a, const int4* __restrict__ x, int* __restrict__ y, int cols) {
  int row = TID >> 5, lane = TID & 31, s = 0;
  const int4* r = a + size_t(row) * (cols / 16);
#pragma unroll 4
  for (int c = lane; c < cols / 16; c += 32) {
    int4 u = r[c], v = x[c];
    s = __dp4a(u.x, v.x, s);
    s = __dp4a(u.y, v.y, s);
    s = __dp4a(u.z, v.z, s);
    s = __dp4a(u.w, v.w, s);
  }
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[row] = s;
}
static void int8_matvec(Bench& b) {
  const int rows = 1 << 16, cols = 8192;
  Buffer<u32> a(size_t(rows) * cols / 4), x(cols / 4);
  Buffer<int> y(rows);
  bits(a, 6, 0xFFFFFFFFu);
  bits(x, 7, 0xFFFFFFFFu);
  b.variant("slow", "k05_a", y, [&] { LAUNCH(k05_a, rows / 8, 256, 0, (const signed char*)a.p, (const signed char*)x.p, y.p, cols); });
  b.variant("fixed", "k05_b", y, [&] { LAUNCH(k05_b, rows / 8, 256, 0, (const int4*)a.p, (const int4*)x.p, y.p, cols); });
}

// --- transpose of pairs of halves through a tile: the tile's pitch
template <int PITCH>
__device__ void turn(const __half2* __restrict__ in, __half2* __restrict__ out, int n, __half2* tile) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) tile[(threadIdx.y + j) * PITCH + threadIdx.x] = in[size_t(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8) out[size_t(y + j) * n + x] = tile[threadIdx.x * PITCH + threadIdx.y + j];
}
__global__ void k06_a(const __half2* __restrict__ in, __half2* __restrict__ out, int n) {
  __shared__ __half2 tile[32 * 33];
  turn<33>(in, out, n, tile);
}
__global__ void k06_b(const __half2* __restrict__ in, __half2* __restrict__ out, int n) {
  __shared__ __half2 tile[32 * 32];
  turn<32>(in, out, n, tile);
}
static void transpose_half(Bench& b) {
  const int n = 8192;
  Buffer<__half> in(size_t(n) * n * 2), out(in.n);
  uniform(in, 8);
  dim3 grid(n / 32, n / 32), block(32, 8);
  b.variant("slow", "k06_b", out, [&] { LAUNCH(k06_b, grid, block, 0, (const __half2*)in.p, (__half2*)out.p, n); });
  b.variant("fixed", "k06_a", out, [&] { LAUNCH(k06_a, grid, block, 0, (const __half2*)in.p, (__half2*)out.p, n); });
}

// --- how often a word of 4 letters occurs: each thread walks 128 letters of its own, or all walk together
__global__ void k07_a(const unsigned char* __restrict__ text, u32* __restrict__ hits, u32 word) {
  size_t from = size_t(TID) * 128;
  u32 w = 0, found = 0;
  for (int k = 0; k < 131; ++k) {
    w = w << 8 | text[from + k];
    found += k >= 3 && w == word;
  }
  hits[TID] = found;
}
__global__ void k07_b(const unsigned char* __restrict__ text, u32* __restrict__ hits, u32 word) {
  __shared__ u32 part[256 * 33];
  size_t from = size_t(blockIdx.x) * 256 * 128;
  for (int k = threadIdx.x; k < 256 * 32; k += 256) part[(k >> 5) * 33 + (k & 31)] = ((const u32*)(text + from))[k];
  __syncthreads();
  u32 w = 0, found = 0;
  for (int k = 0; k < 32; ++k) {
    u32 four = part[threadIdx.x * 33 + k];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      w = w << 8 | (four >> (8 * c) & 255);
      found += (k > 0 || c == 3) && w == word;
    }
  }
  u32 next = *(const u32*)(text + size_t(TID + 1) * 128);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    w = w << 8 | (next >> (8 * c) & 255);
    found += w == word;
  }
  hits[TID] = found;
}
static void word_count(Bench& b) {
  const int threads = (1 << 28) / 128;
  Buffer<u32> text((size_t(1) << 26) + 256), hits(threads);
  bits(text, 9, 0x03030303u);
  const u32 word = 0x01000302u;
  b.variant("slow", "k07_a", hits, [&] { LAUNCH(k07_a, threads / 256, 256, 0, (const unsigned char*)text.p, hits.p, word); });
  b.variant("fixed", "k07_b", hits, [&] { LAUNCH(k07_b, threads / 256, 256, 0, (const unsigned char*)text.p, hits.p, word); });
}

// --- six moments of an array: a sweep for each, or all in one
__device__ __forceinline__ void moment_store(float s, float* out, int m) {
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) out[(TID >> 5) * 6 + m] = s;
}
__global__ void k08_a(const float4* __restrict__ in, float* __restrict__ out, int n4, int moments) {
  float c = 0.25f;
  for (int m = 0; m < moments; ++m, c += 0.125f) {
    float s = 0;
#pragma unroll 4
    for (int i = TID; i < n4; i += TIDS) {
      float4 v = in[i];
      s += (v.x - c) * (v.x - c) + (v.y - c) * (v.y - c) + (v.z - c) * (v.z - c) + (v.w - c) * (v.w - c);
    }
    moment_store(s, out, m);
  }
}
__global__ void k08_b(const float4* __restrict__ in, float* __restrict__ out, int n4) {
  float s[6] = {0, 0, 0, 0, 0, 0};
#pragma unroll 2
  for (int i = TID; i < n4; i += TIDS) {
    float4 v = in[i];
#pragma unroll
    for (int m = 0; m < 6; ++m) {
      const float c = 0.25f + 0.125f * m;
      s[m] += (v.x - c) * (v.x - c) + (v.y - c) * (v.y - c) + (v.z - c) * (v.z - c) + (v.w - c) * (v.w - c);
    }
  }
#pragma unroll
  for (int m = 0; m < 6; ++m) moment_store(s[m], out, m);
}
static void moments(Bench& b) {
  const int n4 = 1 << 24, grid = 132 * 8;
  Buffer<float> in(size_t(n4) * 4), out(size_t(grid) * 8 * 6);
  uniform(in, 10, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "k08_a", out, [&] { LAUNCH(k08_a, grid, 256, 0, (const float4*)in.p, out.p, n4, 6); });
  b.variant("fixed", "k08_b", out, [&] { LAUNCH(k08_b, grid, 256, 0, (const float4*)in.p, out.p, n4); });
}

// --- lower bounds in a sorted array: one query at a time, or eight that advance together
template <int AT_ONCE>
__device__ void bounds(const u32* __restrict__ sorted, const u32* __restrict__ keys, u32* __restrict__ out, int n, int queries) {
  for (int q = TID; q < queries; q += TIDS * AT_ONCE) {
    u32 low[AT_ONCE], key[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      low[k] = 0;
      key[k] = keys[q + k * TIDS];
    }
    for (int half = n >> 1; half; half >>= 1) {
#pragma unroll
      for (int k = 0; k < AT_ONCE; ++k) low[k] += sorted[low[k] + half - 1] < key[k] ? half : 0;
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) out[q + k * TIDS] = low[k];
  }
}
__global__ void k09_a(const u32* __restrict__ sorted, const u32* __restrict__ keys, u32* __restrict__ out, int n, int queries) {
  bounds<8>(sorted, keys, out, n, queries);
}
__global__ void k09_b(const u32* __restrict__ sorted, const u32* __restrict__ keys, u32* __restrict__ out, int n, int queries) {
  bounds<1>(sorted, keys, out, n, queries);
}
static void search(Bench& b) {
  const int n = 1 << 26, grid = 128, queries = grid * 128 * 64;
  std::vector<u32> s(n);
  for (int i = 0; i < n; ++i) s[i] = u32(i) * 60u + (mix(i) & 31);
  Buffer<u32> sorted(n), keys(queries), out(queries);
  sorted.put(s);
  bits(keys, 11, 0xEFFFFFFFu);
  b.variant("slow", "k09_b", out, [&] { LAUNCH(k09_b, grid, 128, 0, sorted.p, keys.p, out.p, n, queries); });
  b.variant("fixed", "k09_a", out, [&] { LAUNCH(k09_a, grid, 128, 0, sorted.p, keys.p, out.p, n, queries); });
}

// --- 9 x 9 filter of an image: each output reads its 81 inputs, or from a tile, eight outputs a thread
__constant__ float filter9[81];
__global__ void k10_a(const float* __restrict__ in, float* __restrict__ out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x + 8 >= n || y + 8 >= n) return;
  float s = 0;
#pragma unroll
  for (int j = 0; j < 9; ++j)
#pragma unroll
    for (int i = 0; i < 9; ++i) s += filter9[j * 9 + i] * in[size_t(y + j) * n + x + i];
  out[size_t(y) * n + x] = s;
}
__global__ void k10_b(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[72][40];
  int x0 = blockIdx.x * 32, y0 = blockIdx.y * 64, tx = threadIdx.x, ty = threadIdx.y;
  for (int j = ty; j < 72; j += 8)
    for (int i = tx; i < 40; i += 32) tile[j][i] = x0 + i < n && y0 + j < n ? in[size_t(y0 + j) * n + x0 + i] : 0;
  __syncthreads();
  float s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    float v[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) v[j] = tile[ty * 8 + j][tx + i];
#pragma unroll
    for (int j = 0; j < 9; ++j)
#pragma unroll
      for (int k = 0; k < 8; ++k) s[k] += filter9[j * 9 + i] * v[j + k];
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    int x = x0 + tx, y = y0 + ty * 8 + k;
    if (x + 8 < n && y + 8 < n) out[size_t(y) * n + x] = s[k];
  }
}
static void conv2d(Bench& b) {
  const int n = 6144;
  Buffer<float> in(size_t(n) * n), out(in.n);
  uniform(in, 12, 0, 1);
  float f[81];
  for (int i = 0; i < 81; ++i) f[i] = 1.0f / (3 + i);
  CK(cudaMemcpyToSymbol(filter9, f, sizeof f));
  b.variant("slow", "k10_a", out, [&] { LAUNCH(k10_a, dim3(n / 32, n / 8), dim3(32, 8), 0, in.p, out.p, n); });
  b.variant("fixed", "k10_b", out, [&] { LAUNCH(k10_b, dim3(n / 32, n / 64), dim3(32, 8), 0, in.p, out.p, n); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"spmv", "uncoalesced_access", "slow=k01_a fixed=k01_b", spmv},
      {"jacobi", "uncoalesced_access", "slow=k02_b fixed=k02_a", jacobi},
      {"embedding", "uncoalesced_access", "slow=k03_a fixed=k03_b", embedding},
      {"gray", "narrow_access", "slow=k04_a fixed=k04_b", gray},
      {"int8_matvec", "narrow_access", "slow=k05_a fixed=k05_b", int8_matvec},
      {"transpose_half", "shared_bank_conflicts", "slow=k06_b fixed=k06_a", transpose_half},
      {"word_count", "uncoalesced_access narrow_access", "slow=k07_a fixed=k07_b", word_count},
      {"moments", "extra_passes l2_thrash", "slow=k08_a fixed=k08_b", moments},
      {"search", "memory_latency", "slow=k09_b fixed=k09_a", search},
      {"conv2d", "missing_tiling", "slow=k10_a fixed=k10_b", conv2d},
  });
}
