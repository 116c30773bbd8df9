// The registries of elementwise kernels and of optimizer updates, filled once with the loops of the chosen instruction
// set.
#include <string_view>
#include <unordered_map>

#include "cpu/elementwise.h"
#include "cpu/isa.h"
#include "cpu/update.h"

namespace adjoint {

/// Generated: registers every loop.
void register_all_loops();
/// cpu/remainder_isa.cpp and cpu/float_loops_isa.cpp: in the place of generated ones.
template <Isa>
void register_remainder_loops();
template <Isa>
void register_float_loops();

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
  [[maybe_unused]] static const bool filled = [] {
    register_all_loops();
    with_chosen_isa([]<Isa isa>() {
      register_remainder_loops<isa>();
      register_float_loops<isa>();
    });
    return true;
  }();
}

}  // namespace

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
