// A stand-in for NVIDIA's driver and run-time compiler, for machines without a GPU: kernels are compiled by the C++
// compiler and run on the CPU, thread after thread. It exports what csrc/cuda/driver.h and compiler.cpp look for.
//
// - Memory of the "device" can be touched only while a kernel or a copy runs: the program's own reads and writes crash.
// - Work is queued and done when somebody waits, so that what should have waited sees old values.
// - Calls are counted, and can be told to fail (standin_count, standin_fail), for tests of the plumbing.
// - Threads and blocks run one after the other, or the last of them first (ADJOINT_STANDIN_BACKWARDS).
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cuda_shim.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotFound = 500, kNotReady = 600;
constexpr int kDevices = 2;
constexpr size_t kDeviceMemory = size_t{1} << 32;

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
  std::map<char*, size_t> used;  // pieces by address
  size_t total = 0;
};
Memory memories[kDevices];
std::map<const char*, size_t> pinned;  // the program's memory that copies read when their turn comes
bool is_pinned(const void* address) {
  const char* place = static_cast<const char*>(address);
  auto after = pinned.upper_bound(place);
  return after != pinned.begin() && place < std::prev(after)->first + std::prev(after)->second;
}
int current = 0;

void protect(bool open) {
  for (Memory& memory : memories)
    if (memory.base) mprotect(memory.base, kDeviceMemory, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
struct Opened {
  Opened() { protect(true); }
  ~Opened() { protect(false); }
};

// ---- Work that waits

std::deque<std::function<void()>> queue;
// A captured graph is the work that was given to the streams meanwhile.
using Work = std::vector<std::function<void()>>;
Work* capture = nullptr;
void* capturing = nullptr;  // the stream
void enqueue(std::function<void()> work) {
  if (capture)
    capture->push_back(std::move(work));
  else
    queue.push_back(std::move(work));
}
constexpr int kCaptureUnsupported = 900;
// What waits for the device ends a capture.
#define NOT_IN_CAPTURE() \
  if (capture) return kCaptureUnsupported
// What takes memory, loads code or asks for an event is allowed to threads that have said so.
constexpr int kRelaxed = 2;
int capture_mode = 0, thread_mode = 0;
bool is_strict() { return capture && capture_mode != kRelaxed && thread_mode != kRelaxed; }
#define NOT_IN_STRICT_CAPTURE() \
  if (is_strict()) return kCaptureUnsupported
void do_all() {
  if (queue.empty()) return;
  Opened opened;
  while (!queue.empty()) {
    auto work = std::move(queue.front());
    queue.pop_front();
    work();
  }
}

// ---- Threads of a block: each has a stack, and goes on until it ends or meets a barrier

constexpr size_t kStack = 1 << 16;
enum class State { New, Ready, AtBlock, AtWarp, Done };
struct Thread {
  void* at = nullptr;  // where its stack stands
  char* stack = nullptr;
  State state = State::New;
  StandinThread seen;
};
std::vector<Thread> threads;
std::vector<char*> free_stacks;
Thread* running = nullptr;
StandinThread* seen = nullptr;
void* scheduler = nullptr;
void (*entry)(void**) = nullptr;
void** parameters = nullptr;
alignas(16) char warp_values[32][32][16];  // by warp and lane

extern "C" void standin_switch(void** save, void* load);
asm(R"(
.text
.globl standin_switch
.hidden standin_switch
.type standin_switch, @function
standin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void pause(State state) {
  running->state = state;
  standin_switch(&running->at, scheduler);
}
void barrier(int scope) { pause(scope == 0 ? State::AtBlock : State::AtWarp); }
void exchange(const void* mine, void* all, int size) {
  const unsigned warp = running->seen.thread.x / 32, lane = running->seen.thread.x % 32;
  std::memcpy(warp_values[warp][lane], mine, static_cast<size_t>(size));
  barrier(1);
  for (int i = 0; i < 32; ++i)
    std::memcpy(static_cast<char*>(all) + i * size, warp_values[warp][i], static_cast<size_t>(size));
  barrier(1);
}
void thread_main() {
  entry(parameters);
  pause(State::Done);
  std::abort();
}

void resume(Thread& thread) {
  if (thread.state == State::New) {
    if (free_stacks.empty())
      free_stacks.push_back(static_cast<char*>(
          mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
    thread.stack = free_stacks.back();
    free_stacks.pop_back();
    auto** top = reinterpret_cast<void**>(thread.stack + kStack) - 1;  // as a call leaves it
    *--top = reinterpret_cast<void*>(thread_main);
    thread.at = top - 6;
  }
  running = &thread;
  seen = &thread.seen;
  standin_switch(&scheduler, thread.at);
  if (thread.state == State::Done) free_stacks.push_back(thread.stack);
}

/// Whether threads of a range that are not done all wait in this state, and some do.
bool all_wait(size_t first, size_t last, State state) {
  bool any = false;
  for (size_t i = first; i < last; ++i) {
    if (threads[i].state == State::Done) continue;
    if (threads[i].state != state) return false;
    any = true;
  }
  return any;
}
void release(size_t first, size_t last) {
  for (size_t i = first; i < last; ++i)
    if (threads[i].state != State::Done) threads[i].state = State::Ready;
}

/// ADJOINT_STANDIN_BACKWARDS=1: the last threads and blocks go first. What depends on who comes first lacks a barrier.
bool backwards() {
  static const bool wanted = std::getenv("ADJOINT_STANDIN_BACKWARDS") != nullptr;
  return wanted;
}

void run_block(StandinIndex block, StandinIndex size, StandinIndex grid, char* shared) {
  const size_t n = size.x;
  threads.assign(n, Thread());
  for (size_t i = 0; i < n; ++i) {
    const auto lanes = static_cast<unsigned>(std::min<size_t>(32, n - i / 32 * 32));
    threads[i].seen = {{static_cast<unsigned>(i), 0, 0}, block, size, grid, shared, barrier, exchange, lanes};
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < n; ++i) {
      Thread& thread = threads[backwards() ? n - 1 - i : i];
      if (thread.state != State::New && thread.state != State::Ready) continue;
      resume(thread);
      progress = true;
    }
    for (size_t warp = 0; warp < n; warp += 32)
      if (const size_t end = std::min(n, warp + 32); all_wait(warp, end, State::AtWarp)) {
        release(warp, end);
        progress = true;
      }
    if (all_wait(0, n, State::AtBlock)) {
      release(0, n);
      progress = true;
    }
  }
  for (const Thread& thread : threads)
    if (thread.state != State::Done) {
      std::fprintf(stderr, "stand-in: threads of a block wait for one another at different barriers\n");
      std::abort();
    }
}

struct Kernel {
  void (*function)(void**);
  size_t parameter_bytes;
};

// ---- The run-time compiler

struct Program {
  std::string source, log, code;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::filesystem::path work_folder() {
  const char* folder = std::getenv("ADJOINT_STANDIN_FOLDER");
  return folder ? folder : "/tmp/adjoint-standin";
}

std::string hash_of(const std::string& text) {
  unsigned long long state = 0xcbf29ce484222325ull, other = 0x9e3779b97f4a7c15ull;
  for (unsigned char c : text) {
    state = (state ^ c) * 0x100000001b3ull;
    other = (other + c) * 0xff51afd7ed558ccdull;
    other ^= other >> 29;
  }
  std::ostringstream name;
  name << std::hex << state << other;
  return name.str();
}

int run(const std::string& command, std::string& output) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return 1;
  char part[4096];
  while (size_t n = std::fread(part, 1, sizeof(part), pipe)) output.append(part, n);
  return pclose(pipe);
}

std::string shim_path() {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&work_folder), &info);
  return std::getenv("ADJOINT_STANDIN_SHIM") ? std::getenv("ADJOINT_STANDIN_SHIM")
                                             : std::filesystem::path(info.dli_fname).parent_path() / "cuda_shim.h";
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  const auto draft = path.string() + "." + std::to_string(getpid());
  std::ofstream(draft) << text;
  std::filesystem::rename(draft, path);
}

constexpr const char* kFlags = "g++ -std=c++20 -O1 -fPIC -w -ffp-contract=off -DADJOINT_DEVICE_CODE=1 ";

/// The folder of the headers, with a precompiled prelude.
std::filesystem::path headers_folder(const Program& program) {
  std::string all, shim;
  std::ifstream file(shim_path());
  shim.assign(std::istreambuf_iterator<char>(file), {});
  for (const auto& [name, text] : program.headers) all += name + text;
  const auto folder = work_folder() / ("headers-" + hash_of(all + shim));
  if (std::filesystem::exists(folder / "prelude.h.gch")) return folder;
  for (const auto& [name, text] : program.headers)
    if (name.find('.') != std::string::npos && name != "std.h") write(folder / name, text);
  write(folder / "cuda_shim.h", shim);
  write(folder / "prelude.h", "#include \"cuda_shim.h\"\n#include \"elementwise.h\"\n");
  std::string log;
  const auto draft = (folder / "prelude").string() + std::to_string(getpid());
  run(kFlags + ("-x c++-header -I" + folder.string()) + " -o " + draft + " " + (folder / "prelude.h").string(), log);
  if (std::filesystem::exists(draft)) std::filesystem::rename(draft, folder / "prelude.h.gch");
  if (!log.empty()) std::fprintf(stderr, "stand-in: %s\n", log.c_str());
  return folder;
}

int compile(Program& program) {
  const auto headers = headers_folder(program);
  const auto library = work_folder() / ("kernel-" + hash_of(headers.string() + program.source) + ".so");
  if (!std::filesystem::exists(library)) {
    const auto source = library.string() + "." + std::to_string(getpid()) + ".cpp";
    write(source, program.source);
    const std::string draft = source + ".so";
    const std::string command = kFlags + std::string("-shared -include ") + (headers / "prelude.h").string() + " -I" +
                                headers.string() + " -o " + draft + " " + source;
    if (run(command, program.log) != 0) return 6;
    std::filesystem::rename(draft, library);
    std::filesystem::remove(source);
  }
  program.code = "standin:" + library.string();
  return 0;
}

struct FakeEvent {
  bool recorded = false;
};

}  // namespace

// ---- For the other libraries of the stand-in

void standin_enqueue(std::function<void()> work) {
  std::lock_guard lock(mutex);
  enqueue(std::move(work));
}
int standin_begin_call(const char* name) {
  std::lock_guard lock(mutex);
  return begin_call(name);
}
bool standin_is_strict() {
  std::lock_guard lock(mutex);
  return is_strict();
}

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
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : attribute == 10 ? 32 : 1024;
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
  size = (size + 4095) / 4096 * 4096;
  char* place = memory.base;
  for (const auto& [start, length] : memory.used) {
    if (static_cast<size_t>(start - place) >= size) break;
    place = start + length;
  }
  if (static_cast<size_t>(place - memory.base) + size > kDeviceMemory) return kOutOfMemory;
  memory.used[place] = size;
  memory.total += size;
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
    madvise(entry->first, entry->second, MADV_DONTNEED);
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
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t size, void*) {
  CALL(cuMemcpyHtoDAsync_v2);
  if (is_pinned(from)) {
    enqueue([=] { std::memcpy(reinterpret_cast<void*>(to), from, size); });
    return kSuccess;
  }
  NOT_IN_CAPTURE();
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
  NOT_IN_CAPTURE();
  return queue.empty() ? kSuccess : kNotReady;
}
int cuStreamSynchronize(void*) {
  CALL(cuStreamSynchronize);
  NOT_IN_CAPTURE();
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
  if (capture) return kSuccess;  // a dependency of the graph
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
  *module = dlopen(text + 8, RTLD_NOW | RTLD_LOCAL);
  if (!*module) return kNotFound;
  *static_cast<StandinThread***>(dlsym(*module, "standin_place")) = &seen;
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  CALL(cuModuleGetFunction);
  auto* kernel = reinterpret_cast<void (*)(void**)>(dlsym(module, name));
  auto* size = static_cast<const size_t*>(dlsym(module, "kernel_parameter_bytes"));
  if (!kernel || !size) return kNotFound;
  *function = new Kernel{kernel, *size};
  return kSuccess;
}
int cuFuncSetAttribute(void*, int, int) {
  CALL(cuFuncSetAttribute);
  return kSuccess;
}
// How many kernels were launched so far, for tests that count them.
long standin_launches = 0;

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared_bytes, void*, void** given, void**) {
  CALL(cuLaunchKernel);
  ++standin_launches;
  const auto* kernel = static_cast<const Kernel*>(function);
  if (by != 1 || bz != 1 || bx > 1024 || gx == 0 || gy == 0 || gz != 1 || gy > 65535 || shared_bytes > 232448)
    return kInvalidValue;
  std::vector<char> args(kernel->parameter_bytes + 64);
  char* place = args.data() + 64 - reinterpret_cast<uintptr_t>(args.data()) % 64;
  const auto offset = static_cast<size_t>(place - args.data());
  std::memcpy(place, given[0], kernel->parameter_bytes);
  enqueue([=, args = std::move(args)]() mutable {
    std::vector<char> shared(shared_bytes + 64);
    char* aligned = shared.data() + 64 - reinterpret_cast<uintptr_t>(shared.data()) % 64;
    void* parameter = args.data() + offset;
    entry = kernel->function;
    parameters = &parameter;
    for (size_t i = 0, all = size_t{gx} * gy; i < all; ++i) {
      const size_t number = backwards() ? all - 1 - i : i;
      const StandinIndex block{static_cast<unsigned>(number % gx), static_cast<unsigned>(number / gx), 0};
      run_block(block, {bx, 1, 1}, {gx, gy, 1}, aligned);
    }
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
  if (capture || !stream) return kCaptureUnsupported;
  do_all();
  capture_mode = mode;
  capture = new Work;
  capturing = stream;
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  CALL(cuStreamEndCapture);
  if (!capture || stream != capturing) return kCaptureUnsupported;
  *graph = std::exchange(capture, nullptr);
  capturing = nullptr;
  return kSuccess;
}
int cuStreamIsCapturing(void* stream, int* status) {
  CALL(cuStreamIsCapturing);
  *status = capture && stream == capturing;
  return kSuccess;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  CALL(cuGraphInstantiateWithFlags);
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
  delete static_cast<Work*>(exec);
  return kSuccess;
}

// ---- NVRTC

int nvrtcVersion(int* major, int* minor) {
  const char* given = std::getenv("ADJOINT_STANDIN_NVRTC");
  const int version = given ? std::atoi(given) : 1300;
  *major = version / 100;
  *minor = version % 100;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int count, const char* const* texts,
                       const char* const* names) {
  *program = new Program{source, {}, {}, {}};
  for (int i = 0; i < count; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  std::lock_guard lock(mutex);
  ++counts["nvrtcCompileProgram"];
  return compile(*program);
}
int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

}  // extern "C"
