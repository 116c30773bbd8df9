// NVIDIA's driver: our declarations of the functions that are used, found when a device is first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/library.h"

namespace adjoint::cuda {

using Result = int;
using DeviceNumber = int;
using Pointer = unsigned long long;  ///< an address on a device
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;  ///< null: the default stream, on which all others wait
using Event = struct EventHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
struct Uuid {
  char bytes[16];
};

// See Note [Declarations] in cuda/library.h.
// clang-format off: a table
#define ADJOINT_EACH_DEVICE_ATTRIBUTE(X)                                                                             \
  X(MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                                                \
  X(SharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                                        \
  X(WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                                                     \
  X(ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                                                   \
  X(MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                               \
  X(Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                                                                  \
  X(PciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33)                                                                    \
  X(PciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34)                                                              \
  X(MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                                                      \
  X(MemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                                                 \
  X(L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                              \
  X(MaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                             \
  X(PciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50)                                                              \
  X(ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                        \
  X(ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                        \
  X(SharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                     \
  X(RegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                            \
  X(MultiGpuBoard, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 84)                                                          \
  X(SharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)
#define ADJOINT_EACH_DRIVER_NUMBER(X)                                                                                \
  X(kSuccess, CUDA_SUCCESS, 0)                                                                                       \
  X(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                       \
  X(kNotReady, CUDA_ERROR_NOT_READY, 600)                                                                            \
  X(kPinnedForAllContexts, CU_MEMHOSTALLOC_PORTABLE, 1)                                                              \
  X(kPinnedSeenByDevice, CU_MEMHOSTALLOC_DEVICEMAP, 2)                                                               \
  X(kStreamApart, CU_STREAM_NON_BLOCKING, 1) /* from the default stream: neither waits for the other */              \
  X(kEventSleepsToWait, CU_EVENT_BLOCKING_SYNC, 1)                                                                   \
  X(kEventWithoutTimes, CU_EVENT_DISABLE_TIMING, 2)                                                                  \
  X(kDeviceOfPointer, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                                        \
  X(kDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                         \
  X(kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                                                \
  X(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                     \
  X(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED, 2)                                                              \
  X(kNotCapturing, CU_STREAM_CAPTURE_STATUS_NONE, 0)

ADJOINT_EACH_DRIVER_NUMBER(ADJOINT_DECLARE_NUMBER)
#define ADJOINT_ATTRIBUTE(name, theirs, number) name = number,
/// Numbers of device attributes.
enum class Attribute : int { ADJOINT_EACH_DEVICE_ATTRIBUTE(ADJOINT_ATTRIBUTE) };
#undef ADJOINT_ATTRIBUTE

// The name here, the name in the library, and the parameters.
#define ADJOINT_EACH_DRIVER_FUNCTION(X)                                                                              \
  X(initialize, cuInit, (unsigned))                                                                                  \
  X(get_error_name, cuGetErrorName, (Result, const char**))                                                          \
  X(get_error_string, cuGetErrorString, (Result, const char**))                                                      \
  X(driver_version, cuDriverGetVersion, (int*))                                                                      \
  X(device_count, cuDeviceGetCount, (int*))                                                                          \
  X(device_get, cuDeviceGet, (DeviceNumber*, int))                                                                   \
  X(device_name, cuDeviceGetName, (char*, int, DeviceNumber))                                                        \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, DeviceNumber))                                               \
  X(device_memory, cuDeviceTotalMem_v2, (size_t*, DeviceNumber))                                                     \
  X(device_uuid, cuDeviceGetUuid_v2, (Uuid*, DeviceNumber))                                                          \
  X(can_access_peer, cuDeviceCanAccessPeer, (int*, DeviceNumber, DeviceNumber))                                      \
  X(retain_context, cuDevicePrimaryCtxRetain, (Context*, DeviceNumber))                                              \
  X(set_context, cuCtxSetCurrent, (Context))                                                                         \
  X(synchronize, cuCtxSynchronize, ())                                                                               \
  X(memory_info, cuMemGetInfo_v2, (size_t*, size_t*))                                                                \
  X(pointer_attribute, cuPointerGetAttribute, (void*, int, Pointer))                                                 \
  X(allocate, cuMemAlloc_v2, (Pointer*, size_t))                                                                     \
  X(free, cuMemFree_v2, (Pointer))                                                                                   \
  X(allocate_host, cuMemHostAlloc, (void**, size_t, unsigned))                                                       \
  X(free_host, cuMemFreeHost, (void*))                                                                               \
  X(register_host, cuMemHostRegister_v2, (void*, size_t, unsigned))                                                  \
  X(unregister_host, cuMemHostUnregister, (void*))                                                                   \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (Pointer, const void*, size_t, Stream))                                    \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void*, Pointer, size_t, Stream))                                            \
  X(copy_on_device, cuMemcpyDtoDAsync_v2, (Pointer, Pointer, size_t, Stream))                                        \
  X(copy_to_peer, cuMemcpyPeerAsync, (Pointer, Context, Pointer, Context, size_t, Stream))                           \
  X(set_bytes, cuMemsetD8Async, (Pointer, unsigned char, size_t, Stream))                                            \
  X(create_stream, cuStreamCreateWithPriority, (Stream*, unsigned, int))                                             \
  X(destroy_stream, cuStreamDestroy_v2, (Stream))                                                                    \
  X(query_stream, cuStreamQuery, (Stream))                                                                           \
  X(synchronize_stream, cuStreamSynchronize, (Stream))                                                               \
  X(wait_event, cuStreamWaitEvent, (Stream, Event, unsigned))                                                        \
  X(create_event, cuEventCreate, (Event*, unsigned))                                                                 \
  X(destroy_event, cuEventDestroy_v2, (Event))                                                                       \
  X(record_event, cuEventRecord, (Event, Stream))                                                                    \
  X(query_event, cuEventQuery, (Event))                                                                              \
  X(synchronize_event, cuEventSynchronize, (Event))                                                                  \
  X(elapsed_time, cuEventElapsedTime, (float*, Event, Event))                                                        \
  X(load_module, cuModuleLoadData, (Module*, const void*))                                                           \
  X(get_function, cuModuleGetFunction, (Function*, Module, const char*))                                             \
  X(set_function_attribute, cuFuncSetAttribute, (Function, int, int))                                                \
  X(launch, cuLaunchKernel, (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
                             void**, void**))                                                                        \
  X(begin_capture, cuStreamBeginCapture_v2, (Stream, int))                                                           \
  X(end_capture, cuStreamEndCapture, (Stream, Graph*))                                                               \
  X(capture_status, cuStreamIsCapturing, (Stream, int*))                                                             \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int*))                                                \
  X(instantiate_graph, cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))                         \
  X(launch_graph, cuGraphLaunch, (GraphExec, Stream))                                                                \
  X(destroy_graph, cuGraphDestroy, (Graph))                                                                          \
  X(destroy_graph_exec, cuGraphExecDestroy, (GraphExec))                                                             \
  X(start_profiler, cuProfilerStart, ())                                                                             \
  X(stop_profiler, cuProfilerStop, ())
// clang-format on

inline constexpr LibraryFile kDriverFiles[] = {{0, "libcuda.so.1"}};
struct Driver {
#define ADJOINT_DRIVER_FUNCTION(name, symbol, parameters) ADJOINT_FUNCTION_MEMBER(name, symbol, Result, parameters)
  ADJOINT_EACH_DRIVER_FUNCTION(ADJOINT_DRIVER_FUNCTION)
#undef ADJOINT_DRIVER_FUNCTION
  /// The names of the functions that a library lacks.
  std::string find(const Library& library);
};

/// The driver; fails with what is missing and what to do where there is none that can be used.
const Driver& driver();
/// What a thread does before each call of the driver, or null: see Note [Together] in cuda/together.h.
extern thread_local void (*before_driver_calls)();
/// Why no device can be used; empty where one can. Asks the driver once.
const std::string& why_unavailable();

/// Fails where a call of the driver did; `what` was tried.
void check(Result result, const char* what);

}  // namespace adjoint::cuda
