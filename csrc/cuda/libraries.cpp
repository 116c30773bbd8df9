#include "cuda/libraries.h"

#include "cuda/api/cublas.h"
#include "cuda/api/cublaslt.h"
#include "cuda/api/cudnn.h"
#include "cuda/api/cufft.h"
#include "cuda/api/nvrtc.h"
#include "cuda/api/nvtx.h"
#include "cuda/driver.h"

namespace adjoint::cuda {
namespace {

template <class... Functions>
LibraryState state_of(const char* name, std::span<const LibraryFile> files) {
  Library library(files);
  if (!library.open()) return {name, "", library.reason()};
  return {name, library.path(), (Functions().find(library) + ...)};
}

}  // namespace

std::vector<LibraryState> library_states() {
  return {state_of<Driver>("driver", kDriverFiles),
          state_of<nvrtc::Functions>("nvrtc", nvrtc::kFiles),
          state_of<cublas::Functions>("cublas", cublas::kFiles),
          state_of<cublaslt::Functions>("cublasLt", cublaslt::kFiles),
          state_of<cudnn::Functions, cudnn::RnnFunctions>("cudnn", cudnn::kFiles),
          state_of<cufft::Functions>("cufft", cufft::kFiles),
          state_of<nvtx::Functions>("nvtx", nvtx::kFiles)};
}

}  // namespace adjoint::cuda
