#include "python/function.h"

#include <algorithm>
#include <cstring>

#include "python/arg.h"
#include "tape/history.h"

namespace adjoint::python {
namespace {

/// Where a saved tensor came from, so that unpacking can tie it to the graph again.
enum Origin : long { kNowhere = -1 };  // >= 0: the tensor argument of this number; <= -2: output -(origin + 2)

Object attribute_or_none(PyObject* object, const char* name) {
  Object value = Object::steal(PyObject_GetAttrString(object, name));
  if (!value) {
    PyErr_Clear();
    return Object::borrow(Py_None);
  }
  return value;
}

bool contains(PyObject* tuple, PyObject* item) {
  if (!PyTuple_Check(tuple)) return false;
  PyObject** items = &PyTuple_GET_ITEM(tuple, 0);
  return std::find(items, items + PyTuple_GET_SIZE(tuple), item) != items + PyTuple_GET_SIZE(tuple);
}

/// The nodes of one Function class. Saved values: the ctx, the argument positions of the edges, the origins of the
/// saved tensors, then the saved tensors.
class FunctionKind final : public NodeKind {
 public:
  explicit FunctionKind(std::string name) : NodeKind(std::move(name)) {}
  enum Saved { kCtx, kPositions, kOrigins, kTensors };

  static PyObject* ctx(const Node& node) { return node.saved()[kCtx].object(); }

  bool runs_on_undefined() const override { return true; }

  void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext&) const override {
    PyObject* context = ctx(node);
    Object materialize = checked(PyObject_GetAttrString(context, "materialize_grads"));
    std::vector<Object> owned;
    std::vector<PyObject*> args = {context};
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      owned.push_back(incoming(node, i, outputs[i], materialize.get() == Py_True));
      args.push_back(owned.back().get());
    }
    Object backward =
        checked(PyObject_GetAttrString(checked(PyObject_GetAttrString(context, "_function")).get(), "_backward"));
    Object answer;
    {
      // For ctx.saved_tensors; not kept, since the node owns the ctx.
      check(PyObject_SetAttrString(context, "_node", as_object(&node)) == 0);
      answer = Object::steal(PyObject_Vectorcall(backward.get(), args.data(), args.size(), nullptr));
      PyObject *type, *value, *traceback;
      PyErr_Fetch(&type, &value, &traceback);
      if (PyObject_SetAttrString(context, "_node", Py_None) != 0) PyErr_Clear();
      PyErr_Restore(type, value, traceback);
      if (!answer) fail_python();
    }
    take_gradients(node, answer.get(), edges);
  }

  void release_saved(Node& node) const override {
    for (uint32_t i = kTensors; i < node.n_saved; ++i) {
      node.saved()[i].clear();
      node.flags |= kReleased;
    }
  }

  Object attribute(Node& node, const char* name) const override {
    if (!std::strcmp(name, "saved_tensors") || !std::strcmp(name, "saved_variables")) return saved_tensors(node);
    if (!PyObject_HasAttrString(ctx(node), name)) return {};
    return checked(PyObject_GetAttrString(ctx(node), name));
  }

