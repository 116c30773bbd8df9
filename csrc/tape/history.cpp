#include "tape/history.h"

#include <algorithm>
#include <array>

#include "core/mode.h"
#include "core/sparse.h"
#include "core/tangent.h"
#include "core/warning.h"
#include "kernels/backend.h"
#include "op/recorded.h"
#include "ops/elementwise.h"
#include "ops/memory.h"
#include "tape/hooks.h"

namespace adjoint {

namespace {

/// Adds the incoming gradient to a leaf's .grad. The node owns the leaf, the leaf only points at the node.
class AccumulateGradKind final : public NodeKind {
 public:
  AccumulateGradKind() : NodeKind("AccumulateGrad") {}

  void apply(Node& node, TensorPtr* outputs, TensorPtr*, const ApplyContext& context) const override {
    if (node.flags & kPoisoned)
      fail(
          "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
          "backward on a tensor that was swapped. For a module m with "
          "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of "
          "the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please "
          "only change the device/dtype before running forward (or after both forward and backward).");
    Tensor* target = leaf(node);
    if (current_grad_fn(target))
      fail("leaf variable has been moved into the graph interior: an in-place op made it the result of ",
           target->grad_fn->kind->name(), " after it was used as a leaf; use the out-of-place form");
    // It may have been told since that it requires no grad.
    if (target->flags & kRequiresGrad) accumulate_grad(target, std::move(outputs[0]), context.create_graph);
  }
  void release_saved(Node&) const override {}
  Object attribute(Node& node, const char* name) const override {
    return std::string_view(name) == "variable" ? Object::borrow(as_object(leaf(node))) : Object();
  }
  std::vector<std::string> attribute_names() const override { return {"variable"}; }
  static Tensor* leaf(const Node& node) { return as_tensor(node.saved()[0].object()); }
};

const AccumulateGradKind accumulate_kind;

/// History of a base after one of its views was changed in place by `inner`: the gradient of the view's part goes
/// through `inner`, the rest passes. Edges: the base's former edge, then inner's edges but its first.
class CopySlicesKind final : public NodeKind {
 public:
  CopySlicesKind() : NodeKind("CopySlices") {}
  enum Saved { kInner, kGeometry, kOffset, kBase, kCount };

  void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const override {
    if (node.saved()[kInner].kind() != SavedValue::Kind::Object) fail_released(node);
    // A hook of the inner node's kind may run a backward of its own that frees this node's values.
    NodePtr inner = NodePtr::borrow(reinterpret_cast<Node*>(node.saved()[kInner].object()));
    const SavedValue& slice = node.saved()[kGeometry];
    const Shape* base = node.saved()[kBase].shape();
    int64_t offset = PyLong_AsLongLong(node.saved()[kOffset].object());

    TensorPtr result = gradient_in_layout(std::move(outputs[0]), base);
    TensorPtr part = view_recorded(result.get(), slice.dtype(), slice.shape(), offset);
    std::vector<TensorPtr> inner_edges(inner->n_edges);
    auto wanted = std::make_unique<bool[]>(inner->n_edges);
    wanted[0] = context.wanted[0];
    for (uint32_t i = 1; i < inner->n_edges; ++i) wanted[i] = context.wanted[i];
    TensorPtr incoming = clone_recorded(part.get());
    inner->kind->apply(*inner, &incoming, inner_edges.data(),
                       {context.create_graph, context.keep_saved, wanted.get(), context.grad_mode});
    for (uint32_t i = 1; i < inner->n_edges; ++i) edges[i] = std::move(inner_edges[i]);
    if (!context.wanted[0]) return;
    if (inner_edges[0]) {
      TensorPtr change = sum_to(inner_edges[0].get(), slice.shape());
      if (outgrows(change.get(), part.get())) {  // the gradient so far is one for all elements of a batch
        TensorPtr spread = zeros_recorded(change.get(), base->size_span());
        result = gradient_in_layout(add_tensors(spread.get(), result.get()), base);
        part = view_recorded(result.get(), slice.dtype(), slice.shape(), offset);
      }
      copy_recorded(part.get(), change.get());
    } else {
      zero_recorded(part.get());
    }
    edges[0] = std::move(result);
  }
  void release_saved(Node& node) const override {
    if (node.saved()[kInner].kind() != SavedValue::Kind::Object) return;
    auto& inner = *reinterpret_cast<Node*>(node.saved()[kInner].object());
    inner.kind->release_saved(inner);
    node.saved()[kInner].clear();
    node.flags |= kReleased;
  }

