// The registries of elementwise kernels and of optimizer updates, filled once with the loops of the best instruction
// set of this machine.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "cpu/elementwise.h"
#include "cpu/update.h"
#include "cpu/vector_math.h"

namespace adjoint {

/// Generated: registers every loop, as compiled for `isa`.
void register_all_loops(const char* isa);
/// cpu/remainder_loops.cpp: in the place of generated ones.
void register_remainder_loops();

namespace {

using Registry = std::unordered_map<std::string_view, Kernel>;

Registry& registry() {
  static Registry kernels;
  return kernels;
}

std::unordered_map<std::string_view, const Update*>& updates() {
  static std::unordered_map<std::string_view, const Update*> found;
  return found;
}

void fill_once() {
  static const bool filled = (register_all_loops(instruction_set()), register_remainder_loops(), true);
  (void)filled;
}

const char* choose_instruction_set() {
#ifdef ADJOINT_X86_DISPATCH
  const char* wish = std::getenv("ADJOINT_ISA");  // may lower the choice, never raise it
  const bool no_avx512 = wish && (!std::strcmp(wish, "avx2") || !std::strcmp(wish, "baseline"));
  const bool no_avx2 = wish && !std::strcmp(wish, "baseline");
  if (cpu::cpu_has_avx512() && !no_avx512) return "avx512";
  if (cpu::cpu_has_avx2() && !no_avx2) return "avx2";
#endif
  return "baseline";
}

}  // namespace

const char* instruction_set() {
  static const char* const chosen = choose_instruction_set();
  return chosen;
}

void register_loop(const char* name, ResultKind result, int inputs, int params, DType compute, Loop loop) {
  auto [entry, added] = registry().try_emplace(name);
  Kernel& kernel = entry->second;
  if (added) {
    kernel.name = name;
    kernel.result = result;
    kernel.inputs = static_cast<uint8_t>(inputs);
    kernel.params = static_cast<uint8_t>(params);
  }
  kernel.loops[static_cast<int>(compute)] = loop;
}

const Kernel* find_kernel(const char* name) {
  fill_once();
  auto entry = registry().find(name);
  return entry == registry().end() ? nullptr : &entry->second;
}

void register_update(const Update* update) { updates()[update->name] = update; }

const Update* find_update(const char* name) {
  fill_once();
  auto entry = updates().find(name);
  return entry == updates().end() ? nullptr : entry->second;
}

}  // namespace adjoint
