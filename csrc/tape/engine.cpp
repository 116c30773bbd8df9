#include "tape/engine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "core/lock.h"
#include "core/mode.h"
#include "core/origin.h"
#include "core/sparse.h"
#include "core/streams.h"
#include "kernels/backend.h"
#include "op/recorded.h"
#include "op/transform.h"
#include "ops/elementwise.h"
#include "tape/anomaly.h"
#include "tape/hooks.h"

namespace adjoint {
namespace {

/// Engine state kept in the nodes themselves: no hashing. One run at a time can use it. A child process that was forked
/// during such a run never sees its end, and uses tables for good: the nodes may hold gradients of that run.
class InlineState {
 public:
  InlineState() : stamp_(++last_stamp) { busy = true; }
  ~InlineState() {
    busy = false;
    // Only an exception leaves gradients behind.
    for (Node* node : visited_)
      for (uint32_t i = 0; i < node->n_outputs; ++i)
        if (Tensor* pending = std::exchange(node->outputs()[i].pending, nullptr)) release(pending);
  }
  static bool available() { return !busy; }

  bool visit(Node* node) {
    if (node->stamp == stamp_) return false;
    node->stamp = stamp_;
    node->dependencies = 0;
    node->flags &= ~(kNeeded | kCaptured | kStarted | kMarked);
    visited_.push_back(node);
    return true;
  }
  bool visited(Node* node) const { return node->stamp == stamp_; }
  uint32_t& dependencies(Node* node) { return node->dependencies; }
  uint16_t& flags(Node* node) { return node->flags; }
  Tensor*& pending(Node* node, uint32_t i) { return node->outputs()[i].pending; }
  void finish() { visited_.clear(); }

 private:
  static bool busy;
  static uint32_t last_stamp;
  uint32_t stamp_;
  std::vector<Node*> visited_;
};
bool InlineState::busy = false;
uint32_t InlineState::last_stamp = 0;

/// The same state in a table of its own: for a backward inside a backward, or in a second thread.
class TableState {
 public:
  ~TableState() {
    for (auto& [node, entry] : table_)
      for (uint32_t i = 0; i < node->n_outputs; ++i)
        if (entry.pending[i]) release(entry.pending[i]);
  }
  bool visit(Node* node) {
    auto [place, fresh] = table_.try_emplace(node);
    if (fresh) place->second.pending = std::make_unique<Tensor*[]>(node->n_outputs);
    return fresh;
  }
  bool visited(Node* node) const { return table_.contains(node); }
  uint32_t& dependencies(Node* node) { return table_.at(node).dependencies; }
  uint16_t& flags(Node* node) { return table_.at(node).flags; }
  Tensor*& pending(Node* node, uint32_t i) { return table_.at(node).pending[i]; }
  void finish() {}

 private:
  struct Entry {
    uint32_t dependencies = 0;
    uint16_t flags = 0;
    std::unique_ptr<Tensor*[]> pending;
  };
  std::unordered_map<Node*, Entry> table_;
};

bool older(const Node* a, const Node* b) { return a->sequence < b->sequence; }

/// Arrays for one node's gradients: on the stack for the usual few.
template <class T>
class SmallArray {
 public:
  explicit SmallArray(uint32_t n) {
    if (n > kInline) {
      heap_ = std::make_unique<T[]>(n);
      items_ = heap_.get();
    }
  }
  T* get() { return items_; }
  T& operator[](uint32_t i) { return items_[i]; }

