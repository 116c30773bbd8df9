#include "tape/history.h"

#include "core/mode.h"
#include "kernels/copy.h"
#include "kernels/elementwise.h"

namespace adjoint {

namespace {

/// Adds the incoming gradient to a leaf's .grad. The node owns the leaf, the leaf only points at the node.
class AccumulateGradKind final : public NodeKind {
 public:
  AccumulateGradKind() : NodeKind("AccumulateGrad") {}

  void apply(Node& node, TensorPtr* outputs, TensorPtr*, const ApplyContext& context) const override {
    accumulate_grad(leaf(node), std::move(outputs[0]), context.create_graph);
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
    auto& inner = *reinterpret_cast<Node*>(node.saved()[kInner].object());
    const Shape* slice = node.saved()[kGeometry].shape();
    const Shape* base = node.saved()[kBase].shape();
    int64_t offset = PyLong_AsLongLong(node.saved()[kOffset].object());

    TensorPtr result = clone_with_strides(outputs[0].get(), base);
    TensorPtr part = as_strided_recorded(result.get(), slice->size_span(), slice->stride_span(), offset);
    std::vector<TensorPtr> inner_edges(inner.n_edges);
    auto wanted = std::make_unique<bool[]>(inner.n_edges);
    wanted[0] = true;
    for (uint32_t i = 1; i < inner.n_edges; ++i) wanted[i] = context.wanted[i];
    TensorPtr incoming = clone_recorded(part.get());
    inner.kind->apply(inner, &incoming, inner_edges.data(), {context.create_graph, context.keep_saved, wanted.get()});
    if (!context.keep_saved) inner.kind->release_saved(inner);
    if (inner_edges[0]) {
      copy_recorded(part.get(), sum_to(inner_edges[0].get(), slice).get());
    } else {
      zero_recorded(part.get());
    }
    for (uint32_t i = 1; i < inner.n_edges; ++i) edges[i] = std::move(inner_edges[i]);
    if (context.wanted[0]) edges[0] = std::move(result);
  }
  void release_saved(Node&) const override {}

