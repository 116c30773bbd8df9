// A stand-in for NVIDIA's driver, for machines without a GPU: kernels, which the C++ compiler has compiled (nvrtc.cpp),
// run on the CPU, thread after thread (blocks.cpp). It exports what csrc/cuda/driver.h looks for.
//
// - Memory of the "device" can be touched only while a kernel or a copy runs: the program's own reads and writes crash.
// - Work is queued and done when somebody waits, so that what should have waited sees old values.
// - Calls are counted, and can be told to fail (standin_count, standin_fail), for tests of the plumbing.
// - New memory is full of ones, as numbers NaN or -1, so that what counts on zeros fails.
#include "driver.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blocks.h"

namespace {

using standin::Kernel;
using standin::Module;
using standin::Span;

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotFound = 500, kNotReady = 600;
constexpr int kDevices = 2;
constexpr size_t kDeviceMemory = size_t{1} << 32;
// Of a piece, from its beginning on: opening and closing the memory takes as long as there are pages that were touched.
constexpr size_t kFilled = size_t{4} << 20;

// ---- What the device is

int capability() {
  const char* given = std::getenv("ADJOINT_STANDIN_CAPABILITY");
  return given ? std::atoi(given) : 90;
}
/// What a block may have, as NVIDIA's devices of this capability have it.
int most_shared_bytes() {
  switch (capability()) {
    case 75: return 64 << 10;
    case 80: return 163 << 10;
    case 86:
    case 89: return 99 << 10;
    default: return 227 << 10;
  }
}

// ---- Counting and failing

std::recursive_mutex mutex;
std::map<std::string, int> counts;
struct Failure {
  int code, after;
};
std::map<std::string, Failure> failures;

/// Counts a call; gives the error that it was told to have, or 0.
int begin_call(const char* name) {
  ++counts[name];
  auto entry = failures.find(name);
  if (entry == failures.end() || entry->second.after-- > 0) return kSuccess;
  const int code = entry->second.code;
  failures.erase(entry);
  return code;
}
#define CALL(name)             \
  std::lock_guard lock(mutex); \
  if (const int code = begin_call(#name)) return code

// ---- Memory: one piece of addresses a device, which is open only to kernels and copies

struct Memory {
  char* base = nullptr;
  std::map<const char*, size_t> used;  // pieces by address
  size_t total = 0;
};
Memory memories[kDevices];
std::map<const char*, size_t> pinned;  // the program's memory that copies read when their turn comes
Span piece_at(const std::map<const char*, size_t>& pieces, const char* place) {
  auto after = pieces.upper_bound(place);
  if (after == pieces.begin()) return {};
  const auto& [first, size] = *std::prev(after);
  return place < first + size ? Span{first, first + size} : Span{};
}
bool is_pinned(const void* address) { return piece_at(pinned, static_cast<const char*>(address)).first; }
int current = 0;

void protect(bool open) {
  for (Memory& memory : memories)
    if (memory.base) mprotect(memory.base, kDeviceMemory, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
/// The whole pages of a piece are the system's again.
void give_back_pages(const char* place, size_t size) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = (reinterpret_cast<uintptr_t>(place) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<uintptr_t>(place) + size) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}
struct Opened {
  Opened() { protect(true); }
  ~Opened() { protect(false); }
};

// ---- Work that waits

std::deque<std::function<void()>> queue;
// A captured graph is the work that was given to the streams meanwhile: by the thread that captures, or by one that
// captures nothing itself.
using Work = std::vector<std::function<void()>>;
constexpr int kGlobal = 0, kRelaxed = 2;
struct Capture {
  void* stream;
  std::thread::id thread;
  int mode;
  std::unique_ptr<Work> work;
  bool valid = true;
};
std::list<Capture> captures;
thread_local int thread_mode = kGlobal;
bool is_mine(const Capture& capture) { return capture.thread == std::this_thread::get_id(); }
std::list<Capture>::iterator capture_on(void* stream) {
  return std::ranges::find_if(captures, [&](const Capture& capture) { return capture.stream == stream; });
}
Capture* capture_here() {
  const auto mine = std::ranges::find_if(captures, is_mine);
  return mine != captures.end() ? &*mine : captures.empty() ? nullptr : &captures.front();
}
void enqueue(std::function<void()> work) {
  if (Capture* capture = capture_here())
    capture->work->push_back(std::move(work));
  else
    queue.push_back(std::move(work));
}
constexpr int kCaptureUnsupported = 900, kCaptureInvalidated = 901;
bool is_refused(bool refused) {
  if (refused)
    for (Capture& capture : captures) capture.valid = false;
  return refused;
}
// What waits for the device ends all captures, and what waits for a stream those that this thread must heed.
#define NOT_IN_CAPTURE() \
  if (is_refused(!captures.empty())) return kCaptureUnsupported
bool must_heed(const Capture& capture) { return capture.mode == kGlobal || is_mine(capture); }
#define NOT_IN_CAPTURE_HERE() \
  if (is_refused(std::ranges::any_of(captures, must_heed))) return kCaptureUnsupported
// What takes memory, loads code or asks for an event is allowed to threads that have said so.
bool is_strict() {
  return thread_mode != kRelaxed && std::ranges::any_of(captures, [](const Capture& capture) {
           return capture.mode != kRelaxed && must_heed(capture);
         });
}
#define NOT_IN_STRICT_CAPTURE() \
  if (is_refused(is_strict())) return kCaptureUnsupported
void do_all() {
  if (queue.empty()) return;
  Opened opened;
  while (!queue.empty()) {
    auto work = std::move(queue.front());
    queue.pop_front();
    work();
  }
}

struct FakeEvent {
  bool recorded = false;
};

}  // namespace

// ---- For the other parts of the stand-in

namespace standin {

void enqueue(std::function<void()> work) {
  std::lock_guard lock(mutex);
  ::enqueue(std::move(work));
}
int begin_call(const char* name) {
  std::lock_guard lock(mutex);
  return ::begin_call(name);
}
bool is_strict() {
  std::lock_guard lock(mutex);
  return ::is_strict();
}
Span device_piece(const char* place) {
  for (const Memory& memory : memories)
    if (place >= memory.base && place < memory.base + kDeviceMemory) return piece_at(memory.used, place);
  return {};
}
Span pinned_piece(const char* place) { return piece_at(pinned, place); }

}  // namespace standin

extern "C" {

// ---- For tests

int standin_count(const char* name) {
  std::lock_guard lock(mutex);
  return counts[name];
}
void standin_fail(const char* name, int code, int after) {
  std::lock_guard lock(mutex);
  failures[name] = {code, after};
}
int standin_waiting() {
  std::lock_guard lock(mutex);
  return static_cast<int>(queue.size());
}
void standin_open(int open) { protect(open != 0); }

// ---- Devices

int cuInit(unsigned) {
  CALL(cuInit);
  for (Memory& memory : memories)
    if (!memory.base)
      memory.base = static_cast<char*>(
          mmap(nullptr, kDeviceMemory, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  CALL(cuDriverGetVersion);
  *version = std::getenv("ADJOINT_STANDIN_VERSION") ? std::atoi(std::getenv("ADJOINT_STANDIN_VERSION")) : 13000;
  return kSuccess;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return kSuccess;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory"
          : code == 700        ? "an illegal memory access was encountered"
                               : "an error of the stand-in driver";
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  CALL(cuDeviceGetCount);
  *count = std::getenv("ADJOINT_STANDIN_DEVICES") ? std::atoi(std::getenv("ADJOINT_STANDIN_DEVICES")) : kDevices;
  return kSuccess;
}
int cuDeviceGet(int* device, int index) {
  CALL(cuDeviceGet);
  *device = index;
  return kSuccess;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "Stand-in");
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 10: *value = 32; break;
    case 16: *value = 4; break;
    case 75: *value = capability() / 10; break;
    case 76: *value = capability() % 10; break;
    case 97: *value = most_shared_bytes(); break;
    default: *value = 1024;
  }
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = kDeviceMemory;
  return kSuccess;
}
int cuDeviceGetUuid_v2(char* uuid, int device) {
  std::memset(uuid, device + 1, 16);
  return kSuccess;
}
int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  CALL(cuDevicePrimaryCtxRetain);
  *context = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  CALL(cuCtxSetCurrent);
  current = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return kSuccess;
}
int cuCtxSynchronize() {
  CALL(cuCtxSynchronize);
  NOT_IN_CAPTURE();
  do_all();
  return kSuccess;
}

// ---- Memory

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = kDeviceMemory;
  *free = kDeviceMemory - memories[current].total;
  return kSuccess;
}
int cuMemAlloc_v2(unsigned long long* address, size_t size) {
  CALL(cuMemAlloc_v2);
  NOT_IN_STRICT_CAPTURE();
  Memory& memory = memories[current];
  constexpr size_t kRound = 512;
  const size_t room = (size + kRound - 1) / kRound * kRound + kRound;  // some lies between two pieces
  char* place = memory.base;
  for (const auto& [start, length] : memory.used) {
    if (static_cast<size_t>(start - place) >= room) break;
    place = memory.base + (static_cast<size_t>(start - memory.base) + length + kRound - 1) / kRound * kRound + kRound;
  }
  if (static_cast<size_t>(place - memory.base) + room > kDeviceMemory) return kOutOfMemory;
  memory.used[place] = size;
  memory.total += size;
  const Opened opened;
  std::memset(place, 0xff, std::min(size, kFilled));
  *address = reinterpret_cast<uintptr_t>(place);
  return kSuccess;
}
int cuMemFree_v2(unsigned long long address) {
  CALL(cuMemFree_v2);
  do_all();
  for (Memory& memory : memories) {
    auto entry = memory.used.find(reinterpret_cast<char*>(address));
    if (entry == memory.used.end()) continue;
    memory.total -= entry->second;
    give_back_pages(entry->first, entry->second);
    memory.used.erase(entry);
    return kSuccess;
  }
  return kInvalidValue;
}
int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  CALL(cuPointerGetAttribute);
  for (int i = 0; i < kDevices; ++i) {
    const char* place = reinterpret_cast<char*>(address);
    if (attribute != 9 || place < memories[i].base || place >= memories[i].base + kDeviceMemory) continue;
    *static_cast<int*>(value) = i;
    return kSuccess;
  }
  return kInvalidValue;
}
int cuMemHostAlloc(void** address, size_t size, unsigned) {
  CALL(cuMemHostAlloc);
  NOT_IN_STRICT_CAPTURE();
  *address = std::calloc(size, 1);
  pinned[static_cast<char*>(*address)] = size;
  return kSuccess;
}
int cuMemFreeHost(void* address) {
  CALL(cuMemFreeHost);
  do_all();
  pinned.erase(static_cast<char*>(address));
  std::free(address);
  return kSuccess;
}
int cuMemHostRegister_v2(void* address, size_t size, unsigned) {
  CALL(cuMemHostRegister_v2);
  constexpr int kAlreadyRegistered = 712;
  return pinned.emplace(static_cast<char*>(address), size).second ? kSuccess : kAlreadyRegistered;
}
int cuMemHostUnregister(void* address) {
  CALL(cuMemHostUnregister);
  constexpr int kNotRegistered = 713;
  do_all();
  return pinned.erase(static_cast<char*>(address)) ? kSuccess : kNotRegistered;
}
int cuProfilerStart() {
  CALL(cuProfilerStart);
  return kSuccess;
}
int cuProfilerStop() {
  CALL(cuProfilerStop);
  return kSuccess;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t size, void*) {
  CALL(cuMemcpyHtoDAsync_v2);
  if (is_pinned(from)) {
    enqueue([=] { std::memcpy(reinterpret_cast<void*>(to), from, size); });
    return kSuccess;
  }
  NOT_IN_CAPTURE_HERE();
  std::string bytes(static_cast<const char*>(from), size);
  enqueue([=, bytes = std::move(bytes)] { std::memcpy(reinterpret_cast<void*>(to), bytes.data(), size); });
  return kSuccess;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t size, void*) {
  CALL(cuMemcpyDtoHAsync_v2);
  enqueue([=] { std::memcpy(to, reinterpret_cast<void*>(from), size); });
  return kSuccess;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, void*) {
  CALL(cuMemcpyDtoDAsync_v2);
  enqueue([=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size); });
  return kSuccess;
}
int cuMemcpyPeerAsync(unsigned long long to, void*, unsigned long long from, void*, size_t size, void* stream) {
  return cuMemcpyDtoDAsync_v2(to, from, size, stream);
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t size, void*) {
  CALL(cuMemsetD8Async);
  enqueue([=] { std::memset(reinterpret_cast<void*>(to), value, size); });
  return kSuccess;
}