 private:
  static constexpr uint32_t kInline = 4;
  T inline_[kInline] = {};
  std::unique_ptr<T[]> heap_;
  T* items_ = inline_;
};

/// A gradient in the shape and type of the output it belongs to; that of a number in a tensor, on its device, too.
TensorPtr fit_gradient(TensorPtr grad, const OutputMeta& meta, Node& from, uint32_t index) {
  const bool elsewhere = grad->device != meta.device && place_of(grad->device) != place_of(meta.device);
  if (elsewhere && meta.shape->ndim > 0) [[unlikely]]
    fail("Function ", from.kind->name(), " returned an invalid gradient at index ", index, " - expected device ",
         device_name(meta.device.type), " but got ", device_name(grad->device.type));
  if (grad->shape != meta.shape && !same_sizes(grad->shape, meta.shape)) {
    int64_t sizes[kMaxDims];
    bool expandable = grad->ndim() >= meta.shape->ndim;
    if (expandable) {
      try {
        int n = broadcast_sizes(grad->sizes(), meta.shape->size_span(), sizes);
        expandable = std::equal(sizes, sizes + n, grad->sizes().begin(), grad->sizes().end());
      } catch (const Error&) {
        expandable = false;
      }
    }
    if (!expandable) {
      if (anomaly_flags & kAnomaly) explain_failure(from);
      fail("Function ", from.kind->name(), " returned an invalid gradient at index ", index, " - got ",
           to_string(grad->sizes()), " but expected shape compatible with ", to_string(meta.shape->size_span()));
    }
    grad = sum_to(grad.get(), meta.shape);
  }
  if (grad->dtype != meta.dtype && !meta.any_dtype) grad = cast_recorded(grad.get(), meta.dtype);
  if (elsewhere) [[unlikely]]
    grad = moved_recorded(grad.get(), place_of(meta.device));
  return grad;
}

/// Note [Streams of backward]. As in torch, a node runs on the stream on which its forward ran: what it has saved is
/// ready there, and the memory that it leaves is used again there. The run goes from stream to stream, and each waits
/// for what the one before it has so far, so that all is done in the order of the run. In the end the program's own
/// stream waits for the last one, and the others wait for it, as memory of theirs was freed. Leaves are added to on the
/// stream at which the run has come. Where the program captures a graph, the run leaves its stream for others of the
/// capture alone.
class RunStreams {
 public:
  explicit RunStreams(const StreamFunctions& functions) : functions_(functions) {}
  ~RunStreams() {
    try {
      go_back();
    } catch (const Error&) {  // after another error, which the program is told
    }
  }
  RunStreams(const RunStreams&) = delete;
  RunStreams& operator=(const RunStreams&) = delete;

  /// Goes to the stream of a node, with the gradients that it gets.
  void enter(const Node& node, const TensorPtr* gradients) {
    if (node.sequence == kAccumulateSequence || node.n_outputs == 0) return;
    const OutputMeta& meta = node.outputs()[0];
    if (meta.device.type != DeviceType::Cuda) return;
    go(meta.device, meta.stream);
    for (uint32_t i = 0; left_ && i < node.n_outputs; ++i)
      if (const Tensor* grad = gradients[i].get(); grad && grad->device == meta.device && !is_sparse(grad))
        functions_.lend(grad->storage, meta.device, functions_.current(meta.device));
  }
  /// Goes back to the program's streams.
  void go_back() {
    std::vector<Used> devices = std::exchange(devices_, {});
    for (Used& used : devices) {
      used.last = functions_.current(used.device);
      functions_.choose(used.device, used.own);
    }
    for (const Used& used : devices) {
      if (used.last != used.own) functions_.follow(used.device, used.last, used.own);
      if (functions_.is_captured(used.device, used.own)) continue;  // at its end all streams must have come back
      for (uint32_t stream : used.streams)
        if (stream != used.own) functions_.follow(used.device, used.own, stream);
    }
  }

 private:
  struct Used {
    Device device;
    uint32_t own, last;  ///< the program's, and that at which the run has ended
    std::vector<uint32_t> streams;
  };

  void go(Device device, uint32_t stream) {
    const uint32_t now = functions_.current(device);
    if (now == stream || (functions_.is_captured(device, now) && !functions_.is_captured(device, stream))) return;
    auto entry = std::ranges::find(devices_, device, &Used::device);
    if (entry == devices_.end()) entry = devices_.insert(entry, {device, now, now, {}});
    if (std::ranges::find(entry->streams, stream) == entry->streams.end()) entry->streams.push_back(stream);
    left_ = true;
    functions_.follow(device, now, stream);
    functions_.choose(device, stream);
  }

  const StreamFunctions& functions_;
  bool left_ = false;  ///< the program's streams
  std::vector<Used> devices_;
};

template <class State>
class Run final : public RunningBackward {
 public:
  explicit Run(BackwardRequest& request) : request_(request) {}
  bool executes(Node* node) override { return state_.visited(node) && wanted(node); }
  bool begins_at(const Node* node) const override {
    return request_.roots.size() == 1 && request_.roots[0].node == node;
  }
  bool partial() const override { return !request_.inputs.empty(); }
  bool accumulates() const override { return request_.accumulate; }
  bool keeps_graph() const override { return request_.retain_graph; }

