// What the programs of kernels share: buffers, inputs, timing, and the check that two variants agree.
//
//   PROGRAM list              case,variant,kernel,fault
//   PROGRAM time [CASE]       case,variant,median_us,fault,kernel: CUDA events, median of 20 after 3 warm-ups, unprofiled
//   PROGRAM once CASE         each variant once between cudaProfilerStart and cudaProfilerStop, for ncu --profile-from-start off
//
// Exit status 1: two variants of a case disagree. Kernels have numbers for names: a report must not give the fault away.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#define CK(call)                                                                                  \
  do {                                                                                            \
    cudaError_t e_ = (call);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));      \
      exit(2);                                                                                    \
    }                                                                                             \
  } while (0)
#ifndef LAUNCH
#define LAUNCH(kernel, grid, block, shared, ...)                                                  \
  do {                                                                                            \
    kernel<<<(grid), (block), (shared)>>>(__VA_ARGS__);                                           \
    CK(cudaGetLastError());                                                                       \
  } while (0)
#endif
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(T, name)                                                                   \
  extern __shared__ __align__(16) unsigned char dynamic_shared_[];                                \
  T* name = reinterpret_cast<T*>(dynamic_shared_)
#endif

typedef uint32_t u32;
typedef uint64_t u64;
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define TIDS (gridDim.x * blockDim.x)

__host__ __device__ inline u32 mix(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__global__ void fill_uniform(float* p, size_t n, u32 seed, float low, float high) {
  for (size_t i = TID; i < n; i += TIDS) p[i] = low + (high - low) * (mix(u32(i) ^ seed * 0x9E3779B9u) >> 8) * (1.0f / 16777216.0f);
}
__global__ void fill_half(__half* p, size_t n, u32 seed) {
  for (size_t i = TID; i < n; i += TIDS) p[i] = __float2half((mix(u32(i) ^ seed * 0x9E3779B9u) >> 8) * (2.0f / 16777216.0f) - 1.0f);
}
__global__ void fill_bits(u32* p, size_t n, u32 seed, u32 mask) {
  for (size_t i = TID; i < n; i += TIDS) p[i] = mix(u32(i) ^ seed * 0x9E3779B9u) & mask;
}

template <class T>
struct Buffer {
  T* p = nullptr;
  size_t n;
  explicit Buffer(size_t n_) : n(n_) {
    CK(cudaMalloc((void**)&p, n * sizeof(T)));
    clear();
  }
  ~Buffer() { cudaFree(p); }
  Buffer(const Buffer&) = delete;
  void clear() { CK(cudaMemset(p, 0, n * sizeof(T))); }
  void put(const std::vector<T>& v) { CK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
};
inline void uniform(Buffer<float>& b, u32 seed, float low, float high) { LAUNCH(fill_uniform, 1024, 256, 0, b.p, b.n, seed, low, high); }
inline void uniform(Buffer<__half>& b, u32 seed) { LAUNCH(fill_half, 1024, 256, 0, b.p, b.n, seed); }
inline void bits(Buffer<u32>& b, u32 seed, u32 mask) { LAUNCH(fill_bits, 1024, 256, 0, b.p, b.n, seed, mask); }

inline double number(float v) { return v; }
inline double number(double v) { return v; }
inline double number(u32 v) { return v; }
inline double number(int v) { return v; }
inline double number(unsigned char v) { return v; }
inline double number(__half v) { return __half2float(v); }

inline int ceil_div(size_t n, size_t by) { return int((n + by - 1) / by); }

class Bench {
 public:
  enum Mode { LIST, TIME, ONCE } mode = LIST;
  int failed = 0;
  const char *name = "", *fault = "";
  double rtol = 1e-4, atol = 1e-4;  // of the comparison between variants; a case may widen them

  // Runs one variant; its result is compared with that of the case's first one.
  template <class T, class Reset, class Launch>
  void variant(const char* which, const char* kernel, Buffer<T>& result, Reset reset, Launch launch) {
    reset();
    CK(cudaDeviceSynchronize());
    if (mode == ONCE) {
      CK(cudaProfilerStart());
      launch();
      CK(cudaDeviceSynchronize());
      CK(cudaProfilerStop());
    } else {
      printf("%s,%s,%.2f,%s,%s\n", name, which, median_us(reset, launch), fault, kernel);
      fflush(stdout);
    }
    compare(which, result);
  }
  template <class T, class Launch>
  void variant(const char* which, const char* kernel, Buffer<T>& result, Launch launch) {
    variant(which, kernel, result, [&] { result.clear(); }, launch);
  }
  void start(const char* n, const char* f) {
    name = n;
    fault = f;
    rtol = atol = 1e-4;
    first_.clear();
  }

 private:
  std::vector<double> first_;

  template <class Reset, class Launch>
  static double median_us(Reset reset, Launch launch) {
    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    std::vector<float> t;
    for (int i = 0; i < 23; ++i) {
      float ms;
      reset();
      CK(cudaEventRecord(a));
      launch();
      CK(cudaEventRecord(b));
      CK(cudaEventSynchronize(b));
      CK(cudaEventElapsedTime(&ms, a, b));
      if (i >= 3) t.push_back(ms * 1000);
    }
    CK(cudaEventDestroy(a));
    CK(cudaEventDestroy(b));
    std::sort(t.begin(), t.end());
    return 0.5 * (t[9] + t[10]);
  }

  template <class T>
  void compare(const char* which, Buffer<T>& result) {
    std::vector<T> host(std::min(result.n, size_t(1) << 22));
    CK(cudaMemcpy(host.data(), result.p, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    int bad = 0;
    bool blank = true;
    for (size_t i = 0; i < host.size(); ++i) {
      double v = number(host[i]);
      blank = blank && v == 0;
      if (first_.size() <= i) {
        first_.push_back(v);
        bad += !std::isfinite(v);
      } else if (!(std::fabs(v - first_[i]) <= atol + rtol * std::fabs(first_[i]))) {
        if (bad++ < 3) fprintf(stderr, "%s %s: [%zu] is %g, not %g\n", name, which, i, v, first_[i]);
      }
    }
    if (bad || blank) {
      fprintf(stderr, "%s %s: %s\n", name, which, blank ? "all zero" : "DISAGREES");
      ++failed;
    }
  }
};

struct Case {
  const char *name, *fault, *variants;  // variants: "slow=kernel fixed=kernel"
  void (*run)(Bench&);
};

inline int run_cases(int argc, char** argv, const std::vector<Case>& cases) {
  const std::string verb = argc > 1 ? argv[1] : "", only = argc > 2 ? argv[2] : "";
  if (verb == "list") {
    for (const Case& c : cases) printf("%s,%s,%s\n", c.name, c.variants, c.fault);
    return 0;
  }
  if (verb != "time" && !(verb == "once" && !only.empty())) {
    fprintf(stderr, "usage: %s list | time [CASE] | once CASE\n", argv[0]);
    return 2;
  }
  Bench b;
  b.mode = verb == "time" ? Bench::TIME : Bench::ONCE;
  for (const Case& c : cases)
    if (only.empty() || only == c.name) {
      b.start(c.name, c.fault);
      c.run(b);
    }
  return b.failed ? 1 : 0;
}
