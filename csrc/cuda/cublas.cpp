#include "cuda/cublas.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "core/error.h"
#include "core/warning.h"
#include "cuda/allocator.h"
#include "cuda/api/cublas.h"
#include "cuda/sessions.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

using namespace cublas;

struct Found {
  Functions functions;
  std::string missing;
};

Library& library() {
  static Library opened(kFiles);
  return opened;
}

const Found& found() {
  static const Found result = [] {
    Found all;
    Library& library = cuda::library();
    if (!library.open()) {
      all.missing = "cuBLAS was not found (" + library.reason() + "), and products of matrices are slow without it; " +
                    "install it with: pip install " + wheel_name("cublas");
    } else if (const std::string lacking = all.functions.find(library); !lacking.empty()) {
      all.missing = "cuBLAS has no " + lacking + ", and products of matrices are slow without it; " +
                    "install a newer one with: pip install -U " + wheel_name("cublas");
    }
    return all;
  }();
  return result;
}

void check_status(int status, const char* what) {
  if (status == kOk) [[likely]]
    return;
  fail("CUDA error: ", found().functions.status_name(status), " when ", what,
       " with cuBLAS; run with CUDA_LAUNCH_BLOCKING=1 to see whether an earlier operation failed");
}

/// A handle, and its memory for each stream: what runs on several streams at once must not share it.
struct Session {
  Handle handle = nullptr;
  Stream stream = nullptr;
  bool has_stream = false;
  std::map<Stream, StoragePtr> workspaces;

  Session() {
    const RelaxedCapture relaxed;  // a handle takes memory
    check_status(found().functions.create(&handle), "starting");
    // Sums of half types are kept in float32 also where a product is split over blocks.
    check_status(found().functions.set_math_mode(handle, kNoReducedSums), "choosing how to sum");
  }
};

/// This thread's handle for the current stream of a device.
Handle handle_for(Device device) {
  auto& session = thread_session<Session>(device);
  const Stream stream = current_stream(device);
  if (session.has_stream && session.stream == stream) return session.handle;
  // Another stream takes the workspace away: it is set after it.
  check_status(found().functions.set_stream(session.handle, stream), "choosing a stream");
  StoragePtr& workspace = session.workspaces[stream];
  const size_t size = blas_workspace_size(use(device).capability);
  if (!workspace) workspace = StoragePtr::steal(allocate(size, device));
  check_status(found().functions.set_workspace(session.handle, workspace->data, size), "giving it memory");
  session.stream = stream;
  session.has_stream = true;
  return session.handle;
}

int type_of(DType dtype) {
  switch (dtype) {
    case DType::Float16: return kReal16;
    case DType::BFloat16: return kBrain16;
    case DType::Float64: return kReal64;
    case DType::Complex64: return kComplex32;
    case DType::Complex128: return kComplex64;
    default: return kReal32;
  }
}

std::atomic<bool>& tf32() {
  static std::atomic<bool> allowed = [] {
    const char* value = std::getenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE");
    return value && std::strcmp(value, "1") == 0;
  }();
  return allowed;
}

int compute_of(DType dtype) {
  if (dtype == DType::Float64 || dtype == DType::Complex128) return kCompute64;
  return allows_tf32() && (dtype == DType::Float32 || dtype == DType::Complex64) ? kComputeTf32 : kCompute32;
}

}  // namespace

void open_cublas() { found(); }

bool has_cublas() {
  if (found().missing.empty()) [[likely]]
    return true;
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) warn_with_lock(found().missing);
  return false;
}

void cublas_product(Device device, const BlasProduct& p) {
  const Handle handle = handle_for(device);
  const Functions& api = found().functions;
  const int type = type_of(p.dtype), compute = compute_of(p.dtype);
  const int a = p.a.transposed ? kTransposed : kPlain, b = p.b.transposed ? kTransposed : kPlain;
  const int status = p.batch == 1
                         ? api.gemm(handle, a, b, p.m, p.n, p.k, p.alpha, p.a.data, type, p.a.leading, p.b.data, type,
                                    p.b.leading, p.beta, p.c.data, type, p.c.leading, compute, kDefaultAlgorithm)
                         : api.gemm_batched(handle, a, b, p.m, p.n, p.k, p.alpha, p.a.data, type, p.a.leading,
                                            p.a.batch, p.b.data, type, p.b.leading, p.b.batch, p.beta, p.c.data, type,
                                            p.c.leading, p.c.batch, p.batch, compute, kDefaultAlgorithm);
  check_status(status, "multiplying matrices");
  finish_launch(device);
}

cublas::Handle cublas_handle(Device device) { return handle_for(device); }
void* cublas_function(const char* name) { return library().find(name); }
size_t blas_workspace_size(int capability) { return size_t{capability >= 90 ? 32u : 4u} << 20; }

bool allows_tf32() { return tf32(); }
void allow_tf32(bool allowed) { tf32() = allowed; }

}  // namespace adjoint::cuda
