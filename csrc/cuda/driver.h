// NVIDIA's driver: our declarations of the functions that are used, found when a device is first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace adjoint::cuda {

using Result = int;
inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
using DeviceNumber = int;
using Pointer = unsigned long long;  ///< an address on a device
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;  ///< null: the default stream, on which all others wait
using Event = struct EventHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;

/// Numbers of device attributes.
enum class Attribute : int {
  MaxThreadsPerBlock = 1,
  SharedMemoryPerBlock = 8,
  WarpSize = 10,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  SharedMemoryPerMultiprocessor = 81,
  RegistersPerMultiprocessor = 82,
  SharedMemoryPerBlockOptin = 97,
};

// The name here, the name in the library, and the parameters.
// clang-format off: a table
#define ADJOINT_EACH_DRIVER_FUNCTION(X)                                                                              \
  X(get_error_name, cuGetErrorName, (Result, const char**))                                                          \
  X(get_error_string, cuGetErrorString, (Result, const char**))                                                      \
  X(driver_version, cuDriverGetVersion, (int*))                                                                      \
  X(device_count, cuDeviceGetCount, (int*))                                                                          \
  X(device_get, cuDeviceGet, (DeviceNumber*, int))                                                                   \
  X(device_name, cuDeviceGetName, (char*, int, DeviceNumber))                                                        \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, DeviceNumber))                                               \
  X(device_memory, cuDeviceTotalMem_v2, (size_t*, DeviceNumber))                                                     \
  X(device_uuid, cuDeviceGetUuid_v2, (char*, DeviceNumber))                                                          \
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
  X(destroy_graph_exec, cuGraphExecDestroy, (GraphExec))
// clang-format on

struct Driver {
#define ADJOINT_DRIVER_FUNCTION(name, symbol, parameters) Result(*name) parameters;
  ADJOINT_EACH_DRIVER_FUNCTION(ADJOINT_DRIVER_FUNCTION)
#undef ADJOINT_DRIVER_FUNCTION
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
