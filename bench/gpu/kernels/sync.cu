// Kernels whose planted fault is in how threads work together, or in arrays that do not stay in registers.
#include "bench.cuh"

// --- prefix sums within segments of 1024: ten rounds between barriers, or shuffles and four values a lane
__global__ void __launch_bounds__(1024) k21_a(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[2][1024];
  int t = threadIdx.x, at = 0;
  s[0][t] = in[TID];
  __syncthreads();
  for (int d = 1; d < 1024; d *= 2) {
    s[1 - at][t] = s[at][t] + (t >= d ? s[at][t - d] : 0);
    at = 1 - at;
    __syncthreads();
  }
  out[TID] = s[at][t];
}
__global__ void __launch_bounds__(256) k21_b(const float4* __restrict__ in, float4* __restrict__ out) {
  __shared__ float part[8];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float4 v = in[TID];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  float sum = v.w;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    float o = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += o;
  }
  if (lane == 31) part[warp] = sum;
  __syncthreads();
  float before = sum - v.w;
#pragma unroll
  for (int w = 0; w < 7; ++w) before += w < warp ? part[w] : 0;
  out[TID] = make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
}
static void scan(Bench& b) {
  const int n = 1 << 26;
  Buffer<float> in(n), out(n);
  uniform(in, 41, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "k21_a", out, [&] { LAUNCH(k21_a, n / 1024, 1024, 0, in.p, out.p); });
  b.variant("fixed", "k21_b", out, [&] { LAUNCH(k21_b, n / 1024, 256, 0, (const float4*)in.p, (float4*)out.p); });
}

// --- 256 bins, half of the values in four of them: counted in device memory, or in four copies a block
__device__ __forceinline__ u32 bin_of(u32 v) { return v & 1 ? v >> 1 & 255 : v >> 9 & 3; }
__global__ void k22_a(const u32* __restrict__ in, u32* __restrict__ bins, int n) {
  for (int i = TID; i < n; i += TIDS) atomicAdd(&bins[bin_of(in[i])], 1u);
}
__global__ void __launch_bounds__(256) k22_b(const u32* __restrict__ in, u32* __restrict__ bins, int n) {
  __shared__ u32 s[8 * 257];
  for (int i = threadIdx.x; i < 8 * 257; i += 256) s[i] = 0;
  __syncthreads();
  u32* mine = s + (threadIdx.x >> 5) * 257;
  for (int i = TID; i < n; i += TIDS) atomicAdd(&mine[bin_of(in[i])], 1u);
  __syncthreads();
  u32 sum = 0;
  for (int w = 0; w < 8; ++w) sum += s[w * 257 + threadIdx.x];
  atomicAdd(&bins[threadIdx.x], sum);
}
static void bins256(Bench& b) {
  const int n = 1 << 23;
  Buffer<u32> in(n), bins(256);
  bits(in, 42, 0xFFFFFFFFu);
  b.variant("slow", "k22_a", bins, [&] { LAUNCH(k22_a, 132 * 8, 256, 0, in.p, bins.p, n); });
  b.variant("fixed", "k22_b", bins, [&] { LAUNCH(k22_b, 132 * 8, 256, 0, in.p, bins.p, n); });
}

// --- room in a log for records of different lengths: each record asks for its own, or a block for all of its
__global__ void k23_a(const u32* __restrict__ length, u32* __restrict__ offset, u32* __restrict__ end, int n) {
  int i = TID;
  if (i < n) offset[i] = atomicAdd(end, length[i]);
}
__global__ void __launch_bounds__(256) k23_b(const u32* __restrict__ length, u32* __restrict__ offset, u32* __restrict__ end, int n) {
  __shared__ u32 part[8], base;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  u32 own = length[TID], sum = own;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    u32 o = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += o;
  }
  if (lane == 31) part[warp] = sum;
  __syncthreads();
  u32 before = sum - own, total = 0;
#pragma unroll
  for (int w = 0; w < 8; ++w) {
    before += w < warp ? part[w] : 0;
    total += part[w];
  }
  if (threadIdx.x == 0) base = atomicAdd(end, total);
  __syncthreads();
  offset[TID] = base + before;
}
static void append_log(Bench& b) {
  const int n = 1 << 20;
  Buffer<u32> length(n), offset(n), end(1);
  bits(length, 43, 255);
  b.variant("slow", "k23_a", end, [&] { LAUNCH(k23_a, n / 256, 256, 0, length.p, offset.p, end.p, n); });
  b.variant("fixed", "k23_b", end, [&] { LAUNCH(k23_b, n / 256, 256, 0, length.p, offset.p, end.p, n); });
}

