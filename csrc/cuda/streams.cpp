#include "cuda/streams.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/faults.h"
#include "cuda/forked.h"
#include "cuda/runtime.h"

namespace adjoint::cuda {
namespace {

constexpr int kPoolSize = 32;
constexpr int kPriorities = kLeastPriority - kGreatestPriority + 1;

struct StreamPool {
  Stream streams[kPoolSize] = {};
  int next = 0;
};
StreamPool pools[kMaxDevices][kPriorities];
std::mutex mutex;

bool done(int index, Result result, const char* what) {
  if (result == kNotReady) return false;
  check(result, what);
  raise_fault(index);
  return true;
}

/// The streams that the tape has seen; its numbers are places here.
std::vector<Stream> numbered = {nullptr};

uint32_t number_of(Stream stream) {
  std::lock_guard lock(mutex);
  const auto number = static_cast<size_t>(std::ranges::find(numbered, stream) - numbered.begin());
  if (number == numbered.size()) numbered.push_back(stream);
  return static_cast<uint32_t>(number);
}
Stream of_number(uint32_t number) {
  std::lock_guard lock(mutex);
  return numbered[number];
}

}  // namespace

const StreamFunctions& functions_of_streams() {
  static constexpr StreamFunctions functions = {
      .current = [](Device device) { return number_of(current_stream(device)); },
      .choose = [](Device device, uint32_t stream) { set_current_stream(device.index, of_number(stream)); },
      .follow = [](Device device, uint32_t first,
                   uint32_t later) { cuda::follow(device.index, of_number(first), device.index, of_number(later)); },
      .is_captured = [](Device device, uint32_t stream) { return is_captured(device.index, of_number(stream)); },
      .lend = [](Storage* storage, Device, uint32_t stream) { record_stream(storage, of_number(stream)); },
  };
  return functions;
}

Stream pooled_stream(int index, int priority) {
  use(index);
  const int level = std::clamp(priority, kGreatestPriority, kLeastPriority);
  std::lock_guard lock(mutex);
  StreamPool& pool = pools[index][-level];
  Stream& stream = pool.streams[pool.next++ % kPoolSize];
  if (!stream) check(driver().create_stream(&stream, kStreamApart, level), "making a stream");
  return stream;
}

int priority_of(Stream stream) {
  std::lock_guard lock(mutex);
  for (auto& device : pools)
    for (int level = 0; level < kPriorities; ++level)
      if (stream && std::ranges::find(device[level].streams, stream) != std::end(device[level].streams)) return -level;
  return 0;
}

bool is_done(int index, Stream stream) {
  use(index);
  return done(index, driver().query_stream(stream), "asking for a stream's work");
}
bool is_done(int index, Event event) {
  use(index);
  return done(index, driver().query_event(event), "asking for an event");
}

Event make_event(int index, bool timed, bool blocking) {
  use(index);
  Event event = nullptr;
  const int flags = (timed ? 0 : kEventWithoutTimes) | (blocking ? kEventSleepsToWait : 0);
  check(driver().create_event(&event, static_cast<unsigned>(flags)), "making an event");
  return event;
}
void destroy_event(Event event) {
  if (forked()) return;
  use(current_device());  // a thread that has used no device has no context
  driver().destroy_event(event);
}

void record(int index, Event event, Stream stream) {
  use(index);
  check(driver().record_event(event, stream), "recording an event");
}
void wait(int index, Stream stream, Event event) {
  use(index);
  check(driver().wait_event(stream, event, 0), "waiting for an event");
}
void follow(int first_index, Stream first, int later_index, Stream later) {
  Event event = make_event(first_index, false, false);
  record(first_index, event, first);
  wait(later_index, later, event);
  destroy_event(event);
}
void synchronize_event(int index, Event event) {
  use(index);
  check(driver().synchronize_event(event), "waiting for an event");
  raise_fault(index);
}

float elapsed(int index, Event begin, Event end) {
  use(index);
  float time = 0;
  const Result result = driver().elapsed_time(&time, begin, end);
  if (result == kNotReady) fail("elapsed_time(): an event is not done; call end.synchronize() first");
  check(result, "measuring the time between events");
  return time;
}

bool is_capturing(int index) { return is_captured(index, current_stream(index)); }
bool is_captured(int index, Stream stream) {
  if (!stream) return false;
  use(index);
  int status = kNotCapturing;
  check(driver().capture_status(stream, &status), "asking whether a stream is captured");
  return status != kNotCapturing;
}

RelaxedCapture::RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
RelaxedCapture::~RelaxedCapture() { driver().exchange_capture_mode(&mode_); }

}  // namespace adjoint::cuda
