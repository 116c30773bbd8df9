#include "python/function.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "core/batched.h"
#include "core/mode.h"
#include "core/tangent.h"
#include "op/arg.h"
#include "op/transform.h"
#include "ops/memory.h"
#include "python/error_node.h"
#include "tape/history.h"
#include "tape/hooks.h"
#include "transforms/wrapped.h"

namespace adjoint::python {
namespace {

/// What a Function's node keeps. Those from kToSave on are there from the beginning of forward until its end.
enum Slot : uint32_t {
  kTensors,    ///< a list: what save_for_backward kept
  kOrigins,    ///< a tuple: where each of them came from (Origin)
  kPositions,  ///< a tuple: the number of arguments, then the positions of those that are tensors, one for each edge
  kNeeds,      ///< needs_input_grad
  kToSave,
  kDirty,
  kPlain,
  kForForward,
  kSlots
};

/// Where a saved tensor came from, so that unpacking can tie it to the graph again.
/// >= 0: the tensor argument of this number; < kConstant: output kConstant - 1 - origin.
enum Origin : long {
  kIntermediate = -1,  ///< computed in forward; its derivative is not known
  kConstant = -2,      ///< an argument's memory without its history, as of detach()
};
long output_origin(Py_ssize_t i) { return kConstant - 1 - static_cast<long>(i); }

// Names and objects that every call needs; set by _function_base.
struct Names {
  PyObject *kind, *forward, *setup_context, *backward, *vjp, *forward_cls, *boxed_grads_call, *clear_on_access;
} names;
PyObject *base_setup_context, *base_backward, *base_vjp;  // Function's own, to be seen as not overridden
PyObject* bind_arguments;                                 // autograd/function.py
PyObject* function_base = nullptr;

PyObject* object_in(const Node& node, Slot slot) {
  const SavedValue& value = node.saved()[slot];
  return value.kind() == SavedValue::Kind::Object ? value.object() : nullptr;
}

bool contains(PyObject* tuple, PyObject* item) {
  if (!tuple) return false;
  PyObject** items = &PyTuple_GET_ITEM(tuple, 0);
  return std::find(items, items + PyTuple_GET_SIZE(tuple), item) != items + PyTuple_GET_SIZE(tuple);
}

// ---- The nodes of a Function

constexpr const char* kUnknownDerivative =
    "Trying to differentiate through a tensor that a custom Function saved in forward and that is neither an input nor "
    "an output of it: how it depends on the inputs is not known, and the second derivative would be silently wrong. "
    "Return it as an output of forward, or save the inputs and compute it again in backward; if it is a constant, "
    "keep it as an attribute of ctx.";

/// The nodes of one Function class. The node is the ctx of forward and backward: it is made before forward runs.
class FunctionKind final : public NodeKind {
 public:
  explicit FunctionKind(std::string name) : NodeKind(std::move(name)) {}
  /// How many outputs to leave room for: forward has not said yet.
  mutable uint32_t expected_outputs = 4;

  bool runs_on_undefined() const override { return true; }

  void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const override {
    std::vector<Object> owned;
    std::vector<PyObject*> args = {as_object(&node)};
    owned.reserve(node.n_outputs);
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      owned.push_back(incoming(node, i, outputs[i], context.create_graph));
      args.push_back(owned.back().get());
    }
    Object function = class_of(node);
    if (class_flag(function.get(), names.boxed_grads_call)) box(node, args, owned, outputs);
    Object backward = users_backward(function.get());
    uint16_t before = node.flags & (kRecordedBackward | kBareSaved);
    if (context.create_graph) {
      node.flags |= kRecordedBackward;
    } else if (grad_enabled()) {
      node.flags |= kBareSaved;  // grad mode is on for the values of batched tensors, and for tangents
    }
    Object answer = Object::steal(call_python(backward.get(), args.data(), args.size(), nullptr));
    node.flags = static_cast<uint16_t>((node.flags & ~(kRecordedBackward | kBareSaved)) | before);
    if (!answer) fail_python();
    take_gradients(node, answer.get(), edges);
  }

