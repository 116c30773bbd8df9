#include "checks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace standin::checks {
namespace {

/// Who touched a byte last, and when.
struct Event {
  uint32_t block = 0;                    ///< which of all that have run, from 1 on
  uint32_t moment = 0, warp_moment = 0;  ///< barriers that the block, and that the warp had passed
  uint16_t thread = 0;
  bool atomic = false;
};
struct Byte {
  Event write, read, other_read;  ///< other_read: by another thread than read, of another warp if there was one
};

struct State {
  Launch launch;
  Span parameter;
  uint32_t first_block = 1, block = 0, moment = 0;
  uint32_t warp_moments[32] = {};
  bool synchronized = false;  ///< the block has met others by an atomic operation in the device's memory
  Span dynamic;               ///< shared memory that the launch asked for
  std::vector<Byte> dynamic_bytes, static_bytes;
};
State state;

/// The events of a byte of the device's memory. Addresses are marked off for many of them, and few are ever touched.
Byte* device_bytes(const char* place) {
  constexpr uintptr_t kPart = uintptr_t{1} << 32;
  static std::vector<std::pair<uintptr_t, Byte*>> parts;
  const auto address = reinterpret_cast<uintptr_t>(place);
  for (const auto& [part, bytes] : parts)
    if (part == address / kPart) return bytes + address % kPart;
  void* taken =
      mmap(nullptr, kPart * sizeof(Byte), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) {
    std::fprintf(stderr, "stand-in: no addresses are left for checks\n");
    std::abort();
  }
  parts.emplace_back(address / kPart, static_cast<Byte*>(taken));
  return parts.back().second + address % kPart;
}

/// "What (who)|library|code|other code", once for each pair of places.
void write_finding(const char* what, const void* code, const void* other) {
  if (!wanted()) {
    std::fprintf(stderr, "stand-in: %s\n", what);
    std::abort();
  }
  static std::set<std::tuple<std::string, const void*, const void*>> reported;
  if (!reported.emplace(what, code, other).second) return;
  const Module& module = *state.launch.kernel.module;
  const StandinThread& thread = running_thread();
  const auto offset = [&](const void* place) {
    return static_cast<size_t>(static_cast<const char*>(place) - module.image.first);
  };
  std::ostringstream text;
  text << what << " (block " << thread.block.x << ", " << thread.block.y << " of " << thread.grid_size.x << ", "
       << thread.grid_size.y << "; thread " << thread.thread.x << " of " << thread.block_size.x << ")|" << module.path
       << std::hex << "|" << offset(code) << "|" << offset(other) << "\n";
  const std::string line = text.str();
  const std::string file = std::string(std::getenv("ADJOINT_STANDIN_CHECK")) + "/" + std::to_string(getpid());
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (out < 0 || ::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::fprintf(stderr, "stand-in: cannot write to %s: %s", file.c_str(), line.c_str());
    std::abort();
  }
  close(out);
}

/// Whether `before` and `now` are not in any order.
bool meet(const Event& before, const Event& now, bool between_blocks) {
  if (before.block < state.first_block || (before.atomic && now.atomic)) return false;
  if (before.block != now.block) return between_blocks && !state.synchronized;
  if (before.thread == now.thread || before.moment != now.moment) return false;
  return before.thread / 32 != now.thread / 32 || before.warp_moment == now.warp_moment;
}

void note_read(Byte& byte, const Event& now) {
  const Event& last = byte.read;
  const auto warp = now.thread / 32;
  const bool other_is_of_now = byte.other_read.block == now.block && byte.other_read.moment == now.moment;
  if (last.thread != now.thread &&
      (last.thread / 32 != warp || !other_is_of_now || byte.other_read.thread / 32 == warp))
    byte.other_read = last;
  byte.read = now;
}

void check_order(Byte* bytes, size_t count, int how, bool between_blocks, const void* code) {
  const StandinThread& thread = running_thread();
  const auto number = static_cast<uint16_t>(thread.thread.x);
  const Event now{state.block, state.moment, state.warp_moments[number / 32], number, how == kAtomic};
  for (size_t i = 0; i < count; ++i) {
    Byte& byte = bytes[i];
    if (meet(byte.write, now, between_blocks))
      report(
          how == kRead ? "race: reads what another thread has written" : "race: writes what another thread has written",
          code);
    if (how == kRead) {
      note_read(byte, now);
      continue;
    }
    if (meet(byte.read, now, between_blocks) || meet(byte.other_read, now, between_blocks))
      report("race: writes what another thread has read", code);
    byte.write = now;
  }
}

}  // namespace

bool wanted() {
  static const bool is = std::getenv("ADJOINT_STANDIN_CHECK") != nullptr;
  return is;
}

void begin_launch(const Launch& launch, Span shared) {
  state.launch = launch;
  const char* parameter = static_cast<const char*>(launch.parameter);
  state.parameter = {parameter, parameter + launch.kernel.parameter_bytes};
  state.first_block = state.block + 1;
  state.dynamic = shared;
  state.dynamic_bytes.resize(static_cast<size_t>(shared.last - shared.first));
  const Span fixed = launch.kernel.module->shared;
  state.static_bytes.resize(static_cast<size_t>(fixed.last - fixed.first));
}
void begin_block() {
  ++state.block;
  state.moment = 0;
  state.synchronized = false;
}
void pass_block_barrier() { ++state.moment; }
void pass_warp_barrier(unsigned warp) { ++state.warp_moments[warp]; }

void access(const void* address, size_t bytes, int how, const void* code) {
  const char* place = static_cast<const char*>(address);
  const char* seen = reinterpret_cast<const char*>(&running_thread());
  if (running_stack().holds(place, bytes) || (place >= seen && place < seen + sizeof(StandinThread))) return;
  if (how == kAtomic && reinterpret_cast<uintptr_t>(place) % bytes != 0) report("memory: misaligned atomic", code);
  if (state.dynamic.holds(place, bytes))
    return check_order(&state.dynamic_bytes[static_cast<size_t>(place - state.dynamic.first)], bytes, how, false, code);
  const Module& module = *state.launch.kernel.module;
  if (module.shared.holds(place, bytes))
    return check_order(&state.static_bytes[static_cast<size_t>(place - module.shared.first)], bytes, how, false, code);
  if (how == kRead && (state.parameter.holds(place, bytes) || module.image.holds(place, bytes))) return;
  if (const Span piece = device_piece(place); piece.holds(place, bytes)) {
    check_order(device_bytes(place), bytes, how, true, code);
    if (how == kAtomic) state.synchronized = true;
    return;
  }
  if (pinned_piece(place).holds(place, bytes)) return;
  report(how == kRead ? "memory: reads outside of every allocation" : "memory: writes outside of every allocation",
         code);
}

void report(const char* what, const void* code) { write_finding(what, code, code); }
void report_barriers(const void* code, const void* other) {
  write_finding("barrier: threads wait for one another at different places", code, other);
}

}  // namespace standin::checks
