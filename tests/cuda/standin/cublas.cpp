// A stand-in for cuBLAS: what csrc/cuda/cublas.cpp looks for in libcublas, computed by plain loops when the driver's
// work is done. It takes only what cuBLAS takes: leading sizes that are too small, and streams without memory, are
// refused.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>

// Of driver.cpp.
void standin_enqueue(std::function<void()> work);
int standin_begin_call(const char* name);
bool standin_is_strict();

namespace {

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
  int mode = 0;
};

struct HalfBits {
  uint16_t bits;
};
struct BrainBits {
  uint16_t bits;
};

template <class T>
T load(T x) {
  return x;
}
float load(HalfBits x) { return static_cast<float>(std::bit_cast<_Float16>(x.bits)); }
float load(BrainBits x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
template <class T>
void store(T& to, T x) {
  to = x;
}
void store(HalfBits& to, float x) { to.bits = std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
void store(BrainBits& to, float x) {
  const auto word = std::bit_cast<uint32_t>(x);
  to.bits = std::isnan(x) ? 0x7fc0 : static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

/// Fewer bits of the fraction, as TF32 has them.
template <class T>
T rounded(T x, bool fewer) {
  if constexpr (std::is_same_v<T, float>) {
    if (!fewer || !std::isfinite(x)) return x;
    const auto word = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((word + 0x0fff + ((word >> 13) & 1)) & 0xffffe000u);
  }
  return x;
}

struct Side {
  const char* data;
  bool transposed;
  int64_t leading, batch;
};

/// Elements stored as S, sums and numbers in T.
template <class S, class T>
void multiply(Side a, Side b, Side c, int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, T beta, bool fewer) {
  auto at = [](const Side& side, int64_t number, int64_t row, int64_t col) {
    if (side.transposed) std::swap(row, col);
    return reinterpret_cast<const S*>(side.data)[number * side.batch + row + col * side.leading];
  };
  for (int64_t number = 0; number < batch; ++number) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum(0);
        for (int64_t l = 0; l < k; ++l)
          sum += rounded(T(load(at(a, number, i, l))), fewer) * rounded(T(load(at(b, number, l, j))), fewer);
        S& place = reinterpret_cast<S*>(const_cast<char*>(c.data))[number * c.batch + i + j * c.leading];
        store(place, beta == T(0) ? T(alpha * sum) : T(alpha * sum + beta * T(load(place))));
      }
    }
  }
}

template <class S, class T>
int queue_product(Side a, Side b, Side c, int64_t batch, int64_t m, int64_t n, int64_t k, const void* alpha,
                  const void* beta, bool fewer) {
  T first, second;
  std::memcpy(&first, alpha, sizeof(T));
  std::memcpy(&second, beta, sizeof(T));
  standin_enqueue([=] { multiply<S, T>(a, b, c, batch, m, n, k, first, second, fewer); });
  return kSuccess;
}

}  // namespace

extern "C" {

int cublasCreate_v2(Handle** handle) {
  if (const int code = standin_begin_call("cublasCreate_v2")) return code;
  if (standin_is_strict()) return kNotInitialized;  // it takes memory
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
  if (const int code = standin_begin_call("cublasGemm")) return code;
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
