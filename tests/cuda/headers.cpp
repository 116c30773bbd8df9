// Our declarations of NVIDIA's libraries against NVIDIA's headers, as far as the include path has them. What compiles
// is right; the program prints what was compared. See tests/cuda/headers.py.
#define __CUDA_API_VERSION_INTERNAL  // names mean the symbols of these names, not the newest version of each
#include <cuda.h>
#include <cudaProfiler.h>
#if __has_include(<cupti_driver_cbid.h>)
#include <cupti_driver_cbid.h>
#define HAS_SYMBOLS 1
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define HAS_NVRTC 1
#endif
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#define HAS_CUBLAS 1
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAS_CUBLASLT 1
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define HAS_CUDNN 1
#endif
#if __has_include(<cufft.h>)
#include <cufft.h>
#define HAS_CUFFT 1
#endif
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#define HAS_CUSOLVER 1
#endif
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX 1
#endif

#include <cstddef>
#include <cstdio>
#include <string>
#include <type_traits>

#include "cuda/api/cublas.h"
#include "cuda/api/cublaslt.h"
#include "cuda/api/cudnn.h"
#include "cuda/api/cufft.h"
#include "cuda/api/cusolver.h"
#include "cuda/api/nvrtc.h"
#include "cuda/api/nvtx.h"
#include "cuda/driver.h"

namespace {

using namespace adjoint::cuda;

/// Which handle of theirs one of ours is.
template <class Ours>
struct Theirs {
  using Type = void;
};
template <class Ours, class Struct>
constexpr bool same_struct = false;
#define HANDLE(ours, theirs) \
  template <>                \
  struct Theirs<ours> {      \
    using Type = theirs;     \
  }
#define STRUCT(ours, theirs)                       \
  template <>                                      \
  constexpr bool same_struct<ours, theirs> = true; \
  static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs), #theirs)
#define FIELD(ours, field, theirs, their_field)                                                                     \
  static_assert(                                                                                                    \
      offsetof(ours, field) == offsetof(theirs, their_field) && sizeof(ours::field) == sizeof(theirs::their_field), \
      #theirs "::" #their_field)

HANDLE(Context, CUcontext);
HANDLE(Stream, CUstream);
HANDLE(Event, CUevent);
HANDLE(Module, CUmodule);
HANDLE(Function, CUfunction);
HANDLE(Graph, CUgraph);
HANDLE(GraphExec, CUgraphExec);
STRUCT(Uuid, CUuuid);
FIELD(Uuid, bytes, CUuuid, bytes);
#if HAS_NVRTC
HANDLE(nvrtc::Program, nvrtcProgram);
#endif
#if HAS_CUBLAS
HANDLE(cublas::Handle, cublasHandle_t);
#endif
#if HAS_CUSOLVER
HANDLE(cusolver::Handle, cusolverDnHandle_t);
HANDLE(cusolver::EigenOptions, syevjInfo_t);
HANDLE(cusolver::SingularOptions, gesvdjInfo_t);
HANDLE(cusolver::Parameters, cusolverDnParams_t);
#endif
#if HAS_CUBLASLT
HANDLE(cublaslt::Handle, cublasLtHandle_t);
HANDLE(cublaslt::Operation, cublasLtMatmulDesc_t);
HANDLE(cublaslt::Layout, cublasLtMatrixLayout_t);
HANDLE(cublaslt::Preference, cublasLtMatmulPreference_t);
STRUCT(cublaslt::Algorithm, cublasLtMatmulAlgo_t);
FIELD(cublaslt::Algorithm, data, cublasLtMatmulAlgo_t, data);
STRUCT(cublaslt::Proposal, cublasLtMatmulHeuristicResult_t);
FIELD(cublaslt::Proposal, algorithm, cublasLtMatmulHeuristicResult_t, algo);
FIELD(cublaslt::Proposal, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize);
FIELD(cublaslt::Proposal, status, cublasLtMatmulHeuristicResult_t, state);
FIELD(cublaslt::Proposal, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
FIELD(cublaslt::Proposal, reserved, cublasLtMatmulHeuristicResult_t, reserved);
#endif
#if HAS_CUDNN
HANDLE(cudnn::Handle, cudnnHandle_t);
HANDLE(cudnn::Tensor, cudnnTensorDescriptor_t);
HANDLE(cudnn::Filter, cudnnFilterDescriptor_t);
HANDLE(cudnn::Convolution, cudnnConvolutionDescriptor_t);
HANDLE(cudnn::Dropout, cudnnDropoutDescriptor_t);
HANDLE(cudnn::Rnn, cudnnRNNDescriptor_t);
HANDLE(cudnn::RnnData, cudnnRNNDataDescriptor_t);
#define ALGORITHM(theirs)                                    \
  STRUCT(cudnn::Algorithm, theirs);                          \
  FIELD(cudnn::Algorithm, number, theirs, algo);             \
  FIELD(cudnn::Algorithm, status, theirs, status);           \
  FIELD(cudnn::Algorithm, time, theirs, time);               \
  FIELD(cudnn::Algorithm, memory, theirs, memory);           \
  FIELD(cudnn::Algorithm, determinism, theirs, determinism); \
  FIELD(cudnn::Algorithm, math, theirs, mathType)
ALGORITHM(cudnnConvolutionFwdAlgoPerf_t);
ALGORITHM(cudnnConvolutionBwdDataAlgoPerf_t);
ALGORITHM(cudnnConvolutionBwdFilterAlgoPerf_t);
#endif

/// Whether a value of ours may be passed where one of theirs is taken: numbers of one kind and size (an enumeration is
/// an int), the same handle, or addresses of such; void* is the address of anything.
template <class A, class B>
constexpr bool alike() {
  using Ours = std::remove_cv_t<A>;
  using Other = std::remove_cv_t<B>;
  if constexpr (std::is_same_v<Ours, Other>) {
    return true;
  } else if constexpr (!std::is_void_v<typename Theirs<Ours>::Type>) {
    return std::is_same_v<typename Theirs<Ours>::Type, Other>;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Other>) {
    using Mine = std::remove_pointer_t<Ours>;
    using Its = std::remove_pointer_t<Other>;
    if constexpr (std::is_function_v<Mine> || std::is_function_v<Its>) return false;
    // What they only read may be read-only here, what they write may not.
    if constexpr (std::is_const_v<Mine> && !std::is_const_v<Its>) return false;
    if constexpr (std::is_void_v<Mine> || std::is_void_v<Its>) {
      return std::is_void_v<Mine>;
    } else {
      return alike<Mine, Its>();
    }
  } else if constexpr (std::is_enum_v<Other> || std::is_integral_v<Other>) {
    if constexpr (std::is_enum_v<Other>) return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Other);
    return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Other) &&
           std::is_signed_v<Ours> == std::is_signed_v<Other>;
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Other>) {
    return same_struct<Ours, Other>;
  } else {
    return false;
  }
}

