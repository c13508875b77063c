// Work and how threads share it: pairs whose planted fault lies in arithmetic, schedules, atomics or registers.
#include "bench.cuh"

// ---- how often a random chord of a ball is longer than its radius: uniform numbers by way of doubles, or of floats
__device__ __forceinline__ u32 next_bits(u32& s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}
template <class T>
__device__ __forceinline__ u32 draws(u32 s, int rounds) {
  u32 hits = 0;
  for (int i = 0; i < rounds; ++i) {
    const T x = T(next_bits(s) >> 8) * T(1.0 / 16777216.0), y = T(next_bits(s) >> 8) * T(1.0 / 16777216.0), z = T(next_bits(s) >> 8) * T(1.0 / 16777216.0);
    hits += x * x + y * y + z * z < T(1);
  }
  return hits;
}
__global__ void throw_x(u32* __restrict__ out, int rounds) { out[TID] = draws<float>(mix(TID + 1u) | 1u, rounds); }
__global__ void throw_y(u32* __restrict__ out, int rounds) { out[TID] = draws<double>(mix(TID + 1u) | 1u, rounds); }
static void monte_carlo(Bench& b) {
  Buffer<u32> out(132 * 16 * 256);
  b.atol = 2;
  b.variant("slow", "throw_y", out, [&] { LAUNCH(throw_y, 132 * 16, 256, 0, out.p, 512); });
  b.variant("fixed", "throw_x", out, [&] { LAUNCH(throw_x, 132 * 16, 256, 0, out.p, 512); });
}

// ---- a tone curve by powers, four channels a thread: the exact power, or that of the hardware
template <bool HARDWARE>
__device__ __forceinline__ float curve(float v, float gamma) {
  float s = 0;
#pragma unroll 4
  for (int k = 0; k < 8; ++k) {
    const float e = gamma + 0.05f * k;
    s += HARDWARE ? __powf(v, e) : powf(v, e);
  }
  return s * 0.125f;
}
__global__ void grade_n(const float4* __restrict__ in, float4* __restrict__ out, float gamma) {
  const float4 v = in[TID];
  out[TID] = make_float4(curve<false>(v.x, gamma), curve<false>(v.y, gamma), curve<false>(v.z, gamma), curve<false>(v.w, gamma));
}
__global__ void grade_o(const float4* __restrict__ in, float4* __restrict__ out, float gamma) {
  const float4 v = in[TID];
  out[TID] = make_float4(curve<true>(v.x, gamma), curve<true>(v.y, gamma), curve<true>(v.z, gamma), curve<true>(v.w, gamma));
}
static void tone_curve(Bench& b) {
  const int n4 = 1 << 22;
  Buffer<float> in(size_t(n4) * 4), out(in.n);
  uniform(in, 121, 0.01f, 1);
  b.rtol = b.atol = 1e-3;
  b.variant("slow", "grade_n", out, [&] { LAUNCH(grade_n, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p, 0.4f); });
  b.variant("fixed", "grade_o", out, [&] { LAUNCH(grade_o, n4 / 256, 256, 0, (const float4*)in.p, (float4*)out.p, 0.4f); });
}

// ---- bitonic sort of 1024 keys a block: every exchange through shared memory, or near ones between lanes
template <bool NEAR_BY_SHUFFLE>
__device__ void sort_block(const u32* __restrict__ in, u32* __restrict__ out) {
  __shared__ u32 s[1024];
  const int t = threadIdx.x;
  u32 v = in[blockIdx.x * 1024 + t];
  for (int width = 2; width <= 1024; width <<= 1)
    for (int step = width >> 1; step; step >>= 1) {
      u32 other;
      if (NEAR_BY_SHUFFLE && step < 32) {
        other = __shfl_xor_sync(~0u, v, step);
      } else {
        s[t] = v;
        __syncthreads();
        other = s[t ^ step];
        __syncthreads();
      }
      const bool up = (t & width) == 0, first = (t & step) == 0;
      v = up == first ? min(v, other) : max(v, other);
    }
  out[blockIdx.x * 1024 + t] = v;
}
__global__ void __launch_bounds__(1024) order_a(const u32* __restrict__ in, u32* __restrict__ out) { sort_block<false>(in, out); }
__global__ void __launch_bounds__(1024) order_b(const u32* __restrict__ in, u32* __restrict__ out) { sort_block<true>(in, out); }
static void block_sort(Bench& b) {
  const int n = 1 << 24;
  Buffer<u32> in(n), out(n);
  bits(in, 122, 0xFFFFFFFFu);
  b.variant("slow", "order_a", out, [&] { LAUNCH(order_a, n / 1024, 1024, 0, in.p, out.p); });
  b.variant("fixed", "order_b", out, [&] { LAUNCH(order_b, n / 1024, 1024, 0, in.p, out.p); });
}