  static Object saved_tensors(Node& node) {
    PyObject* origins = node.saved()[kOrigins].object();
    Py_ssize_t n = PyTuple_GET_SIZE(origins);
    if (n > 0 && node.released()) fail_released(node);
    Object tuple = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const SavedValue& value = node.saved()[kTensors + i];
      Object item = Object::borrow(Py_None);
      if (value.is_tensor()) {
        long origin = PyLong_AsLong(PyTuple_GET_ITEM(origins, i));
        Edge self{&node, static_cast<uint32_t>(-(origin + 2))};
        const Edge* edge = origin >= 0 ? &node.edges()[origin] : origin <= -2 ? &self : nullptr;
        item = wrap(value.unpack_with_edge(node, edge));
      }
      PyTuple_SET_ITEM(tuple.get(), i, item.take());
    }
    return tuple;
  }

 private:
  static Object incoming(const Node& node, uint32_t i, const TensorPtr& gradient, bool materialize) {
    if (gradient) return Object::borrow(as_object(gradient.get()));
    const OutputMeta& meta = node.outputs()[i];
    if (!materialize || !meta.shape) return Object::borrow(Py_None);
    TensorPtr zeros = empty(make_shape(meta.shape->size_span()), meta.dtype);
    std::memset(zeros->data, 0, zeros->storage->nbytes);
    return wrap(std::move(zeros));
  }

  /// The gradients that backward returned, one per argument of forward, to the edges.
  void take_gradients(const Node& node, PyObject* answer, TensorPtr* edges) const {
    PyObject* positions = node.saved()[kPositions].object();
    long expected = PyLong_AsLong(PyTuple_GET_ITEM(positions, 0));
    Object single = PyTuple_Check(answer) ? Object::borrow(answer) : checked(PyTuple_Pack(1, answer));
    Py_ssize_t got = PyTuple_GET_SIZE(single.get());
    bool surplus = false;  // further gradients are fine as long as they are None
    for (Py_ssize_t i = expected; i < got; ++i) surplus |= PyTuple_GET_ITEM(single.get(), i) != Py_None;
    if (got < expected || surplus)
      fail("function ", name(), " returned an incorrect number of gradients (expected ", expected, ", got ", got, ")");
    uint32_t edge = 0;
    for (long i = 0; i < expected; ++i) {
      PyObject* gradient = PyTuple_GET_ITEM(single.get(), i);
      bool is_edge = edge < node.n_edges && PyLong_AsLong(PyTuple_GET_ITEM(positions, edge + 1)) == i;
      if (gradient != Py_None) {
        if (!is_edge)
          fail("function ", name(), " returned a gradient different than None at position ", i + 1,
               ", but the corresponding forward input was not a Variable");
        if (!is_tensor(gradient)) fail("expected Variable or None (got ", Py_TYPE(gradient)->tp_name, ")");
        edges[edge] = TensorPtr::borrow(as_tensor(gradient));
      }
      edge += is_edge;
    }
  }
};

constexpr const char* kCapsule = "adjoint.FunctionKind";

/// function_kind(name): what apply needs to make nodes of a Function class; kept by the class.
PyObject* py_function_kind(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    check(text != nullptr);
    // Never freed: nodes may outlive the class.
    return PyCapsule_New(new FunctionKind(text), kCapsule, nullptr);
  });
}

/// Attaches the outputs of a forward to a node, one after the other.
class Outputs {
 public:
  Outputs(Node& node, PyObject* ctx, PyObject* args)
      : node_(node),
        args_(args),
        dirty_(attribute_or_none(ctx, "dirty_tensors")),
        plain_(attribute_or_none(ctx, "non_differentiable")) {}

  /// The object that the user gets for output i.
  Object attach(uint32_t i, PyObject* output) {
    if (!is_tensor(output)) return Object::borrow(output);
    Tensor* tensor = as_tensor(output);
    bool is_input = contains(args_, output);
    if (contains(dirty_.get(), output)) {
      if (!is_input)
        fail(
            "a tensor that was not an input of the Function is marked as dirty; mark_dirty() takes inputs that forward "
            "changed");
      ++returned_dirty_;
      if (requires_grad(tensor) && is_leaf(tensor))
        fail("a leaf Variable that requires grad has been used in an in-place operation.");
      bump_version(tensor, node_.kind->name().c_str());
      set_output_meta(node_, i, tensor);
      set_history(tensor, &node_, i);
      return Object::borrow(output);
    }
    TensorPtr result = is_input ? alias(tensor) : TensorPtr::borrow(tensor);
    forget_base(result.get());
    set_output_meta(node_, i, result.get());
    if (contains(plain_.get(), output) || !is_differentiable(result->dtype)) {
      if (result->grad_fn) detach_in_place(result.get());
    } else {
      set_history(result.get(), &node_, i);
    }
    return wrap(std::move(result));
  }

  void check_dirty() const {
    if (PyTuple_Check(dirty_.get()) && returned_dirty_ != PyTuple_GET_SIZE(dirty_.get()))
      fail(
          "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
          "modified "
          "inplace must all be outputs of the Function.");
  }

 private:
  Node& node_;
  PyObject* args_;
  Object dirty_, plain_;
  Py_ssize_t returned_dirty_ = 0;
};