template <class Ours, class Other>
constexpr bool callable = false;
template <class R, class... P, class S, class... Q>
constexpr bool callable<R (*)(P...), S (*)(Q...)> = [] {
  if constexpr (sizeof...(P) == sizeof...(Q)) return alike<R, S>() && (alike<P, Q>() && ...);
  return false;
}();

// Both are used where `Functions` is the struct of our pointers.
#define SAME_FUNCTION(name, symbol, ...) \
  static_assert(callable<decltype(Functions::name), decltype(&symbol)>, #symbol " is declared otherwise");
#define SAME_NUMBER(name, theirs, number) \
  static_assert(static_cast<long long>(theirs) == number, #theirs " is another number");
#define COUNT(...) +1

namespace of_driver {
using Functions = Driver;
ADJOINT_EACH_DRIVER_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_DRIVER_NUMBER(SAME_NUMBER)
ADJOINT_EACH_DEVICE_ATTRIBUTE(SAME_NUMBER)
#if HAS_SYMBOLS
// The profiler knows the driver's functions by the names of their symbols.
#define IS_SYMBOL(name, symbol, parameters) static_assert(CUPTI_DRIVER_TRACE_CBID_##symbol > 0);
ADJOINT_EACH_DRIVER_FUNCTION(IS_SYMBOL)
#endif
}  // namespace of_driver
#if HAS_NVRTC
namespace of_nvrtc {
using nvrtc::Functions;
ADJOINT_EACH_NVRTC_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_NVRTC_NUMBER(SAME_NUMBER)
}  // namespace of_nvrtc
#endif
#if HAS_CUBLAS
namespace of_cublas {
using cublas::Functions;
ADJOINT_EACH_CUBLAS_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_CUBLAS_NUMBER(SAME_NUMBER)
}  // namespace of_cublas
#endif
#if HAS_CUBLASLT
namespace of_cublaslt {
using cublaslt::Functions;
ADJOINT_EACH_CUBLASLT_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_CUBLASLT_NUMBER(SAME_NUMBER)
}  // namespace of_cublaslt
#endif
#if HAS_CUDNN
namespace of_cudnn {
using cudnn::Functions;
ADJOINT_EACH_CUDNN_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_CUDNN_NUMBER(SAME_NUMBER)
}  // namespace of_cudnn
namespace of_cudnn_rnn {
using Functions = cudnn::RnnFunctions;
ADJOINT_EACH_CUDNN_RNN_FUNCTION(SAME_FUNCTION)
}  // namespace of_cudnn_rnn
#endif
#if HAS_CUFFT
namespace of_cufft {
using cufft::Functions;
ADJOINT_EACH_CUFFT_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_CUFFT_NUMBER(SAME_NUMBER)
}  // namespace of_cufft
#endif
#if HAS_CUSOLVER
namespace of_cusolver {
using Functions = cusolver::TypedRoutines;
#define SAME_SOLVER(name, real, complex, parameters)    \
  SAME_FUNCTION(name, cusolverDnS##real, parameters)    \
  SAME_FUNCTION(name, cusolverDnD##real, parameters)    \
  SAME_FUNCTION(name, cusolverDnC##complex, parameters) \
  SAME_FUNCTION(name, cusolverDnZ##complex, parameters)
#define SAME_BLAS(name, real, complex, parameters)  \
  SAME_FUNCTION(name, cublasS##real, parameters)    \
  SAME_FUNCTION(name, cublasD##real, parameters)    \
  SAME_FUNCTION(name, cublasC##complex, parameters) \
  SAME_FUNCTION(name, cublasZ##complex, parameters)
ADJOINT_CUSOLVER_TYPED(SAME_SOLVER)
ADJOINT_CUBLAS_TYPED(SAME_BLAS)
ADJOINT_EACH_CUSOLVER_NUMBER(SAME_NUMBER)
namespace of_all_types {
using Functions = cusolver::CommonRoutines;
ADJOINT_CUSOLVER_PLAIN(SAME_FUNCTION)
#if CUSOLVER_VERSION >= 11701  // of CUDA 12.6
ADJOINT_CUSOLVER_NEWER(SAME_FUNCTION)
#endif
}  // namespace of_all_types
}  // namespace of_cusolver
#endif
#if HAS_NVTX
namespace of_nvtx {
using nvtx::Functions;
ADJOINT_EACH_NVTX_FUNCTION(SAME_FUNCTION)
ADJOINT_EACH_NVTX_NUMBER(SAME_NUMBER)
}  // namespace of_nvtx
#endif

// The comparison itself: what it must tell apart.
static_assert(callable<int (*)(Stream*, unsigned), CUresult (*)(CUstream*, unsigned)>);
static_assert(!callable<int (*)(Stream, Event), CUresult (*)(CUevent, CUstream)>);
static_assert(!callable<int (*)(int), CUresult (*)(int, int)>);
static_assert(!callable<int (*)(int), CUresult (*)(long long)>);
static_assert(!callable<int (*)(int*), CUresult (*)(size_t*)>);
static_assert(!callable<int (*)(const int*), CUresult (*)(int*)>);
static_assert(!callable<int (*)(size_t), CUresult (*)(float)>);
static_assert(!callable<const char* (*)(int), CUresult (*)(int)>);

void print(const char* header, int version, int functions, int numbers) {
  std::printf("%s%s%s: %d functions, %d numbers\n", header, version ? " " : "",
              version ? std::to_string(version).c_str() : "", functions, numbers);
}

}  // namespace

int main() {
  print("cuda.h", CUDA_VERSION, 0 ADJOINT_EACH_DRIVER_FUNCTION(COUNT),
        0 ADJOINT_EACH_DRIVER_NUMBER(COUNT) ADJOINT_EACH_DEVICE_ATTRIBUTE(COUNT));
#if HAS_SYMBOLS
  std::printf("cupti_driver_cbid.h: the symbols of these functions\n");
#endif
#if HAS_NVRTC
  print("nvrtc.h", 0, 0 ADJOINT_EACH_NVRTC_FUNCTION(COUNT), 0 ADJOINT_EACH_NVRTC_NUMBER(COUNT));
#endif
#if HAS_CUBLAS
  print("cublas_v2.h", CUBLAS_VERSION, 0 ADJOINT_EACH_CUBLAS_FUNCTION(COUNT), 0 ADJOINT_EACH_CUBLAS_NUMBER(COUNT));
#endif
#if HAS_CUBLASLT
  print("cublasLt.h", 0, 0 ADJOINT_EACH_CUBLASLT_FUNCTION(COUNT), 0 ADJOINT_EACH_CUBLASLT_NUMBER(COUNT));
#endif
#if HAS_CUDNN
  print("cudnn.h", CUDNN_VERSION, 0 ADJOINT_EACH_CUDNN_FUNCTION(COUNT) ADJOINT_EACH_CUDNN_RNN_FUNCTION(COUNT),
        0 ADJOINT_EACH_CUDNN_NUMBER(COUNT));
#endif
#if HAS_CUFFT
  print("cufft.h", CUFFT_VERSION, 0 ADJOINT_EACH_CUFFT_FUNCTION(COUNT), 0 ADJOINT_EACH_CUFFT_NUMBER(COUNT));
#endif
#if HAS_CUSOLVER
  print("cusolverDn.h", CUSOLVER_VERSION,
        0 ADJOINT_CUSOLVER_TYPED(COUNT) ADJOINT_CUBLAS_TYPED(COUNT) ADJOINT_CUSOLVER_PLAIN(COUNT)
            ADJOINT_CUSOLVER_NEWER(COUNT),
        0 ADJOINT_EACH_CUSOLVER_NUMBER(COUNT));
#endif
#if HAS_NVTX
  print("nvToolsExt.h", NVTX_VERSION, 0 ADJOINT_EACH_NVTX_FUNCTION(COUNT), 0 ADJOINT_EACH_NVTX_NUMBER(COUNT));
#endif
  return 0;
}
