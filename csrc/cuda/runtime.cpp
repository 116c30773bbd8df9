#include "cuda/runtime.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/device_error.h"
#include "core/origin.h"
#include "core/streams.h"
#include "core/warning.h"
#include "cuda/compiler.h"
#include "cuda/cublas.h"
#include "cuda/faults.h"
#include "cuda/forked.h"
#include "cuda/streams.h"
#include "cuda/waits.h"

namespace adjoint::cuda {
namespace {

DeviceState states[kMaxDevices];
std::once_flag started[kMaxDevices];

thread_local int chosen = 0;                     ///< by set_current_device
thread_local int bound = -1;                     ///< whose context is the thread's
thread_local std::unique_ptr<Stream[]> streams;  ///< by device; null: the default ones

std::atomic<WaitMode> mode_of_waits{WaitMode::Silent};

bool is_forked = false;
void note_fork() {
  is_forked = true;
  bound = -1;  // so that the thread asks anew
}

/// Opens the libraries that nearly every program needs in another thread: the driver takes a third
/// of a second for a context meanwhile. Waits for them in the end.
class OpenedAhead {
 public:
  OpenedAhead() {
    try {
      thread_ = std::thread([] {
        open_cublas();
        open_compiler();
      });
    } catch (const std::system_error&) {  // the system gives no more threads
    }
  }
  ~OpenedAhead() {
    if (thread_.joinable()) thread_.join();
  }
  OpenedAhead(const OpenedAhead&) = delete;
  OpenedAhead& operator=(const OpenedAhead&) = delete;

 private:
  std::thread thread_;
};

[[noreturn]] void fail_ordinal(int index) {
  fail_device("CUDA error: invalid device ordinal; there are ", device_count(), " devices, counted from 0, got ",
              index);
}

std::function<void()> place_of_thread() {
  std::vector<Stream> mine;
  if (streams) mine.assign(streams.get(), streams.get() + kMaxDevices);
  return [device = chosen, mine = std::move(mine)] {
    chosen = device;
    for (size_t i = 0; i < mine.size(); ++i)
      if (mine[i]) set_current_stream(static_cast<int>(i), mine[i]);
  };
}

void start(int index) {
  static const int registered = pthread_atfork(nullptr, nullptr, note_fork);
  if (registered != 0) fail("there is no memory for what a fork must know of a device");
  DeviceState& state = states[index];
  check(driver().device_get(&state.number, index), "finding a device");
  {
    const OpenedAhead libraries;
    check(driver().retain_context(&state.context, state.number), "making a device's context");
  }
  auto attribute = [&](Attribute which) {
    int value = 0;
    check(driver().device_attribute(&value, static_cast<int>(which), state.number), "reading a device's attributes");
    return value;
  };
  state.capability = attribute(Attribute::ComputeCapabilityMajor) * 10 + attribute(Attribute::ComputeCapabilityMinor);
  state.multiprocessors = attribute(Attribute::MultiprocessorCount);
  note_origins();
  leave_place = place_of_thread;
  state.shared_bytes = attribute(Attribute::SharedMemoryPerBlockOptin);
}

}  // namespace

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && std::strcmp(value, "1") == 0;
}

void set_wait_mode(WaitMode mode) { mode_of_waits = mode; }
WaitMode wait_mode() { return mode_of_waits; }
void note_wait() {
  const WaitMode mode = mode_of_waits;
  if (mode == WaitMode::Silent) [[likely]]
    return;
  constexpr const char* kWords =
      "called a synchronizing CUDA operation, which waits for the GPU; torch.cuda.set_sync_debug_mode() asked for this";
  if (mode == WaitMode::Fail) fail(kWords);
  warn_with_lock(kWords);
}

bool forked() { return is_forked; }
void refuse_fork() {
  if (is_forked) [[unlikely]]
    fail(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method");
}

int device_count() {
  if (!why_unavailable().empty()) return 0;
  int count = 0;
  check(driver().device_count(&count), "counting devices");
  return count < kMaxDevices ? count : kMaxDevices;
}

int current_device() { return chosen; }

void set_current_device(int index) {
  if (index < 0 || index >= device_count()) fail_ordinal(index);
  chosen = index;
}

const DeviceState& use(int index) {
  if (bound == index) [[likely]]
    return states[index];
  refuse_fork();
  if (index < 0 || index >= device_count()) fail_ordinal(index);
  std::call_once(started[index], start, index);
  check(driver().set_context(states[index].context), "choosing a device");
  bound = index;
  return states[index];
}

Stream current_stream(int index) { return streams ? streams[static_cast<size_t>(index)] : nullptr; }
void set_current_stream(int index, Stream stream) {
  if (!streams) streams = std::make_unique<Stream[]>(kMaxDevices);
  streams[static_cast<size_t>(index)] = stream;
  if (stream && !stream_functions) stream_functions = &functions_of_streams();
}

void synchronize(int index) {
  use(index);
  check(driver().synchronize(), "waiting for a device");
  raise_fault(index);
}

void synchronize(int index, Stream stream) {
  use(index);
  check(driver().synchronize_stream(stream), "waiting for a stream");
  raise_fault(index);
}

void finish_launch(Device device) {
  static const bool waits = is_set("ADJOINT_CUDA_BLOCKING") || is_set("CUDA_LAUNCH_BLOCKING");
  if (waits && !is_capturing(device.index)) [[unlikely]]
    synchronize(device.index, current_stream(device));
}

}  // namespace adjoint::cuda
