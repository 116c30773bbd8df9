// A driver, a compiler and a cuBLAS that do nothing and count what is asked of them: with them the time of a program on
// a "GPU" is that of the package's own code on the host. benchmarks/cuda_host.py compiles and loads it. Results are
// zeros. What the null compiler makes of a kernel is its text, by which launches are counted.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/driver.h"

using adjoint::cuda::Pointer;
using adjoint::cuda::Result;

namespace {

/// A kernel, and how often it was launched.
struct Kernel {
  std::string text;
  long launches = 0;
};
std::vector<Kernel*> kernels;

constexpr size_t kTotalMemory = size_t{1} << 37;

struct Program {
  std::string source;
};

}  // namespace

extern "C" {

/// Counted since the start of the process.
struct NullCounts {
  long launches, products, copies, clears, allocations, waits, compilations, loads;
} null_counts;

int null_kernel_count() { return static_cast<int>(kernels.size()); }
const char* null_kernel_text(int number) { return kernels[static_cast<size_t>(number)]->text.c_str(); }
long null_kernel_launches(int number) { return kernels[static_cast<size_t>(number)]->launches; }

Result cuInit(unsigned) { return 0; }

// ---- What has an answer

Result cuGetErrorName(Result, const char** name) { return *name = "CUDA_ERROR", 0; }
Result cuGetErrorString(Result, const char** text) { return *text = "an error of the null driver", 0; }
Result cuDriverGetVersion(int* version) { return *version = 13000, 0; }
Result cuDeviceGetCount(int* count) { return *count = 1, 0; }
Result cuDeviceGet(int* device, int) { return *device = 0, 0; }
Result cuDeviceGetName(char* name, int size, int) { return std::strncpy(name, "None", static_cast<size_t>(size)), 0; }
/// Those of an H200, where a kernel asks.
Result cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 8: *value = 49152; break;
    case 10: *value = 32; break;
    case 16: *value = 132; break;
    case 38: *value = 50 << 20; break;
    case 39: *value = 2048; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 81: *value = 233472; break;
    case 82: *value = 65536; break;
    case 97: *value = 232448; break;
    default: *value = 1024;
  }
  return 0;
}
Result cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = kTotalMemory, 0; }
Result cuDeviceGetUuid_v2(char* uuid, int) { return std::memset(uuid, 1, 16), 0; }
Result cuDeviceCanAccessPeer(int* can, int, int) { return *can = 0, 0; }
Result cuDevicePrimaryCtxRetain(void** context, int) { return *context = &null_counts, 0; }
Result cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = kTotalMemory, 0; }
Result cuPointerGetAttribute(void* value, int, Pointer) { return *static_cast<int*>(value) = 0, 0; }

Result cuMemAlloc_v2(Pointer* address, size_t size) {
  ++null_counts.allocations;
  *address = reinterpret_cast<Pointer>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096));
  return *address ? 0 : 2;
}
Result cuMemFree_v2(Pointer address) { return std::free(reinterpret_cast<void*>(address)), 0; }
Result cuMemHostAlloc(void** address, size_t size, unsigned) { return *address = std::calloc(size, 1), 0; }
Result cuMemFreeHost(void* address) { return std::free(address), 0; }

Result cuMemcpyDtoHAsync_v2(void* to, Pointer, size_t size, void*) {
  ++null_counts.copies;
  return std::memset(to, 0, size), 0;
}
Result cuEventElapsedTime(float* time, void*, void*) { return *time = 1, 0; }
Result cuStreamCreateWithPriority(void** stream, unsigned, int) { return *stream = new char, 0; }
Result cuEventCreate(void** event, unsigned) { return *event = &null_counts, 0; }
Result cuStreamIsCapturing(void*, int* status) { return *status = 0, 0; }
Result cuStreamEndCapture(void*, void** graph) { return *graph = &null_counts, 0; }
Result cuGraphInstantiateWithFlags(void** exec, void*, unsigned long long) { return *exec = &null_counts, 0; }

