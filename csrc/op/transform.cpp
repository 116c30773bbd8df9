#include "op/transform.h"

#include <algorithm>
#include <atomic>
#include <ranges>
#include <utility>
#include <vector>

#include "core/guard.h"
#include "core/mode.h"

namespace adjoint {

/// The transforms of a thread, innermost last. On the heap and never freed by the end of a thread: a transform may hold
/// Python objects, and dropping them then would need the interpreter lock.
class TransformStack {
 public:
  bool push(TransformPtr transform, bool outermost) {
    if (transform->open_) return false;
    transform->open_ = true;
    levels_.insert(outermost ? levels_.begin() : levels_.end(), std::move(transform));
    return true;
  }
  bool pop(Transform& transform) {
    auto place = std::ranges::find(levels_, &transform, &TransformPtr::get);
    if (place == levels_.end()) return false;
    transform.open_ = false;
    // What dies may run Python code, which may push another one.
    TransformPtr last = std::move(*place);
    levels_.erase(place);
    return true;
  }
  /// Those that do not rest, innermost first.
  std::vector<TransformPtr> active() const {
    std::vector<TransformPtr> found;
    for (const TransformPtr& level : levels_ | std::views::reverse)
      if (!level->rests_) found.push_back(level);
    return found;
  }
  std::vector<TransformPtr> hearing_spans() const {
    std::vector<TransformPtr> found;
    for (const TransformPtr& level : levels_)
      if (!level->rests_ && level->hears_spans()) found.push_back(level);
    return found;
  }
  void end_span(uint64_t number) const noexcept {
    for (const TransformPtr& level : levels_)
      if (!level->rests_) level->end_span(number);
  }
  /// Null where there is none.
  const TransformPtr* innermost() const {
    for (const TransformPtr& level : levels_ | std::views::reverse)
      if (!level->rests_) return &level;
    return nullptr;
  }

 private:
  std::vector<TransformPtr> levels_;
};

namespace {

thread_local ADJOINT_FAST_TLS constinit TransformStack* thread_stack = nullptr;

TransformStack& stack_of_thread() {
  if (!thread_stack) thread_stack = new TransformStack;
  return *thread_stack;
}

/// Brings the bit of the mode word in line with the stack.
void update_mode() {
  mode_flags = stack_of_thread().innermost() ? mode_flags | kTransformed : mode_flags & ~kTransformed;
}

}  // namespace

/// The outermost transform that runs in this thread, and the outermost one that waits.
static thread_local ADJOINT_FAST_TLS constinit RunningTransform* running = nullptr;
static thread_local ADJOINT_FAST_TLS constinit AfterChange* waiting = nullptr;

AfterChange::AfterChange(Transform& transform, const Tensor* target, std::function<void()> then)
    : transform_(transform), target_(target), then_(std::move(then)), inner_(waiting) {
  waiting = this;
}

AfterChange::~AfterChange() { waiting = inner_; }

void AfterChange::finish() {
  if (std::function<void()> then = std::exchange(then_, nullptr)) then();
}

void AfterChange::run(const Tensor* target) {
  for (AfterChange* one = waiting; one; one = one->inner_) {
    if (one->target_ != target || !one->then_) continue;
    std::vector<std::unique_ptr<Awake>> outside;
    for (RunningTransform* other = running; other && other->transform_.get() != &one->transform_; other = other->inner_)
      if (other->transform_ && other->transform_->rests())
        outside.push_back(std::make_unique<Awake>(*other->transform_));
    one->finish();
  }
}

static bool push(TransformPtr transform, bool outermost) {
  bool done = stack_of_thread().push(std::move(transform), outermost);
  update_mode();
  return done;
}
bool push_transform(TransformPtr transform) { return push(std::move(transform), false); }
bool push_outermost_transform(TransformPtr transform) { return push(std::move(transform), true); }

bool pop_transform(Transform& transform) {
  bool done = stack_of_thread().pop(transform);
  update_mode();
  return done;
}

RunningTransform::RunningTransform() : inner_(running) {
  running = this;
  const TransformPtr* innermost = stack_of_thread().innermost();
  if (!innermost) return;
  transform_ = *innermost;
  transform_->rests_ = true;
  update_mode();
}

RunningTransform::~RunningTransform() {
  running = inner_;
  if (transform_) transform_->rests_ = false;
  update_mode();
}

void set_resting(Transform& transform, bool rests) {
  transform.rests_ = rests;
  update_mode();
}

void apply_watched(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) {
  if (!(mode_flags & kTransformed)) return node.kind->apply(node, outputs, edges, context);
  std::vector<TransformPtr> told = stack_of_thread().active();
  for (const TransformPtr& transform : told) transform->begin_node(node, outputs);
  auto tell_end = [&](const TensorPtr* results) {
    for (const TransformPtr& transform : told | std::views::reverse) transform->end_node(node, results);
  };
  try {
    node.kind->apply(node, outputs, edges, context);
  } catch (...) {
    tell_end(nullptr);
    throw;
  }
  tell_end(edges);
}

uint64_t begin_span(PyObject* name, PyObject* const* arguments, size_t count, Span::Kind kind) {
  std::vector<TransformPtr> told = stack_of_thread().hearing_spans();
  if (told.empty()) return 0;
  static std::atomic<uint64_t> last = 0;
  const Span span{PyUnicode_AsUTF8(name), arguments, count, kind};
  check(span.name != nullptr);
  const uint64_t number = ++last;
  for (const TransformPtr& transform : told) transform->begin_span(number, span);
  return number;
}

void end_span(uint64_t number) noexcept { stack_of_thread().end_span(number); }

TransformStack* transform_stack() { return thread_stack; }
void set_transform_stack(TransformStack* stack) { thread_stack = stack; }

}  // namespace adjoint