  std::vector<Node*> order() override {
    std::unordered_map<Node*, uint32_t> missing;
    std::vector<Node*> stack, ready, result;
    for (const Edge& root : request_.roots)
      if (missing.try_emplace(root.node, 0).second) stack.push_back(root.node);
    auto each_next = [&](Node* node, auto&& f) {
      for (uint32_t i = 0; i < node->n_edges; ++i)
        if (Node* next = node->edges()[i].node) f(next);
    };
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      each_next(node, [&](Node* next) {
        if (missing.try_emplace(next, 0).second) stack.push_back(next);
        ++missing[next];
      });
    }
    auto add = [&](Node* node) {
      ready.push_back(node);
      std::push_heap(ready.begin(), ready.end(), older);
    };
    for (const Edge& root : request_.roots)
      if (missing[root.node] == 0 && std::ranges::find(ready, root.node) == ready.end()) add(root.node);
    while (!ready.empty()) {
      std::pop_heap(ready.begin(), ready.end(), older);
      Node* node = ready.back();
      ready.pop_back();
      if (wanted(node)) result.push_back(node);
      each_next(node, [&](Node* next) {
        if (--missing[next] == 0) add(next);
      });
    }
    return result;
  }

  std::vector<TensorPtr> operator()() {
    grad_mode_ = grad_enabled();
    // Under transforms, sums of gradients are recorded for the values of batched tensors and for tangents.
    GradModeGuard mode(request_.create_graph || ((mode_flags & kFunctional) && grad_mode_));
    const SwitchGuard frees(frees_kept_values, !request_.retain_graph);
    discover();
    if (!request_.inputs.empty()) mark_needed();
    for (size_t i = 0; i < request_.roots.size(); ++i)
      deliver(request_.roots[i].node, request_.roots[i].index, std::move(request_.gradients[i]));
    for (const Edge& root : request_.roots) {
      // Once, also where several outputs of a node are asked for, or one of them twice.
      if (state_.dependencies(root.node) != 0 || (state_.flags(root.node) & kStarted)) continue;
      state_.flags(root.node) |= kStarted;
      push(root.node);
    }
    if (stream_functions) [[unlikely]]
      streams_.emplace(*stream_functions);
    while (!ready_.empty()) execute(pop());
    state_.finish();
    if (streams_) [[unlikely]]
      streams_->go_back();
    run_callbacks();
    return std::move(captured_);
  }

 private:
  /// Counts, for every node that can be reached, the edges into it.
  void discover() {
    std::vector<Node*> stack;
    for (const Edge& root : request_.roots)
      if (state_.visit(root.node)) stack.push_back(root.node);
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      for (uint32_t i = 0; i < node->n_edges; ++i) {
        Node* next = node->edges()[i].node;
        if (!next) continue;
        if (state_.visit(next)) stack.push_back(next);
        ++state_.dependencies(next);
      }
    }
  }

