// The one interception point: whatever changes the meaning of calls, or watches them, is a Transform on a stack.
#pragma once

#include <functional>

#include "core/mode.h"
#include "core/ref.h"
#include "tape/node.h"

namespace adjoint {

class Op;

/// A function that calls ops: one of the package that is made of them, a custom Function, or a part of the program that
/// it has named.
struct Span {
  enum class Kind : uint8_t { Function, Custom, Named };
  const char* name;
  PyObject* const* arguments;  ///< borrowed
  size_t count;
  Kind kind;
};

/// Note [Transforms]: every call of an op goes to the innermost transform of its thread, if there is one, before
/// anything else looks at it: before autocast, and before the op makes way for a simpler one. While a transform has a
/// call it rests: the ops that it calls itself reach the next one outwards, and in the end the op. kTransformed in the
/// mode word says that some transform of the thread does not rest; while it is clear, a call only tests the
/// word, as it did for other modes.
///
/// A transform may be pushed or popped at any time, by a signal handler in the middle of its own call, too; that is why
/// it rests in its place instead of leaving the stack, and why a call keeps it alive.
class Transform {
 public:
  virtual ~Transform() = default;
  /// A call that gives a new result; with out=, too, which the result is copied into afterwards.
  virtual Object call(Op& op, PyObject* const* slots) = 0;
  /// A call that changes the first argument in place.
  virtual void change(Op& op, PyObject* const* slots) = 0;
  /// Backward is about to apply a node, and has: all transforms that do not rest are told. The ops that a rule in
  /// Python calls in between come to `call` and `change`; fused loops, and what else a node does in C++, are seen here
  /// alone. `edges` is null after an error.
  virtual void begin_node(const Node& /*node*/, const TensorPtr* /*gradients*/) {}
  virtual void end_node(const Node& /*node*/, const TensorPtr* /*edges*/) {}
  /// A span begins, and ends: those that hear of them, and do not rest, are told. A number is never used again.
  virtual bool hears_spans() const { return false; }
  virtual void begin_span(uint64_t /*number*/, const Span& /*span*/) {}
  virtual void end_span(uint64_t /*number*/) noexcept {}
  bool rests() const { return rests_; }

 private:
  friend class TransformStack;
  friend class RunningTransform;
  friend void set_resting(Transform& transform, bool rests);
  friend void retain(Transform* transform) { ++transform->refs_; }
  friend void release(Transform* transform) {
    if (--transform->refs_ == 0) delete transform;
  }
  uint32_t refs_ = 1;
  bool rests_ = false;
  bool open_ = false;  ///< on the stack of some thread
};

using TransformPtr = Ref<Transform>;

/// Makes a transform the innermost one of this thread; false if it is on a stack already.
[[nodiscard]] bool push_transform(TransformPtr transform);
/// The same, outside of all others.
[[nodiscard]] bool push_outermost_transform(TransformPtr transform);
/// Takes it off the stack of this thread, wherever it is in it; false if it is not there.
[[nodiscard]] bool pop_transform(Transform& transform);

/// The innermost transform that does not rest, which rests while this lives; false where there is none.
class RunningTransform {
 public:
  RunningTransform();
  ~RunningTransform();
  RunningTransform(const RunningTransform&) = delete;
  RunningTransform& operator=(const RunningTransform&) = delete;
  explicit operator bool() const { return static_cast<bool>(transform_); }
  Transform* operator->() const { return transform_.get(); }

 private:
  friend class AfterChange;
  TransformPtr transform_;
  RunningTransform* inner_;  ///< the one that this thread has run before, and which made the call
};

/// For a transform that has a call: whether it rests meanwhile.
void set_resting(Transform& transform, bool rests);

/// Lets a transform that has a call, and rests, see the calls that its parts make: for ops made of others.
class Awake {
 public:
  explicit Awake(Transform& transform) : transform_(transform) { set_resting(transform_, false); }
  ~Awake() { set_resting(transform_, true); }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

 private:
  Transform& transform_;
};

/// What a transform has to do once the target of a change in place has its new values, and before these are saved for a
/// backward: by run(), which the op calls, and then the transforms outside of it see what it does, although they have
/// the call meanwhile; if the op does not, by finish().
class AfterChange {
 public:
  AfterChange(Transform& transform, const Tensor* target, std::function<void()> then);
  ~AfterChange();
  AfterChange(const AfterChange&) = delete;
  AfterChange& operator=(const AfterChange&) = delete;
  void finish();
  static void run(const Tensor* target);

 private:
  Transform& transform_;
  const Tensor* target_;
  std::function<void()> then_;  ///< empty when it is done
  AfterChange* inner_;          ///< that of a transform further inside, which had the call before
};

/// Applies a node in backward, and tells the transforms of this thread.
void apply_watched(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context);

/// Tells the transforms of this thread of a span; the number is 0 where none hears it, and end_span() then not called.
uint64_t begin_span(PyObject* name, PyObject* const* arguments, size_t count, Span::Kind kind);
void end_span(uint64_t number) noexcept;

/// The span of a call, while this lives.
class CallSpan {
 public:
  /// `name`: a str; null: a call that nobody is told of.
  CallSpan(PyObject* name, PyObject* const* arguments, size_t count, Span::Kind kind = Span::Kind::Function) {
    if ((mode_flags & kTransformed) && name) [[unlikely]]
      number_ = begin_span(name, arguments, count, kind);
  }
  ~CallSpan() {
    if (number_) [[unlikely]]
      end_span(number_);
  }
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

 private:
  uint64_t number_ = 0;
};

/// The stack of this thread, for a thread that goes on with its work while it waits.
class TransformStack;
TransformStack* transform_stack();
void set_transform_stack(TransformStack* stack);

}  // namespace adjoint
