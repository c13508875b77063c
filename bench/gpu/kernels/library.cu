// Healthy kernels that are not ours: NVIDIA's own sum and matrix products.   nvcc … library.cu -lcublas
#include "bench.cuh"
#include <cub/cub.cuh>
#include <cublas_v2.h>

static void library_sum(Bench& b) {
  const int n = 1 << 28;
  Buffer<float> in(n), out(1);
  uniform(in, 61, 0, 1);
  size_t bytes = 0;
  CK(cub::DeviceReduce::Sum(nullptr, bytes, in.p, out.p, n));
  Buffer<unsigned char> room(bytes);
  b.variant("healthy", "DeviceReduceKernel", out, [&] { CK(cub::DeviceReduce::Sum(room.p, bytes, in.p, out.p, n)); });
}

static void library_product(Bench& b) {
  const int n = 8192;
  Buffer<__half> x(size_t(n) * n), y(x.n), z(x.n);
  uniform(x, 62);
  uniform(y, 63);
  cublasHandle_t h;
  if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) exit(2);
  const float one = 1, zero = 0;
  b.variant("healthy", "nvjet", z, [&] {
    cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, x.p, CUDA_R_16F, n, y.p, CUDA_R_16F, n, &zero, z.p, CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
  cublasDestroy(h);
}

static void library_product_float(Bench& b) {
  const int n = 4096;
  Buffer<float> x(size_t(n) * n), y(x.n), z(x.n);
  uniform(x, 64, 0, 1);
  uniform(y, 65, 0, 1);
  cublasHandle_t h;
  if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) exit(2);
  const float one = 1, zero = 0;
  b.variant("healthy", "Kernel2", z, [&] { cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, x.p, n, y.p, n, &zero, z.p, n); });
  cublasDestroy(h);
}

int main(int argc, char** argv) {
  return run_cases(argc, argv, {
      {"library_sum", "healthy", "healthy=DeviceReduceKernel", library_sum},
      {"library_product", "healthy", "healthy=nvjet", library_product},
      {"library_product_float", "healthy", "healthy=Kernel2", library_product_float},
  });
}