  /// Marks the nodes that lie on a way to one of the inputs; the others are not run.
  void mark_needed() {
    captured_.resize(request_.accumulate ? 0 : request_.inputs.size());
    for (const Edge& input : request_.inputs)
      if (state_.visited(input.node)) state_.flags(input.node) |= kCaptured;
    struct Frame {
      Node* node;
      uint32_t next;
    };
    std::vector<Frame> stack;
    auto mark = [&](Node* node) {
      uint16_t& flags = state_.flags(node);
      if (flags & kMarked) return;
      flags |= kMarked;
      stack.push_back({node, 0});
    };
    for (const Edge& root : request_.roots) {
      mark(root.node);
      while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next < frame.node->n_edges) {
          Node* next = frame.node->edges()[frame.next++].node;
          if (next) mark(next);
          continue;
        }
        Node* node = frame.node;
        stack.pop_back();
        for (uint32_t i = 0; i < node->n_edges; ++i)
          if (wanted(node->edges()[i].node)) state_.flags(node) |= kNeeded;
      }
    }
  }

  /// Is a gradient wanted at this node: to run it, or to hand it out?
  bool wanted(Node* node) {
    if (!node) return false;
    return request_.inputs.empty() || (state_.flags(node) & (kNeeded | kCaptured));
  }

  void push(Node* node) {
    ready_.push_back(node);
    std::push_heap(ready_.begin(), ready_.end(), older);
  }
  Node* pop() {
    std::pop_heap(ready_.begin(), ready_.end(), older);
    Node* node = ready_.back();
    ready_.pop_back();
    return node;
  }

  /// Adds a gradient to what output `index` of `node` has collected.
  void deliver(Node* node, uint32_t index, TensorPtr grad) {
    Tensor*& pending = state_.pending(node, index);
    if (!pending) {
      pending = grad.take();
      return;
    }
    bool in_place = !request_.create_graph && pending->dtype == grad->dtype && as_object(pending)->ob_refcnt == 1 &&
                    pending->storage->refs == 1 && !pending->storage->is_foreign() && is_dense(pending->shape) &&
                    !pending->grad_fn && !(mode_flags & kFunctional) && !is_sparse(pending) && !is_sparse(grad.get());
    if (in_place) {
      if (works_behind(pending->device)) [[unlikely]]
        return deliver_late(&pending, std::move(grad));
      add_in_place(pending, grad.get());
    } else {
      add_late(&pending);
      TensorPtr total = add_tensors(pending, grad.get());
      release(std::exchange(state_.pending(node, index), total.take()));
    }
  }

  /// Note [Late sums]. A small gradient that comes to a place on a device which has one waits for others, up to
  /// kMaxSums, or for the node's turn: a weight that was used many times takes few launches. It waits only where it is
  /// nobody else's, and lies as the sum does; the order of the additions stays.
  [[gnu::noinline]] void deliver_late(Tensor** pending, TensorPtr grad) {
    constexpr int64_t kSmall = int64_t{1} << 16, kMostBytes = int64_t{64} << 20;
    const int64_t bytes = grad->numel() * itemsize(grad->dtype);
    const bool waits = grad->numel() <= kSmall && late_bytes_ + bytes <= kMostBytes && lies_as(*pending, *grad) &&
                       grad->dtype == compute_type(grad->dtype) && as_object(grad.get())->ob_refcnt == 1 &&
                       grad->storage->refs == 1 && !grad->storage->is_foreign();
    if (!waits) {
      add_late(pending);
      return add_in_place(*pending, grad.get());
    }
    if (!late_) late_ = std::make_unique<std::unordered_map<Tensor**, std::vector<TensorPtr>>>();
    std::vector<TensorPtr>& grads = (*late_)[pending];
    grads.push_back(std::move(grad));
    late_bytes_ += bytes;
    if (grads.size() == kernels::kMaxSums) add_late(pending);
  }
  static bool lies_as(const Tensor* a, const Tensor& b) {
    if (a->shape == b.shape) return true;
    const auto n = static_cast<size_t>(a->ndim());
    return same_sizes(a->shape, b.shape) &&
           std::equal(a->shape->strides(), a->shape->strides() + n, b.shape->strides());
  }

  /// Adds what waits for a place.
  void add_late(Tensor** pending) {
    if (late_) [[unlikely]]
      add_waiting(pending);
  }
  [[gnu::noinline]] void add_waiting(Tensor** pending) {
    const auto entry = late_->find(pending);
    if (entry == late_->end()) return;
    const std::vector<TensorPtr> grads = std::move(entry->second);
    late_->erase(entry);
    late_bytes_ -= static_cast<int64_t>(grads.size()) * (*pending)->numel() * itemsize((*pending)->dtype);
    if (grads.size() == 1) return add_in_place(*pending, grads[0].get());
    std::vector<View> views;
    for (const TensorPtr& grad : grads) views.push_back(grad->view());
    on((*pending)->device).elementwise.add_all((*pending)->view(), views);
  }

  void execute(Node* node) {
    executing_ = node;
    uint32_t n_outputs = node->n_outputs;
    if (late_) [[unlikely]]
      for (uint32_t i = 0; i < n_outputs; ++i) add_waiting(&state_.pending(node, i));
    SmallArray<TensorPtr> outputs(n_outputs);
    bool any = false;
    for (uint32_t i = 0; i < n_outputs; ++i) {
      outputs[i] = TensorPtr::steal(std::exchange(state_.pending(node, i), nullptr));
      any |= static_cast<bool>(outputs[i]);
    }
    if (streams_) [[unlikely]]
      streams_->enter(*node, outputs.get());
    if (node->extra && wanted(node)) run_tensor_hooks(*node, outputs.get(), request_.create_graph);
    bool run = true;
    if (!request_.inputs.empty()) {
      if (state_.flags(node) & kCaptured) capture(node, outputs.get());
      // As in torch, backward(inputs=...) runs the node of a non-leaf that is asked for, and grad() does not.
      run = state_.flags(node) & (request_.accumulate ? kNeeded | kCaptured : kNeeded);
    }
    uint32_t n_edges = node->n_edges;
    SmallArray<TensorPtr> edges(n_edges);
    if (run && (any || node->extra || node->kind->runs_on_undefined())) {
      SmallArray<bool> wanted_edges(n_edges);
      for (uint32_t i = 0; i < n_edges; ++i) wanted_edges[i] = wanted(node->edges()[i].node);
      ApplyContext context{request_.create_graph, request_.retain_graph, wanted_edges.get(), grad_mode_};
      if (node->extra || (anomaly_flags & kAnomaly) || (mode_flags & kTransformed)) {
        apply_with_hooks(*node, outputs.get(), edges.get(), context);
      } else {
        node->kind->apply(*node, outputs.get(), edges.get(), context);
      }
      if (!request_.retain_graph) node->kind->release_saved(*node);
    }
    for (uint32_t i = 0; i < n_edges; ++i) {
      const Edge& edge = node->edges()[i];
      if (!edge.node) continue;
      if (edges[i] && wanted(edge.node))
        deliver(edge.node, edge.index, fit_gradient(std::move(edges[i]), edge.node->outputs()[edge.index], *node, i));
      if (--state_.dependencies(edge.node) == 0) push(edge.node);
    }
  }

  void capture(Node* node, TensorPtr* outputs) {
    for (size_t k = 0; k < request_.inputs.size(); ++k) {
      const Edge& input = request_.inputs[k];
      if (input.node != node) continue;
      if (!request_.accumulate) captured_[k] = outputs[input.index];
    }
  }

  BackwardRequest& request_;
  bool grad_mode_ = true;  ///< the caller's
  State state_;
  std::vector<Node*> ready_;
  std::vector<TensorPtr> captured_;
  std::unique_ptr<std::unordered_map<Tensor**, std::vector<TensorPtr>>> late_;  ///< see Note [Late sums]
  int64_t late_bytes_ = 0;
  std::optional<RunStreams> streams_;  ///< where a program uses any
};