// ---- Streams and events: one queue serves all of them

int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  CALL(cuStreamCreateWithPriority);
  static uintptr_t next = 0x1000;
  *stream = reinterpret_cast<void*>(next++);
  return kSuccess;
}
int cuStreamDestroy_v2(void*) {
  CALL(cuStreamDestroy_v2);
  return kSuccess;
}
int cuStreamQuery(void*) {
  CALL(cuStreamQuery);
  NOT_IN_CAPTURE_HERE();
  return queue.empty() ? kSuccess : kNotReady;
}
int cuStreamSynchronize(void*) {
  CALL(cuStreamSynchronize);
  NOT_IN_CAPTURE_HERE();
  do_all();
  return kSuccess;
}
int cuStreamWaitEvent(void*, void*, unsigned) {
  CALL(cuStreamWaitEvent);
  return kSuccess;
}
int cuEventCreate(void** event, unsigned) {
  CALL(cuEventCreate);
  *event = new FakeEvent;
  return kSuccess;
}
int cuEventDestroy_v2(void* event) {
  CALL(cuEventDestroy_v2);
  do_all();
  delete static_cast<FakeEvent*>(event);
  return kSuccess;
}
int cuEventRecord(void* event, void*) {
  CALL(cuEventRecord);
  auto* fake = static_cast<FakeEvent*>(event);
  if (!captures.empty()) return kSuccess;  // a dependency of the graph
  fake->recorded = false;
  enqueue([=] { fake->recorded = true; });
  return kSuccess;
}
int cuEventQuery(void* event) {
  CALL(cuEventQuery);
  NOT_IN_STRICT_CAPTURE();
  return static_cast<FakeEvent*>(event)->recorded ? kSuccess : kNotReady;
}
int cuEventSynchronize(void*) {
  CALL(cuEventSynchronize);
  do_all();
  return kSuccess;
}
int cuEventElapsedTime(float* time, void*, void*) {
  CALL(cuEventElapsedTime);
  *time = 1.5f;
  return kSuccess;
}