 private:
  /// A gradient of the base that may be changed, in the base's layout: the slice's strides are meant for that.
  static TensorPtr gradient_in_layout(TensorPtr grad, const Shape* base) {
    if (grad_enabled() || (mode_flags & kFunctional)) {
      if (base->contiguous) return clone_recorded(contiguous_recorded(grad.get()).get());
      return spread_recorded(grad.get(), base);
    }
    bool laid_out = std::equal(base->strides(), base->strides() + base->ndim, grad->shape->strides());
    // Nobody else has it: no copy, so that many changes of small slices do not copy the whole base each time.
    bool sole_owner = as_object(grad.get())->ob_refcnt == 1 && grad->storage->refs == 1 && !grad->storage->is_foreign();
    if (laid_out && sole_owner && !grad->extra && is_dense(grad->shape)) return grad;
    int64_t reach = 0;
    for (int d = 0; d < base->ndim; ++d) reach += std::max<int64_t>(0, base->sizes()[d] - 1) * base->strides()[d];
    TensorPtr memory = empty(std::array<int64_t, 1>{reach + 1}, grad->dtype, grad->device);
    TensorPtr result = alias(memory.get(), make_shape(base->size_span(), base->stride_span()));
    copy_into(grad.get(), result.get());
    return result;
  }
};

const CopySlicesKind copy_slices_kind;

bool view_is_stale(const Tensor* tensor) {
  return tensor->extra && tensor->extra->base && tensor->extra->seen_version != version_of(tensor);
}

}  // namespace

Tensor* view_base(const Tensor* tensor) { return tensor->extra ? tensor->extra->base : nullptr; }

int64_t offset_in_base(const Tensor* view) {
  const Tensor* base = view->extra->base;
  if (view->storage == base->storage) return (view->data - base->data) / itemsize(view->dtype);
  // `.data =` gave one of them other memory: the places in the storages must do.
  return ((view->data - view->storage->data) - (base->data - base->storage->data)) / itemsize(view->dtype);
}

void forget_base(Tensor* tensor) {
  if (!tensor->extra) return;
  if (Tensor* base = std::exchange(tensor->extra->base, nullptr)) release(base);
}

void mark_view(Tensor* result, Tensor* source, ViewOrigin origin) {
  if (source->flags & kInferenceTensor) return;
  Tensor* base = view_base(source);
  if (mode_flags & kInferenceMode) {
    origin = ViewOrigin::Inference;
  } else if (mode_flags & kGradDisabled) {
    origin = ViewOrigin::NoGrad;
  } else if (base && origin == ViewOrigin::Recorded) {
    origin = source->extra->origin;
  }
  TensorExtra& extra = extra_of(result);
  extra.base = base ? base : source;
  retain(extra.base);
  extra.origin = origin;
  extra.seen_version = version_of(source);
}

/// Note [Views that require grad]: as in torch, a view requires grad when its base does, even if it was made without
/// recording and has no history. Ops on such a view are recorded, but no gradient comes back through it.
bool base_requires_grad(const Tensor* view) {
  const Tensor* base = view_base(view);
  if (base && view->extra->changed_by) return true;
  return base && ((base->flags & kRequiresGrad) || base->grad_fn) && is_differentiable(view->dtype);
}

bool is_leaf(Tensor* tensor) { return current_grad_fn(tensor) == nullptr; }

/// Refuses a recorded change of a view, or of what it looks at, that its origin makes ambiguous. `change`: torch's
/// words.
static void check_origin(const Tensor* view, const std::string& change) {
  ViewOrigin origin = view->extra->origin;
  if (origin == ViewOrigin::Recorded) return;
  std::string name = view->grad_fn ? view->grad_fn->kind->name() : "";
  if (size_t end = name.rfind("Backward"); end != std::string::npos) name.resize(end);
  std::string output = name.empty() ? "" : "Output " + std::to_string(view->output_nr) + " of " + name + " is a view ";
  const char* ambiguous =
      " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
      "both the view and the inplace either both inside the ";
  const char* tracked =
      " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).";
  std::string made = output.empty() ? "A view was created in " : output + "of a view which was created in ";
  if (origin == ViewOrigin::NoGrad)
    fail(made, "no_grad mode and ", change, " with grad mode enabled.", ambiguous, "no_grad", tracked);
  if (origin == ViewOrigin::Inference)
    fail(made, "inference mode and ", change, " in normal mode.", ambiguous, "inference_mode", tracked);
  if (origin == ViewOrigin::Function)
    fail(output, "and ", change,
         ". This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
         "logic to handle view+inplace would override the custom backward associated with the custom Function, "
         "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
         "custom Function.");
  fail(output.empty() ? made + "no_grad mode and " + change + " with grad mode enabled" : output + "and " + change,
       ". This view is the output of a function that returns multiple views. Such functions do not allow the output "
       "views to be modified inplace. You should replace the inplace operation by an out-of-place one.");
}

/// Does a view get its gradient from a leaf that is itself a view, and not the base? Only views lie between.
static bool leads_to_another_leaf(const Tensor* view) {
  const Node* node = view->grad_fn;
  while (node->n_edges == 1 && node->edges()[0].node) node = node->edges()[0].node;
  Tensor* leaf = accumulated_leaf(*node);
  return leaf && view_base(leaf) == view->extra->base;
}

/// Gives a view whose base has changed since a history that begins at the base. As in torch, the base may have lost
/// its own by detach_(): then no gradient goes further.
static void renew_history(Tensor* view) {
  Tensor* base = view->extra->base;
  NodePtr changed_by = NodePtr::steal(std::exchange(view->extra->changed_by, nullptr));
  bool own_change = changed_by && version_of(view) == view->extra->seen_version + 1;
  if (!own_change && !requires_grad(base)) {
    if (!(view->grad_fn || changed_by) || view->dtype != base->dtype) return;
    if (view->grad_fn && leads_to_another_leaf(view)) return;
  }
  check_origin(view, "its base or another view of its base has been modified inplace");
  NodePtr node = view_node(base, view);
  if (own_change && view->dtype == base->dtype) {
    // What the view is a part of is the base as this change left it.
    if (Node* before = std::exchange(node->edges()[0].node, changed_by.take())) release(before);
    node->edges()[0].index = 0;
  }
  set_history(view, node.get(), 0);
  view->extra->seen_version = version_of(view);
}

Node* current_grad_fn(Tensor* tensor) {
  if (view_is_stale(tensor)) renew_history(tensor);
  return tensor->grad_fn;
}

Edge input_edge(Tensor* tensor) {
  if (!tensor->extra && tensor->grad_fn) {  // no view, and no leaf
    retain(tensor->grad_fn);
    return {tensor->grad_fn, tensor->output_nr};
  }
  if (!requires_grad(tensor) || (is_leaf(tensor) && !(tensor->flags & kRequiresGrad))) return {nullptr, 0};
  return gradient_edge(tensor);
}

Edge gradient_edge(Tensor* tensor) {
  if (Node* node = current_grad_fn(tensor)) {
    retain(node);
    return {node, tensor->output_nr};
  }
  return {grad_accumulator(tensor).take(), 0};
}

void set_history(Tensor* tensor, Node* node, uint32_t index) {
  retain(node);
  Node* before = std::exchange(tensor->grad_fn, node);
  tensor->output_nr = index;
  tensor->flags &= ~kRequiresGrad;
  // Hooks stay with the gradient of the former value.
  if (tensor->extra && tensor->extra->hooks) Py_CLEAR(tensor->extra->hooks);
  if (!node->outputs()[index].shape) set_output_meta(*node, index, tensor);
  if (tensor->flags & kRetainsGrad) [[unlikely]]
    move_retained_grad(tensor, before);
  if (before) release(before);
}

thread_local bool grad_layout_enforced = true;

std::optional<DType> grad_dtype_of(const Tensor* leaf) {
  if (!leaf->extra || leaf->extra->grad_type == GradType::Own) return leaf->dtype;
  if (leaf->extra->grad_type == GradType::Any) return {};
  return leaf->extra->grad_dtype;
}

/// Tells the node of a leaf which type its gradients are cast to.
static void note_grad_dtype(Node& node, const Tensor* leaf) {
  std::optional<DType> dtype = grad_dtype_of(leaf);
  node.outputs()[0].dtype = dtype.value_or(leaf->dtype);
  node.outputs()[0].any_dtype = !dtype;
}

void set_grad_dtype(Tensor* leaf, std::optional<DType> dtype) {
  TensorExtra& extra = extra_of(leaf);
  extra.grad_type = dtype ? GradType::Given : GradType::Any;
  if (dtype) extra.grad_dtype = *dtype;
  if (extra.accumulator) note_grad_dtype(*extra.accumulator, leaf);
}

/// A graph that holds the leaf's AccumulateGrad would add to a tensor that is another one from now on.
static void poison_accumulator(Tensor* leaf) {
  if (!leaf->extra || !leaf->extra->accumulator || leaf->extra->accumulator_parked) return;
  std::exchange(leaf->extra->accumulator, nullptr)->flags |= kPoisoned;
}

void exchange_tensors(Tensor* first, Tensor* second) {
  poison_accumulator(first);
  poison_accumulator(second);
  std::swap(first->dict, second->dict);
  std::swap(first->storage, second->storage);
  std::swap(first->data, second->data);
  std::swap(first->shape, second->shape);
  std::swap(first->dtype, second->dtype);
  std::swap(first->device, second->device);
  std::swap(first->flags, second->flags);
  std::swap(first->output_nr, second->output_nr);
  std::swap(first->grad_fn, second->grad_fn);
  std::swap(first->extra, second->extra);
  PyTypeObject* type = Py_TYPE(as_object(first));
  Py_SET_TYPE(as_object(first), Py_TYPE(as_object(second)));
  Py_SET_TYPE(as_object(second), type);
}

/// Note [Parked accumulators]: a graph owns the AccumulateGrad nodes of its leaves, and these own the leaves. When the
/// last graph goes, a leaf that lives on takes its node back instead of letting it die: the next op on the leaf is the
/// usual case, and needs it again. A parked node does not own the leaf, so there is no cycle.
NodePtr grad_accumulator(Tensor* leaf) {
  TensorExtra& extra = extra_of(leaf);
  if (extra.accumulator && !extra.accumulator_parked) return NodePtr::borrow(extra.accumulator);
  if (extra.accumulator_parked) {
    extra.accumulator_parked = false;
    extra.accumulator->saved()[0].save_object(as_object(leaf));
    return NodePtr::steal(extra.accumulator);
  }
  NodePtr node = make_node(accumulate_kind, 1, 0, 1);
  node->sequence = kAccumulateSequence;
  node->saved()[0].save_object(as_object(leaf));
  set_output_meta(*node, 0, leaf);
  note_grad_dtype(*node, leaf);
  extra.accumulator = node.get();
  // Hooks that the tensor had before it became a leaf, or under another geometry.
  if (extra.hooks) extra_of(*node).tensor_hooks.emplace_back(0, Py_NewRef(extra.hooks));
  if (extra.post_hooks) extra_of(*node);
  return node;
}

void forget_parked_accumulator(Tensor* leaf) {
  if (leaf->extra && leaf->extra->accumulator_parked) renew_accumulator(leaf);
}

void renew_accumulator(Tensor* leaf) {
  if (!leaf->extra) return;
  Node* node = std::exchange(leaf->extra->accumulator, nullptr);
  if (std::exchange(leaf->extra->accumulator_parked, false)) release(node);
}

/// The leaf that this node owns, if it is an AccumulateGrad in use.
static Tensor* owned_leaf(const Node& node) {
  if (node.kind != &accumulate_kind || node.saved()[0].kind() != SavedValue::Kind::Object) return nullptr;
  return AccumulateGradKind::leaf(node);
}

bool park_accumulator(Node& node) {
  Tensor* leaf = owned_leaf(node);
  if (!leaf || as_object(leaf)->ob_refcnt == 1 || !leaf->extra || leaf->extra->accumulator != &node) return false;
  Py_SET_REFCNT(as_object(&node), 1);
  leaf->extra->accumulator_parked = true;
  node.saved()[0].clear();
  return true;
}

void forget_accumulator(Node& node) {
  Tensor* leaf = owned_leaf(node);
  if (leaf && leaf->extra && leaf->extra->accumulator == &node) leaf->extra->accumulator = nullptr;
}

Tensor* accumulated_leaf(const Node& node) {
  return node.kind == &accumulate_kind ? AccumulateGradKind::leaf(node) : nullptr;
}

/// A .grad has the strides of its leaf when these are dense, and is contiguous otherwise. The leaf may have got other
/// sizes since the gradient's graph was made.
static bool grad_layout_fits(const Shape* grad, const Shape* leaf) {
  if (grad == leaf || (grad->contiguous && leaf->contiguous && same_sizes(grad, leaf))) return true;
  if (!is_dense(leaf)) return grad->contiguous;
  for (int d = 0; d < std::min(leaf->ndim, grad->ndim); ++d)
    if (grad->sizes()[d] != 1 && grad->strides()[d] != leaf->strides()[d]) return false;
  return true;
}

/// Says once that optimizers will find a gradient and its parameter in different orders.
static void warn_of_layout(const Tensor* leaf, const Tensor* grad) {
  static bool warned = false;
  if (warned || !grad_layout_enforced || !same_sizes(grad->shape, leaf->shape)) return;
  if (grad_layout_fits(grad->shape, leaf->shape)) return;
  const std::string text =
      "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
      "grad.sizes() = " +
      to_string(grad->sizes()) + ", strides() = " + to_string(grad->strides()) +
      "\nparam.sizes() = " + to_string(leaf->sizes()) + ", strides() = " + to_string(leaf->strides());
  warn_once(warned, text.c_str());
}

/// Tensors of inference mode may be changed in there only.
static void check_inference(const Tensor* tensor, const char* op) {
  if (!tracks_version(tensor) && !(mode_flags & kInferenceMode)) [[unlikely]]
    fail(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
        "tensor before doing inplace update (",
        op, ").");
}

static void check_broadcast_into(const Tensor* target, Sizes sizes) {
  int64_t common[kMaxDims];
  int ndim = broadcast_sizes(target->sizes(), sizes, common);
  if (!std::ranges::equal(target->sizes(), Sizes(common, ndim)))
    fail("output with shape ", to_string(target->sizes()), " doesn't match the broadcast shape ",
         to_string({common, static_cast<size_t>(ndim)}));
}

/// Where the gradient, or the one before, is sparse. As in torch, a sum with a dense one is dense.
static void accumulate_sparse(Tensor* leaf, TensorPtr grad, bool create_graph) {
  Tensor* before = grad_of(leaf);
  if (!before) {
    const bool sole_owner = as_object(grad.get())->ob_refcnt == 1 && grad->storage->refs == 1 &&
                            as_object(sparse_storage(grad.get())->values)->ob_refcnt == 1 &&
                            sparse_storage(grad.get())->values->storage->refs == 1;
    set_grad(leaf, sole_owner ? std::move(grad) : clone_recorded(grad.get()));
    return;
  }
  if (create_graph || leaf->grad_fn) return set_grad(leaf, add_tensors(before, grad.get()));
  if (is_sparse(before) && !is_sparse(grad.get())) return set_grad(leaf, add_tensors(grad.get(), before));
  add_recorded(before, grad.get());
}

void accumulate_grad(Tensor* leaf, TensorPtr grad, bool create_graph) {
  if (!grad) return;
  if (!create_graph && has_tangents(grad.get())) grad = alias(grad.get());
  Tensor* before = grad_of(leaf);
  if (is_sparse(grad.get()) || (before && is_sparse(before)))
    return accumulate_sparse(leaf, std::move(grad), create_graph);
  if (!before) {
    bool layout_fits = !grad_layout_enforced || grad_layout_fits(grad->shape, leaf->shape);
    bool sole_owner = as_object(grad.get())->ob_refcnt == 1 && grad->storage->refs == 1 && !grad->storage->is_foreign();
    if (create_graph) {
      const bool spread = !layout_fits && is_dense(leaf->shape) && same_sizes(grad->shape, leaf->shape);
      if (spread && !(mode_flags & kFunctional)) {
        grad = spread_recorded(grad.get(), leaf->shape);
      } else if (!layout_fits && !grad->contiguous()) {
        grad = contiguous_recorded(grad.get());
      } else if (!sole_owner || !layout_fits) {
        grad = clone_recorded(grad.get());
      }
      set_grad(leaf, std::move(grad));
    } else if (sole_owner && layout_fits) {
      set_grad(leaf, std::move(grad));
    } else if ((mode_flags & kFunctional) || is_batched(grad.get())) {
      set_grad(leaf, clone_recorded(grad.get()));
    } else {
      if (!same_sizes(leaf->shape, grad->shape)) check_broadcast_into(leaf, grad->sizes());
      ShapePtr shape = is_dense(leaf->shape) ? ShapePtr::borrow(leaf->shape) : make_shape(leaf->sizes());
      TensorPtr copy = empty(std::move(shape), grad->dtype, grad->device);
      int64_t strides[kMaxDims];
      broadcast_strides(grad->shape, copy->sizes(), strides);
      on(copy->device).memory.copy(grad->view(copy->ndim(), copy->shape->sizes(), strides), copy->view());
      set_grad(leaf, std::move(copy));
    }
    return;
  }
  // The gradient that a non-leaf retains is replaced; a leaf's is added to in place.
  if (create_graph || leaf->grad_fn || (mode_flags & kFunctional)) {
    const bool retained = leaf->grad_fn;
    TensorPtr sum = add_tensors(before, grad.get());
    if (!retained) warn_of_layout(leaf, before);
    set_grad(leaf, std::move(sum));
    return;
  }
  check_inference(before, "the accumulation of a gradient");
  if (!before->contiguous()) check_writable(before);
  if (!same_sizes(before->shape, grad->shape)) check_broadcast_into(before, grad->sizes());
  add_in_place(before, grad.get());
  bump_version(before, "the accumulation of a gradient");
  warn_of_layout(leaf, before);
}

void detach_in_place(Tensor* tensor) {
  if (has_tangents(tensor)) release_tangents(std::exchange(tensor->extra->tangents, nullptr));
  if (Node* node = std::exchange(tensor->grad_fn, nullptr)) release(node);
  tensor->output_nr = 0;
  tensor->flags &= ~kRequiresGrad;
}

void check_inplace(Tensor* tensor, const char* op, bool recorded) {
  check_inference(tensor, op);
  if (!recorded || !recording()) return;
  Tensor* base = view_base(tensor);
  bool needs = requires_grad(tensor);
  if (base) {
    check_origin(tensor, std::string("is being modified inplace (") + op + ")");
    if (needs && is_leaf(base))
      fail("a view of a leaf Variable that requires grad is being used in an in-place operation (", op,
           "); wrap the update in no_grad(), or use the out-of-place form");
  }
  if (needs && is_leaf(tensor))
    fail("a leaf Variable that requires grad is being used in an in-place operation (", op,
         "); wrap the update in no_grad(), or use the out-of-place form");
}

void check_writable(const Tensor* tensor) {
  if (tensor->numel() == 0 || !tensor->device.holds_values()) return;
  for (int d = 0; d < tensor->ndim(); ++d)
    if (tensor->size(d) > 1 && tensor->stride(d) == 0)
      fail(
          "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please "
          "clone() the tensor before performing the operation.");
}

void rebase_history(Tensor* tensor, Node* node) {
  Tensor* base = view_base(tensor);
  if (!base) {
    set_history(tensor, node, 0);
    return;
  }
  set_output_meta(*node, 0, tensor);
  NodePtr slices = make_node(copy_slices_kind, 1, node->n_edges, CopySlicesKind::kCount);
  slices->saved()[CopySlicesKind::kInner].save_object(as_object(node));
  slices->saved()[CopySlicesKind::kGeometry].save_meta(tensor);
  slices->saved()[CopySlicesKind::kBase].save_meta(base);
  Object offset = Object::steal(PyLong_FromLongLong(offset_in_base(tensor)));
  if (!offset) throw Error(ErrorKind::Python, "");
  slices->saved()[CopySlicesKind::kOffset].save_object(offset.get());
  set_edge(*slices, 0, base);
  // Shared with the inner node, whose rules unpack saved values through its own edges.
  for (uint32_t i = 1; i < node->n_edges; ++i) {
    Edge edge = node->edges()[i];
    if (edge.node) retain(edge.node);
    slices->edges()[i] = edge;
  }
  set_history(base, slices.get(), 0);
  // The view's own grad_fn is made anew from the base.
  tensor->flags &= ~kRequiresGrad;
  extra_of(tensor).seen_version = version_of(tensor) - 1;
  if (as_object(tensor)->ob_refcnt > 1 || tensor->dtype != base->dtype) return renew_history(tensor);
  // It is usually about to die, as in x[i] = y: only if somebody asks.
  NodePtr earlier = NodePtr::steal(std::exchange(tensor->extra->changed_by, slices.take()));
  if (Node* before = std::exchange(tensor->grad_fn, nullptr)) {
    if (tensor->flags & kRetainsGrad) move_retained_grad(tensor, before);
    release(before);
  }
}

}  // namespace adjoint
