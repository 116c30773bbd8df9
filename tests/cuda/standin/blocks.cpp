#include "blocks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "checks.h"

namespace standin {
namespace {

constexpr size_t kStack = 1 << 16;
enum class State { New, Ready, AtBlock, AtWarp, Done };
struct Copy {
  void* to;
  const void* from;
};
struct Thread {
  void* at = nullptr;  // where its stack stands
  char* stack = nullptr;
  State state = State::New;
  bool orders = false;                   // the barrier at which it waits orders what threads do with memory
  const void* code = nullptr;            // which one it is
  std::vector<Copy> copies;              // begun, and not yet closed as a group
  std::deque<std::vector<Copy>> groups;  // that are not yet waited for
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

void pause(State state, bool orders, const void* code) {
  running->state = state;
  running->orders = orders;
  running->code = code;
  standin_switch(&running->at, scheduler);
}
void barrier(int scope, const void* code) { pause(scope == 0 ? State::AtBlock : State::AtWarp, true, code); }
void exchange(const void* mine, void* all, int size, const void* code) {
  const unsigned warp = running->seen.thread.x / 32, lane = running->seen.thread.x % 32;
  std::memcpy(warp_values[warp][lane], mine, static_cast<size_t>(size));
  pause(State::AtWarp, false, code);
  for (int i = 0; i < 32; ++i)
    std::memcpy(static_cast<char*>(all) + i * size, warp_values[warp][i], static_cast<size_t>(size));
  pause(State::AtWarp, false, code);
}

void begin_copy(void* to, const void* from, const void* code) {
  for (const void* place : {static_cast<const void*>(to), from})
    if (reinterpret_cast<uintptr_t>(place) % 16 != 0) checks::report("memory: misaligned copy of 16 bytes", code);
  if (checks::wanted()) checks::access(to, 16, checks::kWrite, code);  // from now on
  running->copies.push_back({to, from});
}
void close_group() {
  running->groups.push_back(std::move(running->copies));
  running->copies.clear();
}
void wait_for_groups(size_t open, const void* code) {
  for (auto& groups = running->groups; groups.size() > open; groups.pop_front()) {
    for (const Copy& copy : groups.front()) {
      if (checks::wanted()) {
        if (copy.from) checks::access(copy.from, 16, checks::kRead, code);
        checks::access(copy.to, 16, checks::kWrite, code);
      }
      if (copy.from)
        std::memcpy(copy.to, copy.from, 16);
      else
        std::memset(copy.to, 0, 16);
    }
  }
}

void thread_main() {
  entry(parameters);
  pause(State::Done, false, nullptr);
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
/// Lets threads that wait go on; tells whether they waited at what orders memory.
bool release(size_t first, size_t last) {
  Thread* one = nullptr;
  for (size_t i = first; i < last; ++i) {
    if (threads[i].state == State::Done) continue;
    threads[i].state = State::Ready;
    if (checks::wanted() && one && threads[i].code != one->code) {
      running = one;
      checks::report_barriers(one->code, threads[i].code);
    }
    one = &threads[i];
  }
  return one->orders;
}

/// ADJOINT_STANDIN_BACKWARDS=1: the last threads and blocks go first. What depends on who comes first lacks a barrier.
bool backwards() {
  static const bool wanted = std::getenv("ADJOINT_STANDIN_BACKWARDS") != nullptr;
  return wanted;
}

void run_block(const Launch& launch, StandinIndex block, char* shared) {
  const size_t n = launch.block.x;
  threads.assign(n, Thread());
  for (size_t i = 0; i < n; ++i) {
    const auto lanes = static_cast<unsigned>(std::min<size_t>(32, n - i / 32 * 32));
    threads[i].seen = {{static_cast<unsigned>(i), 0, 0},
                       block,
                       launch.block,
                       launch.grid,
                       shared,
                       barrier,
                       exchange,
                       checks::access,
                       checks::report,
                       begin_copy,
                       close_group,
                       wait_for_groups,
                       lanes};
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
        if (release(warp, end)) checks::pass_warp_barrier(static_cast<unsigned>(warp / 32));
        progress = true;
      }
    if (all_wait(0, n, State::AtBlock)) {
      release(0, n);
      checks::pass_block_barrier();
      progress = true;
    }
  }
  for (const Thread& thread : threads)
    if (thread.state != State::Done) {
      std::fprintf(stderr, "stand-in: threads of a block wait for one another at different barriers\n");
      std::abort();
    }
}

}  // namespace

Module::Module(const std::string& its_path) : path(its_path) {
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
  *static_cast<StandinThread***>(dlsym(handle, "standin_place")) = &seen;
  link_map* map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  const char* base = reinterpret_cast<const char*>(map->l_addr);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header.e_shoff);
  const char* names = bytes.data() + sections[header.e_shstrndx].sh_offset;
  image.first = image.last = base;
  for (const Elf64_Shdr* section = sections; section != sections + header.e_shnum; ++section) {
    const Span its{base + section->sh_addr, base + section->sh_addr + section->sh_size};
    if (section->sh_addr) image.last = std::max(image.last, its.last);
    if (std::strcmp(names + section->sh_name, ".bss") == 0) shared = its;
  }
}

void run(const Launch& launch) {
  std::vector<char> memory(launch.shared_bytes + 64);
  char* shared = memory.data() + 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64;
  void* parameter = launch.parameter;
  entry = launch.kernel.function;
  parameters = &parameter;
  if (checks::wanted()) checks::begin_launch(launch, {shared, shared + launch.shared_bytes});
  const Span fixed = launch.kernel.module->shared;
  for (size_t i = 0, all = size_t{launch.grid.x} * launch.grid.y; i < all; ++i) {
    const size_t number = backwards() ? all - 1 - i : i;
    // No block finds shared memory as zeros, or as another left it.
    std::memset(shared, 0xff, launch.shared_bytes);
    std::memset(const_cast<char*>(fixed.first), 0xff, static_cast<size_t>(fixed.last - fixed.first));
    checks::begin_block();
    const StandinIndex block{static_cast<unsigned>(number % launch.grid.x),
                             static_cast<unsigned>(number / launch.grid.x), 0};
    run_block(launch, block, shared);
  }
}

const StandinThread& running_thread() { return running->seen; }
Span running_stack() { return {running->stack, running->stack + kStack}; }

}  // namespace standin