// --- how many keys have each digit, keys nearly sorted: one count a lane, or one for the lanes that agree
template <bool TOGETHER>
__device__ void digits(const u32* __restrict__ keys, u32* __restrict__ counts, int per_block) {
  __shared__ u32 s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  const u32* k = keys + size_t(blockIdx.x) * per_block;
  for (int i = threadIdx.x; i < per_block; i += 256) {
    u32 digit = k[i] >> 24;
    if (TOGETHER) {
      u32 same = __match_any_sync(~0u, digit);
      if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&s[digit], __popc(same));
    } else {
      atomicAdd(&s[digit], 1u + (k[i] == 0xFFFFFFFFu));
    }
  }
  __syncthreads();
  counts[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
__global__ void __launch_bounds__(256) k24_a(const u32* __restrict__ keys, u32* __restrict__ counts, int per_block) { digits<true>(keys, counts, per_block); }
__global__ void __launch_bounds__(256) k24_b(const u32* __restrict__ keys, u32* __restrict__ counts, int per_block) { digits<false>(keys, counts, per_block); }
static void radix_count(Bench& b) {
  const int n = 1 << 26, per = 1 << 15;
  std::vector<u32> k(n);
  for (int i = 0; i < n; ++i) k[i] = u32(i) * 60u + (mix(i) & 0xFFFF);
  Buffer<u32> keys(n), counts(size_t(n / per) * 256);
  keys.put(k);
  b.variant("slow", "k24_b", counts, [&] { LAUNCH(k24_b, n / per, 256, 0, keys.p, counts.p, per); });
  b.variant("fixed", "k24_a", counts, [&] { LAUNCH(k24_a, n / per, 256, 0, keys.p, counts.p, per); });
}

// --- determinants of 8 x 8 matrices, one a thread, rows exchanged by index: an array of its own, or a column of a tile
__global__ void __launch_bounds__(128) k25_a(const float* __restrict__ in, float* __restrict__ out, int n) {
  float a[64];
  int row[8];
  for (int k = 0; k < 64; ++k) a[k] = in[size_t(k) * n + TID];
  for (int k = 0; k < 8; ++k) row[k] = k;
  float det = 1;
  for (int c = 0; c < 8; ++c) {
    int best = c;
    for (int r = c + 1; r < 8; ++r)
      if (fabsf(a[row[r] * 8 + c]) > fabsf(a[row[best] * 8 + c])) best = r;
    int t = row[c];
    row[c] = row[best];
    row[best] = t;
    float pivot = a[row[c] * 8 + c];
    det *= best == c ? pivot : -pivot;
    for (int r = c + 1; r < 8; ++r) {
      float f = a[row[r] * 8 + c] / pivot;
      for (int k = c + 1; k < 8; ++k) a[row[r] * 8 + k] -= f * a[row[c] * 8 + k];
    }
  }
  out[TID] = det;
}
__global__ void __launch_bounds__(128) k25_b(const float* __restrict__ in, float* __restrict__ out, int n) {
  float a[8][8];
#pragma unroll
  for (int k = 0; k < 64; ++k) a[k >> 3][k & 7] = in[size_t(k) * n + TID];
  float det = 1;
#pragma unroll
  for (int c = 0; c < 8; ++c) {
#pragma unroll
    for (int r = c + 1; r < 8; ++r) {   // the largest so far moves up, element by element
      bool larger = fabsf(a[r][c]) > fabsf(a[c][c]);
      det = larger ? -det : det;
#pragma unroll
      for (int k = c; k < 8; ++k) {
        float u = a[c][k], v = a[r][k];
        a[c][k] = larger ? v : u;
        a[r][k] = larger ? u : v;
      }
    }
    det *= a[c][c];
#pragma unroll
    for (int r = c + 1; r < 8; ++r) {
      float f = a[r][c] / a[c][c];
#pragma unroll
      for (int k = c + 1; k < 8; ++k) a[r][k] -= f * a[c][k];
    }
  }
  out[TID] = det;
}
static void determinants(Bench& b) {
  const int n = 1 << 20;
  Buffer<float> in(size_t(n) * 64), out(n);
  uniform(in, 44, -1, 1);
  b.rtol = 1e-2;
  b.atol = 1e-3;
  b.variant("slow", "k25_a", out, [&] { LAUNCH(k25_a, n / 128, 128, 0, in.p, out.p, n); });
  b.variant("fixed", "k25_b", out, [&] { LAUNCH(k25_b, n / 128, 128, 0, in.p, out.p, n); });
}

// --- the sixteen largest of each column, held sorted: moved by a loop over an index, or by an unrolled exchange
__global__ void __launch_bounds__(256) k26_a(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
  float best[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) best[k] = -1e9f - k;
  for (int r = 0; r < rows; ++r) {
    float v = in[size_t(r) * cols + TID];
    if (v <= best[15]) continue;
    int k = 15;
#pragma unroll 1
    for (; k > 0 && best[k - 1] < v; --k) best[k] = best[k - 1];
    best[k] = v;
  }
  float s = 0;
#pragma unroll 1
  for (int k = 0; k < 16; ++k) s += best[k] / (k + 1);
  out[TID] = s;
}
__global__ void __launch_bounds__(256) k26_b(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
  float best[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) best[k] = -1e9f - k;
  for (int r = 0; r < rows; ++r) {
    float v = in[size_t(r) * cols + TID];
    if (v <= best[15]) continue;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float high = fmaxf(best[k], v);
      v = fminf(best[k], v);
      best[k] = high;
    }
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) s += best[k] / (k + 1);
  out[TID] = s;
}
static void topk(Bench& b) {
  const int rows = 512, cols = 132 * 8 * 256;
  Buffer<float> in(size_t(rows) * cols), out(cols);
  uniform(in, 45, 0, 1);
  b.variant("slow", "k26_a", out, [&] { LAUNCH(k26_a, cols / 256, 256, 0, in.p, out.p, rows, cols); });
  b.variant("fixed", "k26_b", out, [&] { LAUNCH(k26_b, cols / 256, 256, 0, in.p, out.p, rows, cols); });
}