// ---- Kernels

int cuModuleLoadData(void** module, const void* code) {
  CALL(cuModuleLoadData);
  NOT_IN_STRICT_CAPTURE();
  const char* text = static_cast<const char*>(code);
  if (std::strncmp(text, "standin:", 8) != 0) return kInvalidValue;
  auto* loaded = new Module(text + 8);
  *module = loaded;
  return loaded->handle ? kSuccess : kNotFound;
}
int cuModuleGetFunction(void** function, void* module, const char*) {
  CALL(cuModuleGetFunction);
  const auto* loaded = static_cast<const Module*>(module);
  auto* kernel = reinterpret_cast<void (*)(void**)>(dlsym(loaded->handle, "kernel"));
  auto* size = static_cast<const size_t*>(dlsym(loaded->handle, "kernel_parameter_bytes"));
  if (!kernel || !size) return kNotFound;
  *function = new Kernel{loaded, kernel, *size};
  return kSuccess;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  CALL(cuFuncSetAttribute);
  if (attribute != 8 || value > most_shared_bytes()) return kInvalidValue;
  static_cast<Kernel*>(function)->most_shared = static_cast<unsigned>(value);
  return kSuccess;
}
// How many kernels were launched so far, for tests that count them.
long standin_launches = 0;

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void*, void** given, void**) {
  CALL(cuLaunchKernel);
  ++standin_launches;
  const auto* kernel = static_cast<const Kernel*>(function);
  if (by != 1 || bz != 1 || bx > 1024 || gx == 0 || gy == 0 || gz != 1 || gy > 65535 ||
      shared_bytes > kernel->most_shared)
    return kInvalidValue;
  std::vector<char> args(kernel->parameter_bytes + 64);
  char* place = args.data() + 64 - reinterpret_cast<uintptr_t>(args.data()) % 64;
  const auto offset = static_cast<size_t>(place - args.data());
  std::memcpy(place, given[0], kernel->parameter_bytes);
  enqueue([=, args = std::move(args)]() mutable {
    standin::run({*kernel, {gx, gy, 1}, {bx, 1, 1}, shared_bytes, args.data() + offset});
  });
  return kSuccess;
}