  static Object saved_tensors(Node& node) {
    PyObject* origins = object_in(node, kOrigins);
    Py_ssize_t n = origins ? PyTuple_GET_SIZE(origins) : 0;
    if (node.flags & kAccessed)
      fail(
          "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
          "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False.");
    if (n > 0 && node.released()) fail_released(node);
    Object tuple = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const SavedValue& value = node.saved()[kTensors].list_item(static_cast<size_t>(i));
      long origin = PyLong_AsLong(PyTuple_GET_ITEM(origins, i));
      PyTuple_SET_ITEM(tuple.get(), i,
                       (value.is_tensor() ? saved_tensor(node, value, origin) : Object::borrow(Py_None)).take());
    }
    if (n > 0 && class_flag(class_of(node).get(), names.clear_on_access)) {
      node.flags |= kAccessed;
      node.saved()[kTensors].clear();
    }
    return tuple;
  }

 private:
  /// The user's class.
  static Object class_of(Node& node) { return checked(PyObject_GetAttr(as_object(&node), names.forward_cls)); }

  /// Whether the user's class says True to one of its options.
  static bool class_flag(PyObject* function, PyObject* name) {
    const int flag = PyObject_IsTrue(checked(PyObject_GetAttr(function, name)).get());
    check(flag >= 0);
    return flag == 1;
  }

  /// The gradients as one list that owns them: backward can free each as soon as it is done with it.
  static void box(Node& node, std::vector<PyObject*>& args, std::vector<Object>& owned, TensorPtr* outputs) {
    Object list = checked(PyList_New(node.n_outputs));
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      PyList_SET_ITEM(list.get(), i, owned[i].take());
      outputs[i].reset();
    }
    args.resize(2);
    args[1] = list.get();
    owned.clear();
    owned.push_back(std::move(list));
  }

  /// A saved tensor with the history that it had in forward.
  static Object saved_tensor(Node& node, const SavedValue& value, long origin) {
    Edge self{&node, static_cast<uint32_t>(kConstant - 1 - origin)};
    const Edge* edge = origin >= 0 ? &node.edges()[origin] : origin < kConstant ? &self : nullptr;
    TensorPtr tensor = value.unpack_with_edge(node, node.flags & kBareSaved ? nullptr : edge);
    bool unknown = origin == kIntermediate && (node.flags & kRecordedBackward) && grad_enabled();
    if (unknown && is_differentiable(tensor->dtype) && !tensor->grad_fn) {
      NodePtr error = make_error_node(checked(PyUnicode_FromString(kUnknownDerivative)).get(), 1, 0);
      set_history(tensor.get(), error.get(), 0);
    }
    return is_batched(tensor.get()) ? shown(std::move(tensor)) : wrap(std::move(tensor));
  }

  static Object incoming(const Node& node, uint32_t i, const TensorPtr& gradient, bool create_graph) {
    if (gradient && !create_graph && grad_enabled() && requires_grad(gradient.get())) {
      TensorPtr bare = alias(gradient.get());
      copy_tangents(bare.get(), gradient.get());
      return wrap(std::move(bare));
    }
    if (gradient) return Object::borrow(as_object(gradient.get()));
    const OutputMeta& meta = node.outputs()[i];
    if ((node.flags & kBareGradients) || !meta.shape) return Object::borrow(Py_None);
    return wrap(zeros(meta.shape->size_span(), meta.dtype, place_of(meta.device)));
  }

  /// Looked up now: it may have been set after the class was made.
  static Object users_backward(PyObject* function) {
    Object backward = checked(PyObject_GetAttr(function, names.backward));
    Object vjp = checked(PyObject_GetAttr(function, names.vjp));
    if (vjp.get() == base_vjp) return backward;
    if (backward.get() != base_backward)
      fail(
          "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
          "of them.");
    return vjp;
  }

  /// The gradients that backward returned, one per argument of forward, to the edges.
  void take_gradients(const Node& node, PyObject* answer, TensorPtr* edges) const {
    PyObject* positions = object_in(node, kPositions);
    long expected = PyLong_AsLong(PyTuple_GET_ITEM(positions, 0));
    Object single = PyTuple_Check(answer) ? Object::borrow(answer) : checked(PyTuple_Pack(1, answer));
    Py_ssize_t got = PyTuple_GET_SIZE(single.get());
    bool surplus = false;  // further gradients are fine as long as they are None
    for (Py_ssize_t i = expected; i < got; ++i) surplus |= PyTuple_GET_ITEM(single.get(), i) != Py_None;
    if (got < expected || surplus)
      fail("function ", name(), " returned an incorrect number of gradients (expected ", expected, ", got ", got,
           "); backward returns one for each argument of forward, None where there is none");
    uint32_t edge = 0;
    for (long i = 0; i < expected; ++i) {
      PyObject* gradient = PyTuple_GET_ITEM(single.get(), i);
      bool is_edge = edge < node.n_edges && PyLong_AsLong(PyTuple_GET_ITEM(positions, edge + 1)) == i;
      if (gradient != Py_None) {
        if (!is_edge)
          fail("function ", name(), " returned a gradient different than None at position ", i + 1,
               ", but the corresponding forward input was not a Variable; return None there");
        if (!is_tensor(gradient))
          fail("expected Variable or None (got ", Py_TYPE(gradient)->tp_name, ") as a gradient");
        edges[edge] = checked_gradient(node.edges()[edge], as_tensor(gradient), i);
      }
      edge += is_edge;
    }
  }

  TensorPtr checked_gradient(const Edge& edge, Tensor* gradient, long position) const {
    if (edge.node && is_complex(gradient->dtype) && !is_complex(edge.node->outputs()[edge.index].dtype))
      fail(
          "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got "
          "false: ",
          name(), " returned a complex gradient at position ", position + 1,
          ", where forward had a real input; return its real part");
    return TensorPtr::borrow(gradient);
  }
};