// --- rows of 512 made to have length one: all threads of a block wait for thread 0 to add, or a warp a row
__global__ void __launch_bounds__(512) k27_a(const float* __restrict__ in, float* __restrict__ out, int rows) {
  __shared__ float s[512], scale;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    float v = in[size_t(r) * 512 + threadIdx.x];
    s[threadIdx.x] = v * v;
    __syncthreads();
    for (int d = 256; d >= 32; d >>= 1) {
      if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      float sum = 0;
      for (int k = 0; k < 32; ++k) sum += s[k];
      scale = rsqrtf(sum);
    }
    __syncthreads();
    out[size_t(r) * 512 + threadIdx.x] = v * scale;
  }
}
__global__ void __launch_bounds__(512) k27_b(const float4* __restrict__ in, float4* __restrict__ out, int rows) {
  int row = TID >> 5, lane = threadIdx.x & 31;
  for (; row < rows; row += TIDS >> 5) {
    float4 v[4];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = in[size_t(row) * 128 + k * 32 + lane];
      sum += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    float f = rsqrtf(sum);
#pragma unroll
    for (int k = 0; k < 4; ++k) out[size_t(row) * 128 + k * 32 + lane] = make_float4(v[k].x * f, v[k].y * f, v[k].z * f, v[k].w * f);
  }
}
static void unit_rows(Bench& b) {
  const int rows = 1 << 17;
  Buffer<float> in(size_t(rows) * 512), out(in.n);
  uniform(in, 46, -1, 1);
  b.variant("slow", "k27_a", out, [&] { LAUNCH(k27_a, 132 * 4, 512, 0, in.p, out.p, rows); });
  b.variant("fixed", "k27_b", out, [&] { LAUNCH(k27_b, 132 * 4, 512, 0, (const float4*)in.p, (float4*)out.p, rows); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"scan", "barrier_stalls", "slow=k21_a fixed=k21_b", scan},
      {"bins256", "atomic_contention", "slow=k22_a fixed=k22_b", bins256},
      {"append_log", "atomic_contention", "slow=k23_a fixed=k23_b", append_log},
      {"radix_count", "atomic_contention shared_bank_conflicts", "slow=k24_b fixed=k24_a", radix_count},
      {"determinants", "register_spills", "slow=k25_a fixed=k25_b", determinants},
      {"topk", "register_spills thread_divergence", "slow=k26_a fixed=k26_b", topk},
      {"unit_rows", "barrier_stalls thread_divergence", "slow=k27_a fixed=k27_b", unit_rows},
  });
}