// ---- sums over sorted segments: an atomic an element, or one a warp and segment
__global__ void gather_t(const u32* __restrict__ seg, const float* __restrict__ v, float* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[seg[i]], v[i]);
}
__global__ void gather_w(const u32* __restrict__ seg, const float* __restrict__ v, float* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const u32 mine = i < n ? seg[i] : ~0u;
  float s = i < n ? v[i] : 0;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    const float o = __shfl_down_sync(~0u, s, d);
    const u32 whose = __shfl_down_sync(~0u, mine, d);
    if (lane + d < 32 && whose == mine) s += o;
  }
  const u32 before = __shfl_up_sync(~0u, mine, 1);
  if (i < n && (lane == 0 || before != mine)) atomicAdd(&out[mine], s);
}
__global__ void segment_ids(u32* seg, int n) {
  for (int i = TID; i < n; i += TIDS) seg[i] = u32(i) / 700u;
}
static void segments(Bench& b) {
  const int n = 1 << 24;
  Buffer<u32> seg(n);
  Buffer<float> v(n), out(n / 700 + 1);
  LAUNCH(segment_ids, 4096, 256, 0, seg.p, n);
  uniform(v, 123, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "gather_t", out, [&] { LAUNCH(gather_t, n / 256, 256, 0, seg.p, v.p, out.p, n); });
  b.variant("fixed", "gather_w", out, [&] { LAUNCH(gather_w, n / 256, 256, 0, seg.p, v.p, out.p, n); });
}

// ---- transposed matrix times vector, a column a thread: all rows in one block, or 64 rows a block and an atomic
__device__ __forceinline__ void add_columns(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int cols, int rows_each) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r0 = blockIdx.y * rows_each;
  float s = 0;
#pragma unroll 8
  for (int r = 0; r < rows_each; ++r) s += a[size_t(r0 + r) * cols + c] * x[r0 + r];
  atomicAdd(&y[c], s);
}
__global__ void columns_q(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int cols, int rows_each) { add_columns(a, x, y, cols, rows_each); }
__global__ void columns_e(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int cols, int rows_each) { add_columns(a, x, y, cols, rows_each); }
static void transposed_product(Bench& b) {
  const int cols = 4096, rows = 16384;
  Buffer<float> a(size_t(cols) * rows), x(rows), y(cols);
  uniform(a, 124, 0, 1);
  uniform(x, 125, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "columns_q", y, [&] { LAUNCH(columns_q, dim3(cols / 256, 1), 256, 0, a.p, x.p, y.p, cols, rows); });
  b.variant("fixed", "columns_e", y, [&] { LAUNCH(columns_e, dim3(cols / 256, rows / 64), 256, 0, a.p, x.p, y.p, cols, 64); });
}

// ---- probe an open-addressed table: the scratch that each block asks for
__device__ __forceinline__ void look_up(const u32* __restrict__ keys, const uint2* __restrict__ table, u32* __restrict__ out, int n, u32 mask, u32* scratch) {
  if (threadIdx.x < 8) scratch[threadIdx.x] = threadIdx.x * 0x85ebca6bu;
  __syncthreads();
  for (int i = TID; i < n; i += TIDS) {
    const u32 k = keys[i];
    u32 slot = mix(k) & mask, found = 0;
    for (int tries = 0; tries < 4; ++tries) {
      const uint2 e = table[slot];
      if (e.x == k) {
        found = e.y;
        break;
      }
      slot = (slot + 1) & mask;
    }
    out[i] = found ^ scratch[i & 7];
  }
}
__global__ void __launch_bounds__(128) probe_i(const u32* __restrict__ k, const uint2* __restrict__ t, u32* __restrict__ o, int n, u32 mask) {
  DYNAMIC_SHARED(u32, scratch);
  look_up(k, t, o, n, mask, scratch);
}
__global__ void __launch_bounds__(128) probe_l(const u32* __restrict__ k, const uint2* __restrict__ t, u32* __restrict__ o, int n, u32 mask) {
  DYNAMIC_SHARED(u32, scratch);
  look_up(k, t, o, n, mask, scratch);
}
__global__ void fill_table(uint2* t, u32 size) {
  for (u32 i = TID; i < size; i += TIDS) t[i] = make_uint2(i * 2654435761u, i + 1);
}
static void join_probe(Bench& b) {
  const u32 size = 1u << 21;
  const int n = 1 << 23;
  Buffer<u32> keys(n), table(size_t(size) * 2), out(n);
  bits(keys, 126, 0xFFFFFFFFu);
  LAUNCH(fill_table, 4096, 256, 0, (uint2*)table.p, size);
  CK(cudaFuncSetAttribute(probe_i, cudaFuncAttributeMaxDynamicSharedMemorySize, 72 * 1024));
  b.variant("slow", "probe_i", out, [&] { LAUNCH(probe_i, 132 * 48, 128, 72 * 1024, keys.p, (const uint2*)table.p, out.p, n, size - 1); });
  b.variant("fixed", "probe_l", out, [&] { LAUNCH(probe_l, 132 * 48, 128, 64, keys.p, (const uint2*)table.p, out.p, n, size - 1); });
}