Node& node_of(PyObject* self) { return *reinterpret_cast<Node*>(self); }

// ---- The call

/// Attaches the outputs of a forward to its node, one after the other.
class Outputs {
 public:
  Outputs(Node& node, PyObject* args, PyObject* outputs, bool recorded)
      : node_(node),
        args_(args),
        outputs_(outputs),
        dirty_(object_in(node, kDirty)),
        plain_(object_in(node, kPlain)),
        count_(static_cast<uint32_t>(PyTuple_GET_SIZE(outputs))),
        recorded_(recorded) {}

  /// The object that the user gets for output i.
  Object attach(uint32_t i) {
    PyObject* output = PyTuple_GET_ITEM(outputs_, i);
    if (!is_tensor(output)) return Object::borrow(output);
    Tensor* tensor = as_tensor(output);
    bool is_input = contains(args_, output), is_dirty = contains(dirty_, output);
    bool is_plain = !recorded_ || contains(plain_, output) || !is_differentiable(tensor->dtype);
    PyObject** all = &PyTuple_GET_ITEM(outputs_, 0);
    if (is_dirty && std::find(all, all + i, output) == all + i) change(tensor, is_input, !is_plain);
    if (is_plain) return without_history(tensor, is_input, is_dirty, i);
    if (is_dirty && is_input) return with_changed_input(i, tensor);
    TensorPtr result = is_input ? alias(tensor) : TensorPtr::borrow(tensor);
    if (is_input) mark_view(result.get(), tensor, ViewOrigin::Recorded);
    set_output_meta(node_, i, result.get());
    set_history(result.get(), &node_, i);
    if (view_base(result.get())) {
      result->extra->origin = count_ > 1 ? ViewOrigin::MultiOutput : ViewOrigin::Function;
      result->extra->seen_version = version_of(result.get());
    }
    return wrap(std::move(result));
  }