 private:
  static TensorPtr clone_with_strides(Tensor* grad, const Shape* base) {
    if (grad_enabled()) return clone_recorded(contiguous_if_needed(grad, base).get());
    TensorPtr result = empty(make_shape(base->size_span(), base->stride_span()), grad->dtype);
    kernels::copy(grad->view(), result->view());
    return result;
  }
  static TensorPtr contiguous_if_needed(Tensor* grad, const Shape* base) {
    if (!base->contiguous)
      fail("CopySlices: a second derivative through an in-place change of a view needs a contiguous base; got strides ",
           to_string(base->stride_span()), "; call contiguous() on the base first");
    return grad->contiguous() ? TensorPtr::borrow(grad) : contiguous_recorded(grad);
  }
};

const CopySlicesKind copy_slices_kind;

bool view_is_stale(const Tensor* tensor) {
  return tensor->extra && tensor->extra->base && tensor->extra->seen_version != version_of(tensor);
}

}  // namespace

Tensor* view_base(const Tensor* tensor) { return tensor->extra ? tensor->extra->base : nullptr; }

void forget_base(Tensor* tensor) {
  if (!tensor->extra) return;
  if (Tensor* base = std::exchange(tensor->extra->base, nullptr)) release(base);
}

void mark_view(Tensor* result, Tensor* source, ViewOrigin origin) {
  Tensor* base = view_base(source);
  TensorExtra& extra = extra_of(result);
  if (base && extra_of(source).origin != ViewOrigin::Recorded) origin = extra_of(source).origin;
  extra.base = base ? base : source;
  retain(extra.base);
  extra.origin = origin;
  extra.seen_version = version_of(source);
}

bool requires_grad(Tensor* tensor) {
  if ((tensor->flags & kRequiresGrad) || tensor->grad_fn) return true;
  return view_is_stale(tensor) && current_grad_fn(tensor) != nullptr;
}

bool is_leaf(Tensor* tensor) { return !requires_grad(tensor) || current_grad_fn(tensor) == nullptr; }

Node* current_grad_fn(Tensor* tensor) {
  if (view_is_stale(tensor)) {
    TensorExtra& extra = *tensor->extra;
    Tensor* base = extra.base;
    if (requires_grad(base) && base->dtype == tensor->dtype && !(tensor->flags & kRequiresGrad)) {
      NodePtr node = as_strided_node(base, tensor);
      set_history(tensor, node.get(), 0);
    }
    extra.seen_version = version_of(tensor);
  }
  return tensor->grad_fn;
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
  if (!node->outputs()[index].shape) set_output_meta(*node, index, tensor);
  if (before) release(before);
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
  extra.accumulator = node.get();
  return node;
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

void add_in_place(Tensor* target, const Tensor* other) {
  static const Kernel* add = find_kernel("add");
  int64_t strides[kMaxDims];
  broadcast_strides(other->shape, target->sizes(), strides);
  View inputs[2] = {target->view(), {other->data, other->dtype, target->ndim(), target->shape->sizes(), strides}};
  Scalar one = Scalar::of(int64_t{1});
  kernels::elementwise(*add, target->dtype, target->view(), inputs, &one);
}

/// A .grad has the strides of its leaf when these are dense, and is contiguous otherwise.
static bool grad_layout_fits(const Shape* grad, const Shape* leaf) {
  if (grad == leaf || (grad->contiguous && leaf->contiguous)) return true;
  if (!is_dense(leaf)) return grad->contiguous;
  return std::equal(leaf->strides(), leaf->strides() + leaf->ndim, grad->strides());
}

void accumulate_grad(Tensor* leaf, TensorPtr grad, bool create_graph) {
  if (!grad) return;
  Tensor* before = grad_of(leaf);
  if (!before) {
    bool layout_fits = grad_layout_fits(grad->shape, leaf->shape);
    bool sole_owner =
        as_object(grad.get())->ob_refcnt == 1 && grad->storage->refs == 1 && grad->storage->owner == nullptr;
    if (create_graph) {
      set_grad(leaf, sole_owner && layout_fits ? std::move(grad) : clone_recorded(grad.get()));
    } else if (sole_owner && layout_fits) {
      set_grad(leaf, std::move(grad));
    } else {
      TensorPtr copy = empty(
          is_dense(leaf->shape) ? make_shape(leaf->sizes(), leaf->strides()) : make_shape(leaf->sizes()), grad->dtype);
      kernels::copy(grad->view(), copy->view());
      set_grad(leaf, std::move(copy));
    }
    return;
  }
  if (create_graph) {
    set_grad(leaf, add_tensors(before, grad.get()));
    return;
  }
  add_in_place(before, grad.get());
  bump_version(before);
}

void detach_in_place(Tensor* tensor) {
  if (Node* node = std::exchange(tensor->grad_fn, nullptr)) release(node);
  tensor->output_nr = 0;
  tensor->flags &= ~kRequiresGrad;
}

void check_inplace(Tensor* tensor, const char* op, bool recorded) {
  if ((tensor->flags & kInferenceTensor) && !(mode_flags & kInferenceMode))
    fail(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
        "tensor "
        "before doing inplace update (",
        op, ").");
  if (!recorded || !grad_enabled()) return;
  Tensor* base = view_base(tensor);
  bool needs = requires_grad(tensor);
  if (base) {
    switch (tensor->extra->origin) {
      case ViewOrigin::NoGrad:
        if (needs || requires_grad(base))
          fail("A view was created in no_grad mode and is being modified inplace with grad mode enabled (", op,
               "). Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
               "by moving both "
               "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
               "tracked) or both "
               "outside (if you want the inplace to be tracked).");
        break;
      case ViewOrigin::MultiOutput:
        fail("Output ", tensor->output_nr, " of ",
             tensor->grad_fn ? tensor->grad_fn->kind->name() : "a multi-output view op",
             " is a view and is being modified inplace (", op,
             "). This view is the output of a function that returns multiple views. Such functions do not allow the "
             "output views "
             "to be modified inplace. You should replace the inplace operation by an out-of-place one.");
      case ViewOrigin::Recorded:
      case ViewOrigin::Inference: break;
    }
  }
  if (needs && is_leaf(tensor))
    fail("a leaf Variable that requires grad is being used in an in-place operation (", op,
         "); wrap the update in no_grad(), or use the out-of-place form");
  if (base && requires_grad(base) && is_leaf(base))
    fail("a view of a leaf Variable that requires grad is being used in an in-place operation (", op,
         "); wrap the update in no_grad(), or use the out-of-place form");
}

void check_writable(const Tensor* tensor) {
  if (tensor->numel() == 0 || tensor->device == DeviceType::Meta) return;
  for (int d = 0; d < tensor->ndim(); ++d)
    if (tensor->size(d) > 1 && tensor->stride(d) == 0)
      fail(
          "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please "
          "clone() the tensor before performing the operation.");
}

void write_out(const char* op, Tensor* out, Tensor* result) {
  check_inplace(out, op, false);
  if (category(result->dtype) > category(out->dtype))
    fail("result type ", info(result->dtype).legacy_name, " can't be cast to the desired output type ",
         info(out->dtype).legacy_name);
  if (same_sizes(out->shape, result->shape)) {
    check_writable(out);
    kernels::copy(result->view(), out->view());
  } else {
    if (view_base(out))
      fail(op, "(): out= has shape ", to_string(out->sizes()), " but ", to_string(result->sizes()),
           " is needed, and a view cannot be resized");
    TensorPtr fitting = cast(result, out->dtype);
    retain(fitting->storage);
    retain(fitting->shape);
    release(std::exchange(out->storage, fitting->storage));
    release(std::exchange(out->shape, fitting->shape));
    out->data = fitting->data;
  }
  bump_version(out);
}

void rebase_history(Tensor* tensor, Node* node) {
  Tensor* base = view_base(tensor);
  if (!base) {
    set_history(tensor, node, 0);
    return;
  }
  if (base->dtype != tensor->dtype)
    fail("an in-place change of a view with another dtype than its base cannot be recorded; got ",
         info(tensor->dtype).name, " on ", info(base->dtype).name, "; use the out-of-place form");
  set_output_meta(*node, 0, tensor);
  NodePtr slices = make_node(copy_slices_kind, 1, node->n_edges, CopySlicesKind::kCount);
  slices->saved()[CopySlicesKind::kInner].save_object(as_object(node));
  slices->saved()[CopySlicesKind::kGeometry].save_meta(tensor);
  slices->saved()[CopySlicesKind::kBase].save_meta(base);
  Object offset = Object::steal(PyLong_FromLongLong((tensor->data - base->data) / itemsize(base->dtype)));
  if (!offset) throw Error(ErrorKind::Python, "");
  slices->saved()[CopySlicesKind::kOffset].save_object(offset.get());
  set_edge(*slices, 0, base);
  for (uint32_t i = 1; i < node->n_edges; ++i) {
    Edge edge = node->edges()[i];
    if (edge.node) retain(edge.node);
    slices->edges()[i] = edge;
  }
  set_history(base, slices.get(), 0);
  // The view's own grad_fn is made anew from the base when it is asked for.
  if (Node* before = std::exchange(tensor->grad_fn, nullptr)) release(before);
  tensor->flags &= ~kRequiresGrad;
  extra_of(tensor).seen_version = version_of(tensor) - 1;
}

}  // namespace adjoint