// ---- Graphs

int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(thread_mode, *mode);
  return kSuccess;
}
int cuStreamBeginCapture_v2(void* stream, int mode) {
  CALL(cuStreamBeginCapture_v2);
  if (!stream || capture_on(stream) != captures.end() || std::ranges::any_of(captures, is_mine))
    return kCaptureUnsupported;
  do_all();
  captures.push_back({stream, std::this_thread::get_id(), mode, std::make_unique<Work>()});
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  CALL(cuStreamEndCapture);
  const auto capture = capture_on(stream);
  if (capture == captures.end()) return kCaptureUnsupported;
  const bool valid = capture->valid;
  *graph = valid ? capture->work.release() : nullptr;
  captures.erase(capture);
  return valid ? kSuccess : kCaptureInvalidated;
}
int cuStreamIsCapturing(void* stream, int* status) {
  CALL(cuStreamIsCapturing);
  *status = capture_on(stream) != captures.end();
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  CALL(cuGraphInstantiateWithFlags);
  NOT_IN_STRICT_CAPTURE();
  *exec = new Work(*static_cast<Work*>(graph));
  return kSuccess;
}
int cuGraphLaunch(void* exec, void*) {
  CALL(cuGraphLaunch);
  for (const auto& work : *static_cast<Work*>(exec)) enqueue(work);
  return kSuccess;
}
int cuGraphDestroy(void* graph) {
  CALL(cuGraphDestroy);
  delete static_cast<Work*>(graph);
  return kSuccess;
}
int cuGraphExecDestroy(void* exec) {
  CALL(cuGraphExecDestroy);
  NOT_IN_STRICT_CAPTURE();
  delete static_cast<Work*>(exec);
  return kSuccess;
}

}  // extern "C"