  void check_dirty() const {
    for (Py_ssize_t i = 0; dirty_ && i < PyTuple_GET_SIZE(dirty_); ++i)
      if (!contains(outputs_, PyTuple_GET_ITEM(dirty_, i)))
        fail(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function.");
  }

 private:
  void change(Tensor* tensor, bool is_input, bool recorded) {
    if (!is_input) {
      int failed = PyErr_WarnEx(PyExc_UserWarning,
                                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
                                "have been mutated should be passed to ctx.mark_dirty().",
                                1);
      check(failed == 0);
    } else if (recorded) {
      // A view's history is that before the change; is_leaf() would bring it up to date.
      if (view_base(tensor)) {
        check_inplace(tensor, node_.kind->name().c_str(), true);
      } else if ((tensor->flags & kRequiresGrad) && !tensor->grad_fn) {
        fail("a leaf Variable that requires grad has been used in an in-place operation. Pass a clone() of it.");
      }
    }
    bump_version(tensor, node_.kind->name().c_str());
  }

  /// As in torch: an input comes back as a view or a detached twin, and any other tensor loses its history.
  Object without_history(Tensor* tensor, bool is_input, bool is_dirty, uint32_t i) {
    if (recorded_) set_output_meta(node_, i, tensor);
    TensorPtr result = TensorPtr::borrow(tensor);
    if (is_input && requires_grad(tensor)) {
      result = alias(tensor);
    } else if (is_input && !is_dirty) {
      result = alias(tensor);
      mark_view(result.get(), tensor, ViewOrigin::Recorded);
    } else if (!view_base(tensor) && requires_grad(tensor)) {
      detach_in_place(tensor);
    }
    return wrap(std::move(result));
  }

  Object with_changed_input(uint32_t i, Tensor* tensor) {
    set_output_meta(node_, i, tensor);
    if (!view_base(tensor)) {
      set_history(tensor, &node_, i);
      return Object::borrow(as_object(tensor));
    }
    if (count_ > 1)
      fail(
          "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
          "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
          "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
          "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
          "second one that does the other operations).");
    PyObject* positions = object_in(node_, kPositions);
    if (PyTuple_GET_ITEM(args_, PyLong_AsLong(PyTuple_GET_ITEM(positions, 1))) != as_object(tensor))
      fail(node_.kind->name(),
           ": a view that forward changes in place must be the first of its tensor arguments; change the order");
    rebase_history(tensor, &node_);
    return Object::borrow(as_object(tensor));
  }

  Node& node_;
  PyObject *args_, *outputs_, *dirty_, *plain_;
  uint32_t count_;
  bool recorded_;
};

/// Where a saved tensor came from: the last argument that it is, unless it is (also) an output with history.
long origin_of(const Node& node, PyObject* item, PyObject* args, PyObject* outputs, PyObject* attached) {
  long origin = kIntermediate, edge = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* argument = PyTuple_GET_ITEM(args, i);
    if (!is_tensor(argument)) continue;
    if (argument == item) origin = edge;
    bool shares = as_tensor(argument)->storage == as_tensor(item)->storage && !view_base(as_tensor(item));
    if (shares && origin == kIntermediate) origin = kConstant;
    ++edge;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    PyObject* shown = PyTuple_GET_ITEM(attached, i);
    bool own = PyTuple_GET_ITEM(outputs, i) == item && is_tensor(shown) && as_tensor(shown)->grad_fn == &node;
    if (own && (origin < 0 || shown == item)) origin = output_origin(i);
  }
  return origin;
}

/// Keeps the tensors of ctx.save_for_backward in the node.
void save_tensors(Node& node, PyObject* args, PyObject* outputs, PyObject* attached) {
  PyObject* to_save = object_in(node, kToSave);
  if (!to_save || PyTuple_GET_SIZE(to_save) == 0) return;
  Py_ssize_t n = PyTuple_GET_SIZE(to_save);
  Object origins = checked(PyTuple_New(n));
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PyTuple_GET_ITEM(to_save, k);
    if (!is_tensor(item) && item != Py_None)
      fail(ErrorKind::Type, "save_for_backward can only save variables, but argument ", k, " is of type ",
           Py_TYPE(item)->tp_name, "; set other values as attributes of ctx");
    long origin = is_tensor(item) ? origin_of(node, item, args, outputs, attached) : kConstant;
    PyTuple_SET_ITEM(origins.get(), k, checked(PyLong_FromLong(origin)).take());
  }
  node.saved()[kTensors].save_list(to_save, node);
  node.saved()[kOrigins].save_object(origins.get());
}

