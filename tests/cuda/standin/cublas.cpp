// A stand-in for cuBLAS: what csrc/cuda/cublas.cpp looks for in libcublas, computed by plain loops when the driver's
// work is done. It takes only what cuBLAS takes: leading sizes that are too small, and streams without memory, are
// refused.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>

#include "driver.h"
#include "products.h"

namespace {

using namespace standin;

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
  int mode = 0;
};

template <class S, class T>
int queue_product(Side a, Side b, Side c, int64_t batch, int64_t m, int64_t n, int64_t k, const void* alpha,
                  const void* beta, bool fewer) {
  T first, second;
  std::memcpy(&first, alpha, sizeof(T));
  std::memcpy(&second, beta, sizeof(T));
  standin::enqueue([=] { multiply<S, T>(a, b, c, batch, m, n, k, first, second, fewer); });
  return kSuccess;
}

}  // namespace

extern "C" {

int cublasCreate_v2(Handle** handle) {
  if (const int code = standin::begin_call("cublasCreate_v2")) return code;
  if (standin::is_strict()) return kNotInitialized;  // it takes memory
  *handle = new Handle;
  return kSuccess;
}
int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  handle->workspace = nullptr;  // as cuBLAS does
  return kSuccess;
}
int cublasSetWorkspace_v2(Handle* handle, void* workspace, size_t) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kInvalidValue;
  handle->workspace = workspace;
  return kSuccess;
}
int cublasSetMathMode(Handle* handle, int mode) {
  handle->mode = mode;
  return kSuccess;
}
const char* cublasGetStatusName(int) { return "CUBLAS_STATUS_OF_THE_STANDIN"; }

int cublasGemmStridedBatchedEx_64(Handle* handle, int a_op, int b_op, int64_t m, int64_t n, int64_t k,
                                  const void* alpha, const void* a, int a_type, int64_t lda, long long a_batch,
                                  const void* b, int b_type, int64_t ldb, long long b_batch, const void* beta, void* c,
                                  int c_type, int64_t ldc, long long c_batch, int64_t batch, int compute, int) {
  if (const int code = standin::begin_call("cublasGemm")) return code;
  if (!handle || !handle->workspace) return kNotInitialized;
  if (m < 0 || n < 0 || k < 0 || batch < 0 || a_type != b_type || a_type != c_type) return kInvalidValue;
  if (lda < std::max<int64_t>(1, a_op ? k : m) || ldb < std::max<int64_t>(1, b_op ? n : k) ||
      ldc < std::max<int64_t>(1, m))
    return kInvalidValue;
  const Side left{static_cast<const char*>(a), a_op == 1, lda, a_batch};
  const Side right{static_cast<const char*>(b), b_op == 1, ldb, b_batch};
  const Side result{static_cast<const char*>(c), false, ldc, c_batch};
  const bool wide = a_type == 1 || a_type == 5;
  if (compute != (wide ? 70 : 68) && (wide || compute != 77)) return kNotSupported;
  auto run = [&]<class S, class T>(S, T) {
    return queue_product<S, T>(left, right, result, batch, m, n, k, alpha, beta, compute == 77);
  };
  switch (a_type) {
    case 0: return run(float(), float());
    case 1: return run(double(), double());
    case 2: return run(HalfBits(), float());
    case 14: return run(BrainBits(), float());
    case 4: return run(std::complex<float>(), std::complex<float>());
    case 5: return run(std::complex<double>(), std::complex<double>());
    default: return kNotSupported;
  }
}
int cublasGemmEx_64(Handle* handle, int a_op, int b_op, int64_t m, int64_t n, int64_t k, const void* alpha,
                    const void* a, int a_type, int64_t lda, const void* b, int b_type, int64_t ldb, const void* beta,
                    void* c, int c_type, int64_t ldc, int compute, int algorithm) {
  return cublasGemmStridedBatchedEx_64(handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta,
                                       c, c_type, ldc, 0, 1, compute, algorithm);
}

}  // extern "C"