/// Keeps the tensors of ctx.save_for_backward in the node.
void save_tensors(Node& node, PyObject* to_save, PyObject* args, PyObject* outputs, PyObject* attached) {
  Py_ssize_t n = PyTuple_Check(to_save) ? PyTuple_GET_SIZE(to_save) : 0;
  Object origins = checked(PyTuple_New(n));
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PyTuple_GET_ITEM(to_save, k);
    long origin = kNowhere;
    if (is_tensor(item)) {
      node.saved()[FunctionKind::kTensors + k].save_tensor(as_tensor(item));
      long edge = 0;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
        PyObject* argument = PyTuple_GET_ITEM(args, i);
        if (argument == item) origin = edge;
        edge += is_tensor(argument);
      }
      // An output of forward: also when it is an input that was changed in place.
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
        PyObject* shown = PyTuple_GET_ITEM(attached, i);
        bool own = PyTuple_GET_ITEM(outputs, i) == item && is_tensor(shown) && as_tensor(shown)->grad_fn == &node;
        if (own && (origin == kNowhere || shown == item)) origin = -(static_cast<long>(i) + 2);
      }
    }
    PyTuple_SET_ITEM(origins.get(), k, checked(PyLong_FromLong(origin)).take());
  }
  node.saved()[FunctionKind::kOrigins].save_object(origins.get());
}

/// function_record(kind, ctx, args, outputs): makes the node of a call of a Function; the outputs with their history.
PyObject* py_function_record(PyObject*, PyObject* const* call, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 4 || !PyTuple_Check(call[2]) || !PyTuple_Check(call[3]))
      fail(ErrorKind::Type, "function_record(kind, ctx, args, outputs)");
    auto* kind = static_cast<FunctionKind*>(PyCapsule_GetPointer(call[0], kCapsule));
    check(kind != nullptr);
    PyObject *ctx = call[1], *args = call[2], *outputs = call[3];
    Object to_save = attribute_or_none(ctx, "to_save");
    Py_ssize_t n_args = PyTuple_GET_SIZE(args);
    std::vector<long> positions = {static_cast<long>(n_args)};
    for (Py_ssize_t i = 0; i < n_args; ++i)
      if (is_tensor(PyTuple_GET_ITEM(args, i))) positions.push_back(i);
    auto n_edges = static_cast<uint32_t>(positions.size() - 1);
    auto n_outputs = static_cast<uint32_t>(PyTuple_GET_SIZE(outputs));
    Py_ssize_t n_saved = PyTuple_Check(to_save.get()) ? PyTuple_GET_SIZE(to_save.get()) : 0;
    if (n_saved > 60000) fail("save_for_backward: at most 60000 tensors can be saved; got ", n_saved);

    NodePtr node = make_node(*kind, n_outputs, n_edges, static_cast<uint32_t>(FunctionKind::kTensors + n_saved));
    node->saved()[FunctionKind::kCtx].save_object(ctx);
    Object kept = checked(PyTuple_New(static_cast<Py_ssize_t>(positions.size())));
    for (size_t i = 0; i < positions.size(); ++i)
      PyTuple_SET_ITEM(kept.get(), i, checked(PyLong_FromLong(positions[i])).take());
    node->saved()[FunctionKind::kPositions].save_object(kept.get());
    for (uint32_t e = 0; e < n_edges; ++e) set_edge(*node, e, as_tensor(PyTuple_GET_ITEM(args, positions[e + 1])));

    Outputs attaching(*node, ctx, args);
    Object results = checked(PyTuple_New(n_outputs));
    for (uint32_t i = 0; i < n_outputs; ++i)
      PyTuple_SET_ITEM(results.get(), i, attaching.attach(i, PyTuple_GET_ITEM(outputs, i)).take());
    attaching.check_dirty();
    save_tensors(*node, to_save.get(), args, outputs, results.get());
    return results.take();
  });
}

/// function_saved(node): the tensors saved by ctx.save_for_backward.
PyObject* py_function_saved(PyObject*, PyObject* node) {
  return guarded([&] {
    if (!is_node(node)) fail(ErrorKind::Type, "function_saved() takes a node");
    return FunctionKind::saved_tensors(*reinterpret_cast<Node*>(node)).take();
  });
}

template <class F>
PyCFunction fast(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef functions[] = {
    {"_function_kind", py_function_kind, METH_O, "_function_kind(name)"},
    {"_function_record", fast(py_function_record), METH_FASTCALL, "_function_record(kind, ctx, args, outputs)"},
    {"_function_saved", py_function_saved, METH_O, "The tensors that a custom Function saved."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

uint32_t function_tensors(const Node& node) {
  return dynamic_cast<const FunctionKind*>(node.kind) ? FunctionKind::kTensors : 0;
}

void init_functions(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