Result cuModuleLoadData(void** module, const void* code) {
  ++null_counts.loads;
  return *module = const_cast<void*>(code), 0;
}
Result cuModuleGetFunction(void** function, void* module, const char*) {
  const char* text = static_cast<const char*>(module);
  kernels.push_back(new Kernel{std::strstr(text, "#include") ? text : ""});
  return *function = kernels.back(), 0;
}
Result cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                      void**, void**) {
  ++null_counts.launches;
  ++static_cast<Kernel*>(function)->launches;
  return 0;
}

// ---- What has none

#define NOTHING(name, parameters, counter) \
  Result name parameters {                 \
    ++null_counts.counter;                 \
    return 0;                              \
  }
NOTHING(cuCtxSynchronize, (), waits)
NOTHING(cuStreamSynchronize, (void*), waits)
NOTHING(cuEventSynchronize, (void*), waits)
NOTHING(cuMemcpyHtoDAsync_v2, (Pointer, const void*, size_t, void*), copies)
NOTHING(cuMemcpyDtoDAsync_v2, (Pointer, Pointer, size_t, void*), copies)
NOTHING(cuMemcpyPeerAsync, (Pointer, void*, Pointer, void*, size_t, void*), copies)
NOTHING(cuMemsetD8Async, (Pointer, unsigned char, size_t, void*), clears)
#undef NOTHING
Result cuCtxSetCurrent(void*) { return 0; }
Result cuStreamDestroy_v2(void*) { return 0; }
Result cuStreamQuery(void*) { return 0; }
Result cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
Result cuEventDestroy_v2(void*) { return 0; }
Result cuEventRecord(void*, void*) { return 0; }
Result cuEventQuery(void*) { return 0; }
Result cuFuncSetAttribute(void*, int, int) { return 0; }
Result cuStreamBeginCapture_v2(void*, int) { return 0; }
Result cuThreadExchangeStreamCaptureMode(int*) { return 0; }
Result cuGraphLaunch(void*, void*) { return 0; }
Result cuGraphDestroy(void*) { return 0; }
Result cuGraphExecDestroy(void*) { return 0; }
Result cuMemHostRegister_v2(void*, size_t, unsigned) { return 0; }
Result cuMemHostUnregister(void*) { return 0; }
Result cuProfilerStart() { return 0; }
Result cuProfilerStop() { return 0; }

// ---- NVRTC

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  return *program = new Program{source}, 0;
}
int nvrtcCompileProgram(Program*, int, const char* const*) { return ++null_counts.compilations, 0; }
int nvrtcGetProgramLogSize(Program*, size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(Program*, char* log) { return *log = 0, 0; }
int nvrtcGetCUBINSize(Program* program, size_t* size) { return *size = program->source.size() + 1, 0; }
int nvrtcGetCUBIN(Program* program, char* code) {
  return std::memcpy(code, program->source.c_str(), program->source.size() + 1), 0;
}
int nvrtcDestroyProgram(Program** program) { return delete *program, 0; }

// ---- cuBLAS

int cublasCreate_v2(void** handle) { return *handle = &null_counts, 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
int cublasSetWorkspace_v2(void*, void*, size_t) { return 0; }
int cublasSetMathMode(void*, int) { return 0; }
const char* cublasGetStatusName(int) { return "CUBLAS_STATUS_OF_NOTHING"; }
int cublasGemmEx_64(void*, int, int, int64_t, int64_t, int64_t, const void*, const void*, int, int64_t, const void*,
                    int, int64_t, const void*, void*, int, int64_t, int, int) {
  return ++null_counts.products, 0;
}
int cublasGemmStridedBatchedEx_64(void*, int, int, int64_t, int64_t, int64_t, const void*, const void*, int, int64_t,
                                  long long, const void*, int, int64_t, long long, const void*, void*, int, int64_t,
                                  long long, int64_t, int, int) {
  return ++null_counts.products, 0;
}

}  // extern "C"