// ---- rays that step until they are absorbed: in the order they come, or sorted by how long they live
__device__ __forceinline__ float walk(float start, int steps) {
  float p = start, w = 1;
  for (int k = 0; k < steps; ++k) {
    p = fmaf(p, 0.9375f, 0.03125f * w);
    w = fmaf(-0.0625f, p * w, w);
  }
  return p + w;
}
__global__ void rays_g(const u32* __restrict__ order, const u32* __restrict__ life, const float* __restrict__ start, float* __restrict__ out) {
  const u32 i = order[TID];
  out[i] = walk(start[i], int(life[i]));
}
__global__ void rays_e(const u32* __restrict__ order, const u32* __restrict__ life, const float* __restrict__ start, float* __restrict__ out) {
  const u32 i = order[TID];
  out[i] = walk(start[i], int(life[i]));
}
static void ray_lives(Bench& b) {
  const int n = 1 << 21;
  std::vector<u32> life(n), order(n), sorted(n);
  for (int i = 0; i < n; ++i) {
    const double u = (mix(u32(i) + 5u) >> 8) / 16777216.0;
    life[i] = u32(std::min(2000.0, 8.0 - 150.0 * std::log(1.0 - u)));
    order[i] = sorted[i] = u32(i);
  }
  std::vector<u32> count(2002, 0);
  for (u32 l : life) ++count[l + 1];
  for (size_t k = 1; k < count.size(); ++k) count[k] += count[k - 1];
  for (int i = 0; i < n; ++i) sorted[count[life[i]]++] = u32(i);
  Buffer<u32> l(n), o(n);
  Buffer<float> start(n), out(n);
  uniform(start, 127, 0, 1);
  l.put(life);
  o.put(order);
  b.variant("slow", "rays_g", out, [&] { LAUNCH(rays_g, n / 128, 128, 0, o.p, l.p, start.p, out.p); });
  o.put(sorted);
  b.variant("fixed", "rays_e", out, [&] { LAUNCH(rays_e, n / 128, 128, 0, o.p, l.p, start.p, out.p); });
}

// ---- sums over the neighbours of nodes, few of which have very many: a block a node, or a block an equal share of edges
__global__ void __launch_bounds__(128) nodes_d(const u32* __restrict__ from, const float* __restrict__ v, float* __restrict__ out) {
  __shared__ float part[4];
  float s = 0;
  for (u32 k = from[blockIdx.x] + threadIdx.x; k < from[blockIdx.x + 1]; k += 128) s += v[k] * v[k];
#pragma unroll
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&out[blockIdx.x], part[0] + part[1] + part[2] + part[3]);
}
__global__ void __launch_bounds__(128) nodes_z(const uint3* __restrict__ share, const float* __restrict__ v, float* __restrict__ out) {
  __shared__ float part[4];
  const uint3 mine = share[blockIdx.x];
  float s = 0;
  for (u32 k = mine.x + threadIdx.x; k < mine.y; k += 128) s += v[k] * v[k];
#pragma unroll
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&out[mine.z], part[0] + part[1] + part[2] + part[3]);
}
static void degrees(Bench& b) {
  const int nodes = 1 << 14;
  std::vector<u32> from(nodes + 1, 0);
  std::vector<uint3> shares;
  for (int i = 0; i < nodes; ++i) {
    const u32 degree = i % 1024 == 700 ? 600000u : 1024u + (mix(u32(i)) & 1023u);
    from[i + 1] = from[i] + degree;
    for (u32 k = from[i]; k < from[i + 1]; k += 2048) shares.push_back(make_uint3(k, std::min(k + 2048, from[i + 1]), u32(i)));
  }
  Buffer<u32> f(nodes + 1);
  Buffer<uint3> s(shares.size());
  Buffer<float> v(from[nodes]), out(nodes);
  f.put(from);
  s.put(shares);
  uniform(v, 128, 0, 1);
  b.rtol = 1e-3;
  b.variant("slow", "nodes_d", out, [&] { LAUNCH(nodes_d, nodes, 128, 0, f.p, v.p, out.p); });
  b.variant("fixed", "nodes_z", out, [&] { LAUNCH(nodes_z, int(shares.size()), 128, 0, s.p, v.p, out.p); });
}