/// The number of outputs is known now: closes the room that was left for more. Where it was too small, the ctx hands
/// its contents to a larger node.
NodePtr fit_outputs(NodePtr node, uint32_t count) {
  auto* kind = static_cast<const FunctionKind*>(node->kind);
  size_t rest = node->n_edges * sizeof(Edge) + node->n_saved * sizeof(SavedValue);
  auto* begin = reinterpret_cast<char*>(node->edges());
  if (count <= node->n_outputs) {
    size_t gap = (node->n_outputs - count) * sizeof(OutputMeta);
    std::memmove(begin - gap, begin, rest);
    std::memset(begin - gap + rest, 0, gap);
    node->n_outputs = count;
    return node;
  }
  kind->expected_outputs = std::max(kind->expected_outputs, count);
  NodePtr larger = make_node(*kind, count, node->n_edges, node->n_saved, true);
  larger->sequence = node->sequence;
  larger->flags = node->flags;
  std::memcpy(reinterpret_cast<char*>(larger->edges()), begin, rest);
  std::memset(begin, 0, rest);
  *_PyObject_GetDictPtr(as_object(larger.get())) = Py_XNewRef(*_PyObject_GetDictPtr(as_object(node.get())));
  return larger;
}

/// What the user gets for what forward returned.
Object finish(NodePtr node, PyObject* args, PyObject* output, bool recorded) {
  Object outputs = PyTuple_Check(output) ? Object::borrow(output) : checked(PyTuple_Pack(1, output));
  auto count = static_cast<uint32_t>(PyTuple_GET_SIZE(outputs.get()));
  node = fit_outputs(std::move(node), count);
  Outputs attaching(*node, args, outputs.get(), recorded);
  attaching.check_dirty();
  Object results = checked(PyTuple_New(count));
  for (uint32_t i = 0; i < count; ++i) PyTuple_SET_ITEM(results.get(), i, attaching.attach(i).take());
  if (recorded) save_tensors(*node, args, outputs.get(), results.get());
  for (Slot slot : {kToSave, kDirty, kPlain, kForForward}) node->saved()[slot].clear();
  return PyTuple_Check(output) ? std::move(results) : Object::borrow(PyTuple_GET_ITEM(results.get(), 0));
}

/// A node for a call with these arguments. Its edges are taken before forward can change the arguments.
NodePtr make_context(const FunctionKind& kind, PyObject* args, bool* recorded) {
  Py_ssize_t n_args = PyTuple_GET_SIZE(args);
  Object needs = checked(PyTuple_New(n_args));
  uint32_t n_edges = 0;
  bool any = false;
  for (Py_ssize_t i = 0; i < n_args; ++i) {
    PyObject* argument = PyTuple_GET_ITEM(args, i);
    bool tensor = is_tensor(argument), needed = tensor && requires_grad(as_tensor(argument));
    n_edges += tensor;
    any |= needed;
    PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(needed));
  }
  *recorded = any && recording();
  NodePtr node = make_node(kind, kind.expected_outputs, n_edges, kSlots, true);
  node->saved()[kNeeds].save_object(needs.get());
  if (!*recorded) return node;
  Object positions = checked(PyTuple_New(n_edges + 1));
  PyTuple_SET_ITEM(positions.get(), 0, checked(PyLong_FromSsize_t(n_args)).take());
  uint32_t edge = 0;
  for (Py_ssize_t i = 0; i < n_args; ++i) {
    if (!is_tensor(PyTuple_GET_ITEM(args, i))) continue;
    set_edge(*node, edge++, as_tensor(PyTuple_GET_ITEM(args, i)));
    PyTuple_SET_ITEM(positions.get(), edge, checked(PyLong_FromSsize_t(i)).take());
  }
  node->saved()[kPositions].save_object(positions.get());
  return node;
}

Object call_forward(Node& node, PyObject* forward, PyObject* args, PyObject* setup) {
  GradModeGuard no_grad(false);
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (setup) {
    Object output = checked(in_python([&] { return PyObject_Call(forward, args, nullptr); }));
    checked(call_python(setup, as_object(&node), args, output.get()));
    return output;
  }
  std::vector<PyObject*> all(static_cast<size_t>(n) + 1);
  all[0] = as_object(&node);
  std::copy_n(&PyTuple_GET_ITEM(args, 0), n, all.begin() + 1);
  return checked(call_python(forward, all.data(), all.size(), nullptr));
}

