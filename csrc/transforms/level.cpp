#include "transforms/level.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/mode.h"
#include "op/transform_rules.h"

namespace adjoint {
namespace {

/// The levels that this thread has opened. On the heap: see TransformStack.
thread_local ADJOINT_FAST_TLS constinit std::vector<Ref<Level>>* thread_levels = nullptr;

std::vector<Ref<Level>>& levels() {
  if (!thread_levels) thread_levels = new std::vector<Ref<Level>>;
  return *thread_levels;
}

std::atomic<uint64_t> last_number = 0;

void update_mode() {
  const bool functional = std::ranges::any_of(levels(), [](const auto& level) { return level->is_functional(); });
  mode_flags = functional ? mode_flags | kFunctional : mode_flags & ~kFunctional;
}

}  // namespace

Level::Level() : number_(++last_number) {}

Object Level::call_parts(Op& op, PyObject* const* slots) {
  if (changes_memory(op)) return op.call(slots);
  if (op.kind == Op::Kind::Composed) {
    Awake parts(*this);
    return op.call_composed(slots);
  }
  if (!(mode_flags & kAutocast) || op.autocast == Autocast::None) return {};
  Awake casts(*this);
  return op.call(AutocastCall(op.autocast, slots, op.arguments.size()).args());
}

void open_level(Ref<Level> level) {
  if (!push_transform(level)) fail("a level of vmap or of forward mode is open already");
  levels().push_back(std::move(level));
  update_mode();
}

void open_outermost_level(Ref<Level> level) {
  if (!push_outermost_transform(level)) fail("a level is open already");
  levels().insert(levels().begin(), std::move(level));
  update_mode();
}

bool close_level(uint64_t number) {
  auto place = std::ranges::find(levels(), number, [](const auto& level) { return level->number(); });
  if (place == levels().end()) return false;
  Ref<Level> level = std::move(*place);
  levels().erase(place);
  update_mode();
  return pop_transform(*level);
}

std::vector<Level*> open_levels() {
  std::vector<Level*> open;
  for (const auto& level : levels())
    if (!level->rests()) open.push_back(level.get());
  return open;
}

Level* find_level(uint64_t number) {
  auto place = std::ranges::find(levels(), number, [](const auto& level) { return level->number(); });
  return place == levels().end() ? nullptr : place->get();
}

}  // namespace adjoint