std::vector<TensorPtr> run_here(BackwardRequest& request) {
  if (InlineState::available()) return Run<InlineState>(request)();
  return Run<TableState>(request)();
}

/// Note [Deep re-entrance]: a backward inside a backward lives on the stack, and within the recursion limit, of its
/// thread. Each kMaxDepth of them go on in a thread of their own while the caller waits, as in torch; so that
/// checkpoints in checkpoints, thousands deep, do not end in a RecursionError.
constexpr int kMaxDepth = 60;
thread_local int depth = 0;

std::vector<TensorPtr> run_in_own_thread(BackwardRequest& request) {
  std::vector<TensorPtr> result;
  std::exception_ptr failure;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  const uint32_t flags = mode_flags;
  const AutocastState autocast{autocast_state.dtype, false};
  RunningBackward* outer = RunningBackward::current();
  void* saved_hooks = saved_tensor_hooks();
  TransformStack* transforms = transform_stack();
  const std::function<void()> come_here = leave_place ? leave_place() : nullptr;
  auto body = [&] {
    PyGILState_STATE lock = in_python(PyGILState_Ensure);
    mode_flags = flags & ~kFunctionMode;  // the modes of functions stay with their thread
    autocast_state = autocast;
    RunningBackward::set_current(outer);
    set_saved_tensor_hooks(saved_hooks);
    set_transform_stack(transforms);
    depth = 1;
    try {
      if (come_here) come_here();
      result = run_here(request);
    } catch (ThreadExit&) {
      wait_for_exit();
    } catch (...) {
      failure = std::current_exception();
      PyErr_Fetch(&type, &value, &traceback);
    }
    PyGILState_Release(lock);
  };
  PyThreadState* waiting = PyEval_SaveThread();
  bool started = true;
  try {
    std::thread(body).join();
  } catch (const std::system_error&) {
    started = false;
  }
  take_lock(waiting);
  if (!started) return run_here(request);  // the system gives no more threads
  if (failure) {
    PyErr_Restore(type, value, traceback);
    std::rethrow_exception(failure);
  }
  return result;
}

/// Counts how deep this thread is in backwards.
struct Depth {
  Depth() { ++depth; }
  ~Depth() { --depth; }
};

}  // namespace

std::vector<TensorPtr> run_backward(BackwardRequest& request) {
  // The graph must outlive the run even if a hook drops the last tensor of it.
  std::vector<NodePtr> alive;
  for (size_t i = 0; i < request.roots.size(); ++i) {
    Node* root = request.roots[i].node;
    Tensor* leaf = accumulated_leaf(*root);
    // See Note [Views that require grad] in tape/history.cpp.
    if (leaf && !(leaf->flags & kRequiresGrad))
      fail("element ", i,
           " of tensors does not require grad and does not have a grad_fn: it is a view that was made "
           "without recording, under no_grad() or before its base required grad");
    alive.push_back(NodePtr::borrow(root));
  }
  for (const Edge& input : request.inputs) alive.push_back(NodePtr::borrow(input.node));
  running_op = 0;
  if (depth >= kMaxDepth) return run_in_own_thread(request);
  Depth deeper;
  return run_here(request);
}

}  // namespace adjoint