/// Whether a level of vmap or of forward mode may have something to say about a call.
bool concerns_levels(PyObject* const* args, Py_ssize_t count) {
  return std::any_of(args, args + count, [](PyObject* object) {
    if (!is_tensor(object)) return false;
    const Tensor* tensor = as_tensor(object);
    const Tensor* base = view_base(tensor);
    return is_batched(tensor) || has_tangents(tensor) || (base && has_tangents(base));
  });
}

/// Function.apply under transforms: adjoint/func/_functions.py.
Object apply_in_levels(PyObject* const* call, Py_ssize_t nargs, PyObject* keywords) {
  static PyObject* apply = [] {
    Object module = checked(PyImport_ImportModule("adjoint.func._functions"));
    return checked(PyObject_GetAttrString(module.get(), "apply")).take();
  }();
  Object args = checked(PyTuple_New(nargs - 1)), by_name = checked(PyDict_New());
  for (Py_ssize_t i = 1; i < nargs; ++i) PyTuple_SET_ITEM(args.get(), i - 1, Py_NewRef(call[i]));
  for (Py_ssize_t i = 0; i < (keywords ? PyTuple_GET_SIZE(keywords) : 0); ++i)
    check(PyDict_SetItem(by_name.get(), PyTuple_GET_ITEM(keywords, i), call[nargs + i]) == 0);
  return checked(call_python(apply, call[0], args.get(), by_name.get()));
}

/// _function_apply_here(cls, *args, **kwargs): Function.apply, with no regard to transforms.
PyObject* py_function_apply_here(PyObject*, PyObject* const* call, Py_ssize_t nargs, PyObject* keywords) {
  return guarded([&] {
    if (nargs < 1) fail(ErrorKind::Type, "apply() is a method of a Function class");
    PyObject* cls = call[0];
    Object name;
    if (mode_flags & kTransformed) [[unlikely]]
      name = checked(PyObject_GetAttrString(cls, "__name__"));
    CallSpan span(name.get(), call + 1, nargs - 1, Span::Kind::Custom);
    Object capsule = checked(PyObject_GetAttr(cls, names.kind));
    auto* kind = static_cast<FunctionKind*>(PyCapsule_GetPointer(capsule.get(), "adjoint.FunctionKind"));
    check(kind != nullptr);
    Object forward = checked(PyObject_GetAttr(cls, names.forward));
    Object setup = checked(PyObject_GetAttr(cls, names.setup_context));
    if (setup.get() == base_setup_context) setup.reset();
    Object args = checked(PyTuple_New(nargs - 1));
    for (Py_ssize_t i = 1; i < nargs; ++i) PyTuple_SET_ITEM(args.get(), i - 1, Py_NewRef(call[i]));
    Py_ssize_t n_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    if (setup || n_keywords) {
      Object by_name = checked(PyDict_New());
      for (Py_ssize_t i = 0; i < n_keywords; ++i)
        check(PyDict_SetItem(by_name.get(), PyTuple_GET_ITEM(keywords, i), call[nargs + i]) == 0);
      args = checked(call_python(bind_arguments, forward.get(), args.get(), by_name.get(), setup ? Py_True : Py_False));
      if (!PyTuple_Check(args.get())) fail(ErrorKind::Type, "apply(): arguments must come as a tuple");
    }
    bool recorded = false;
    NodePtr node = make_context(*kind, args.get(), &recorded);
    Object output = call_forward(*node, forward.get(), args.get(), setup.get());
    return finish(std::move(node), args.get(), output.get(), recorded).take();
  });
}

/// _function_apply(cls, *args, **kwargs): Function.apply.
PyObject* py_function_apply(PyObject* module, PyObject* const* call, Py_ssize_t nargs, PyObject* keywords) {
  if ((mode_flags & kFunctional) && nargs > 1) [[unlikely]] {
    const Py_ssize_t given = nargs - 1 + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
    if (concerns_levels(call + 1, given)) return guarded([&] { return apply_in_levels(call, nargs, keywords).take(); });
  }
  return py_function_apply_here(module, call, nargs, keywords);
}

// ---- What Python sees of a ctx