// ---- compensated sums of a series, a thread a series: one running sum, or four
template <int SUMS>
__device__ float series(float x, int terms) {
  float s[SUMS], c[SUMS];
#pragma unroll
  for (int k = 0; k < SUMS; ++k) s[k] = c[k] = 0;
  float term = x;
  for (int i = 0; i < terms; i += SUMS) {
#pragma unroll
    for (int k = 0; k < SUMS; ++k) {
      const float y = __fsub_rn(fmaf(term, float(k + 1), x), c[k]), t = __fadd_rn(s[k], y);
      c[k] = __fsub_rn(__fsub_rn(t, s[k]), y);
      s[k] = t;
    }
    term *= 0.9990234375f;
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < SUMS; ++k) sum += s[k];
  return sum / float(terms);
}
__global__ void __launch_bounds__(128) total_h(const float* __restrict__ in, float* __restrict__ out, int terms) { out[TID] = series<4>(in[TID], terms); }
__global__ void __launch_bounds__(128) total_k(const float* __restrict__ in, float* __restrict__ out, int terms) { out[TID] = series<1>(in[TID], terms); }
static void compensated(Bench& b) {
  const int n = 132 * 2 * 128;
  Buffer<float> in(n), out(n);
  uniform(in, 129, 0.5f, 1);
  b.rtol = b.atol = 3;  // other series: only the number of operations is alike
  b.variant("slow", "total_k", out, [&] { LAUNCH(total_k, 132 * 2, 128, 0, in.p, out.p, 1 << 14); });
  b.variant("fixed", "total_h", out, [&] { LAUNCH(total_h, 132 * 2, 128, 0, in.p, out.p, 1 << 14); });
}

// ---- alignment score of two strings, a row of 40 cells in registers: with and without a bound on registers
__device__ __forceinline__ int score(const u32* __restrict__ text, const u32* __restrict__ word, int pair, int n, int length) {
  int row[40];
  u32 letters[5];
#pragma unroll
  for (int k = 0; k < 40; ++k) row[k] = -k;
#pragma unroll
  for (int k = 0; k < 5; ++k) letters[k] = word[size_t(k) * n + pair];
  int best = 0;
  for (int i = 0; i < length; ++i) {
    const u32 c = text[size_t(i >> 3) * n + pair] >> (4 * (i & 7)) & 3;
    int corner = row[0], left = -i;
    row[0] = left;
#pragma unroll
    for (int k = 1; k < 40; ++k) {
      const int same = (letters[k >> 3] >> (4 * (k & 7)) & 3) == c ? 2 : -1, up = row[k];
      left = max(max(corner + same, max(up, left) - 1), 0);
      corner = up;
      row[k] = left;
    }
    best = max(best, left);
  }
  int all = best;
#pragma unroll
  for (int k = 0; k < 40; ++k) all += row[k];
  return all;
}
__global__ void __launch_bounds__(256, 8) align_s(const u32* __restrict__ t, const u32* __restrict__ w, int* __restrict__ o, int n, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = score(t, w, i, n, length);
}
__global__ void __launch_bounds__(256) align_p(const u32* __restrict__ t, const u32* __restrict__ w, int* __restrict__ o, int n, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = score(t, w, i, n, length);
}
static void alignment(Bench& b) {
  const int n = 1 << 20, length = 64;
  Buffer<u32> text(size_t(n) * length / 8), word(size_t(n) * 5);
  Buffer<int> out(n);
  bits(text, 130, 0xFFFFFFFFu);
  bits(word, 131, 0xFFFFFFFFu);
  b.variant("slow", "align_s", out, [&] { LAUNCH(align_s, n / 256, 256, 0, text.p, word.p, out.p, n, length); });
  b.variant("fixed", "align_p", out, [&] { LAUNCH(align_p, n / 256, 256, 0, text.p, word.p, out.p, n, length); });
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"monte_carlo", "fp64_pipe", "slow=throw_y fixed=throw_x", monte_carlo},
      {"tone_curve", "sfu_pipe slow_math", "slow=grade_n fixed=grade_o", tone_curve},
      {"block_sort", "barrier_stalls", "slow=order_a fixed=order_b", block_sort},
      {"segments", "atomic_contention", "slow=gather_t fixed=gather_w", segments},
      {"transposed_product", "small_grid", "slow=columns_q fixed=columns_e", transposed_product},
      {"join_probe", "low_occupancy", "slow=probe_i fixed=probe_l", join_probe},
      {"ray_lives", "thread_divergence", "slow=rays_g fixed=rays_e", ray_lives},
      {"degrees", "load_imbalance", "slow=nodes_d fixed=nodes_z", degrees},
      {"compensated", "dependency_stalls low_occupancy", "slow=total_k fixed=total_h", compensated},
      {"alignment", "register_spills", "slow=align_s fixed=align_p", alignment},
  });
}