template <Slot slot>
PyObject* get_slot(PyObject* self, void*) {
  PyObject* value = object_in(node_of(self), slot);
  return Py_NewRef(value ? value : Py_None);
}

template <Slot slot>
int set_slot(PyObject* self, PyObject* value, void*) {
  if (!value || value == Py_None) {
    node_of(self).saved()[slot].clear();
  } else {
    node_of(self).saved()[slot].save_object(value);
  }
  return 0;
}

/// Keeps a tuple of tensors; `complaint` begins the error for other values (null: they are checked later).
template <Slot slot>
PyObject* keep(PyObject* self, PyObject* const* args, Py_ssize_t nargs, const char* complaint) {
  return guarded([&]() -> PyObject* {
    Object tuple = checked(PyTuple_New(nargs));
    for (Py_ssize_t i = 0; i < nargs; ++i) {
      if (complaint && !is_tensor(args[i])) fail(complaint, i, " is of type ", Py_TYPE(args[i])->tp_name);
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
    }
    node_of(self).saved()[slot].save_object(tuple.get());
    Py_RETURN_NONE;
  });
}

PyObject* save_for_backward(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return keep<kToSave>(self, args, nargs, nullptr);
}
PyObject* mark_dirty(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return keep<kDirty>(self, args, nargs, "mark_dirty can only accept variables, but argument ");
}
PyObject* mark_non_differentiable(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return keep<kPlain>(self, args, nargs,
                      "mark_non_differentiable only accepts variable arguments, but got one where argument ");
}

PyObject* get_materialize(PyObject* self, void*) { return PyBool_FromLong(!(node_of(self).flags & kBareGradients)); }

int set_materialize(PyObject* self, PyObject* value, void*) {
  if (!value || !PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError,
                 "set_materialize_grads received an invalid combination of arguments - got (%s), but expected (bool)",
                 value ? Py_TYPE(value)->tp_name : "");
    return -1;
  }
  uint16_t& flags = node_of(self).flags;
  flags = static_cast<uint16_t>(value == Py_True ? flags & ~kBareGradients : flags | kBareGradients);
  return 0;
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&] { return FunctionKind::saved_tensors(node_of(self)).take(); });
}

/// Frees the saved tensors before backward ends, unless the graph is kept.
PyObject* maybe_clear_saved_tensors(PyObject* self, PyObject*) {
  Node& node = node_of(self);
  RunningBackward* run = RunningBackward::current();
  if (!run || !run->keeps_graph()) node.kind->release_saved(node);
  Py_RETURN_NONE;
}

PyObject* get_saved_variables(PyObject* self, void*) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) != 0)
    return nullptr;
  return get_saved_tensors(self, nullptr);
}

PyMethodDef context_methods[] = {
    {"save_for_backward", as_method(save_for_backward), METH_FASTCALL,
     "Keeps tensors for backward, where `ctx.saved_tensors` gives them back; changes in between are noticed."},
    {"mark_dirty", as_method(mark_dirty), METH_FASTCALL,
     "Says that forward changed these inputs in place; forward must return them."},
    {"mark_non_differentiable", as_method(mark_non_differentiable), METH_FASTCALL,
     "Says that no gradient flows through these outputs."},
    {"maybe_clear_saved_tensors", maybe_clear_saved_tensors, METH_NOARGS,
     "Frees the saved tensors, unless the graph is kept for another backward."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef context_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"saved_tensors", get_saved_tensors, nullptr, "The tensors given to save_for_backward.", nullptr},
    {"saved_variables", get_saved_variables, nullptr, "The former name of saved_tensors.", nullptr},
    {"needs_input_grad", get_slot<kNeeds>, set_slot<kNeeds>, "Per argument of forward: does it require grad?", nullptr},
    {"to_save", get_slot<kToSave>, set_slot<kToSave>, nullptr, nullptr},
    {"saved_for_forward", get_slot<kForForward>, set_slot<kForForward>, nullptr, nullptr},
    {"dirty_tensors", get_slot<kDirty>, set_slot<kDirty>, nullptr, nullptr},
    {"non_differentiable", get_slot<kPlain>, set_slot<kPlain>, nullptr, nullptr},
    {"materialize_grads", get_materialize, set_materialize, "Whether undefined gradients come as zeros.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

/// The attributes lie in a node's last word; see make_node.
PyMemberDef context_members[] = {
    {"__dictoffset__", T_PYSSIZET, -static_cast<Py_ssize_t>(sizeof(PyObject*)), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot context_slots[] = {
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {Py_tp_members, context_members},
    {Py_tp_doc, const_cast<char*>("The node of a custom Function, and the ctx of its forward and backward.")},
    {0, nullptr},
};
PyType_Spec context_spec = {"adjoint.autograd.function.BackwardCFunction", 0, 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            context_slots};

/// _function_base(methods, bind, setup_context, backward, vjp): the type of all Functions' nodes, with a class's
/// methods; and what Function itself defines.
PyObject* py_function_base(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 5) fail(ErrorKind::Type, "_function_base(methods, bind, setup_context, backward, vjp)");
    PyObject** places[] = {&bind_arguments, &base_setup_context, &base_backward, &base_vjp};
    for (int i = 0; i < 4; ++i) *places[i] = Py_NewRef(args[i + 1]);
    names = {PyUnicode_InternFromString("_kind"),
             PyUnicode_InternFromString("forward"),
             PyUnicode_InternFromString("setup_context"),
             PyUnicode_InternFromString("backward"),
             PyUnicode_InternFromString("vjp"),
             PyUnicode_InternFromString("_forward_cls"),
             PyUnicode_InternFromString("boxed_grads_call"),
             PyUnicode_InternFromString("clear_saved_tensors_on_access")};
    Object bases = checked(PyTuple_Pack(2, node_base_type, args[0]));
    function_base = checked(PyType_FromSpecWithBases(&context_spec, bases.get())).take();
    return Py_NewRef(function_base);
  });
}

/// _function_kind(cls, name): what apply needs to make nodes of a Function class, and their type; kept by the class.
PyObject* py_function_kind(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    const char* text = nargs == 2 ? PyUnicode_AsUTF8(args[1]) : nullptr;
    if (!text || !function_base) fail(ErrorKind::Type, "_function_kind(cls, name)");
    // Never freed: nodes may outlive the class.
    auto* kind = new FunctionKind(text);
    PyTypeObject* made = make_node_type(*kind, function_base, "adjoint.autograd.function");
    Object type = Object::steal(reinterpret_cast<PyObject*>(made));
    check(PyObject_SetAttr(type.get(), names.forward_cls, args[0]) == 0);
    Object capsule = checked(PyCapsule_New(kind, "adjoint.FunctionKind", nullptr));
    return checked(PyTuple_Pack(2, capsule.get(), type.get())).take();
  });
}

PyMethodDef functions[] = {
    {"_function_base", as_method(py_function_base), METH_FASTCALL, "_function_base(methods, bind, setup_context, ...)"},
    {"_function_kind", as_method(py_function_kind), METH_FASTCALL, "_function_kind(cls, name)"},
    {"_function_apply_here", as_method(py_function_apply_here), METH_FASTCALL | METH_KEYWORDS,
     "Function.apply, with no regard to transforms"},
    {"_function_apply", as_method(py_function_apply), METH_FASTCALL | METH_KEYWORDS, "Function.apply"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void save_function_output_again(Tensor* output) {
  Node* node = output->grad_fn;
  if (!node || !dynamic_cast<const FunctionKind*>(node->kind)) return;
  PyObject* origins = object_in(*node, kOrigins);
  for (Py_ssize_t i = 0; origins && i < PyTuple_GET_SIZE(origins); ++i)
    if (PyLong_AsLong(PyTuple_GET_ITEM(origins, i)) == output_origin(output->output_nr))
      node->saved()[kTensors].list_item(static_cast<size_t>(i)).save_tensor(output, *node);
}

std::optional<FunctionTensors> function_tensors(const Node& node) {
  if (!dynamic_cast<const FunctionKind*>(node.kind)) return {};
  PyObject* origins = object_in(node, kOrigins);
  return FunctionTensors{kTensors, origins ? PyTuple_GET_SIZE(origins) : 0};
}

void init_functions(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
