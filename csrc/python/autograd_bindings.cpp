#include "python/autograd_bindings.h"

#include <algorithm>
#include <optional>

#include "core/batched.h"
#include "core/help.h"
#include "core/mode.h"
#include "core/source_line.h"
#include "op/arg.h"
#include "op/recorded.h"
#include "ops/memory.h"
#include "python/node_type.h"
#include "tape/engine.h"
#include "tape/history.h"
#include "tape/hooks.h"
#include "transforms/batch.h"
#include "transforms/wrapped.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

/// Edges whose nodes are owned until the run is over.
class OwnedEdges {
 public:
  ~OwnedEdges() {
    for (const Edge& edge : edges_)
      if (edge.node) release(edge.node);
  }
  void add(Edge owned) { edges_.push_back(owned); }
  const std::vector<Edge>& get() const { return edges_; }

 private:
  std::vector<Edge> edges_;
};

/// A root or an input of backward: a tensor, or a GradientEdge.
struct Place {
  Edge edge;       ///< the node is owned
  Tensor* tensor;  ///< null for a GradientEdge
  const OutputMeta& meta() const { return edge.node->outputs()[edge.index]; }
};

/// GradientEdge(node, output_nr, ownership_token) as a place; nothing for other objects.
std::optional<Place> edge_place(PyObject* object) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) < 2 || !is_node(PyTuple_GET_ITEM(object, 0))) return {};
  auto* node = reinterpret_cast<Node*>(PyTuple_GET_ITEM(object, 0));
  int64_t index = to_int(PyTuple_GET_ITEM(object, 1), "GradientEdge", "output_nr");
  if (index < 0 || index >= node->n_outputs || !node->outputs()[index].shape)
    fail(ErrorKind::Index, "GradientEdge: ", node->kind->name(), " has no output ", index, "; it has ",
         node->n_outputs);
  retain(node);
  return Place{{node, static_cast<uint32_t>(index)}, nullptr};
}

TensorPtr ones_of(Shape* shape, DType dtype, Device device) {
  TensorPtr ones = empty(shape->contiguous ? ShapePtr::borrow(shape) : make_shape(shape->size_span()), dtype, device);
  fill(ones.get(), Scalar::of(int64_t{1}));
  return ones;
}

std::string size_text(const Shape* shape) { return "torch.Size(" + to_string(shape->size_span()) + ")"; }

/// The gradient to start from: given, or 1 for a scalar.
TensorPtr root_gradient(Shape* shape, DType dtype, Device device, PyObject* given, Py_ssize_t index) {
  if (given == Py_None) {
    if (shape->numel != 1)
      fail("grad can be implicitly created only for scalar outputs; got shape ", to_string(shape->size_span()),
           ": reduce the output with sum() or mean(), or pass gradient=");
    if (is_complex(dtype))
      fail("grad can be implicitly created only for real scalar outputs but got torch.", info(dtype).name,
           ": take its real part or abs(), or pass gradient=");
    return ones_of(shape, dtype, device);
  }
  if (!is_tensor(given))
    fail(ErrorKind::Type, "gradients can be either Tensors or None, but got ", Py_TYPE(given)->tp_name,
         "; wrap numbers in torch.tensor()");
  Tensor* grad = as_tensor(given);
  if (place_of(grad->device) != device)
    fail("invalid gradient at index ", index, " - expected device ", device_name(device.type), " but got ",
         device_name(grad->device.type), "; make it with device=output.device");
  if (!same_sizes(grad->shape, shape))
    fail("Mismatch in shape: grad_output[", index, "] has a shape of ", size_text(grad->shape), " and output[", index,
         "] has a shape of ", size_text(shape), ". Give a gradient of the output's shape.");
  if (is_complex(dtype) != is_complex(grad->dtype))
    fail(
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[",
        index, "] has a dtype of torch.", info(grad->dtype).name, " and output[", index, "] has a dtype of torch.",
        info(dtype).name, ". Convert the gradient with to().");
  return grad->dtype == dtype ? TensorPtr::borrow(grad) : cast_recorded(grad, dtype);
}

/// The gradient 1 as the class of a wrapped tensor has it.
TensorPtr like_root(TensorPtr one, Tensor* root) {
  if (!is_wrapped(root)) return one;
  GradModeGuard unrecorded(false);
  static PyObject* asked = python_function("adjoint._wrapped", "ones_like").take();
  Object made = checked(call_python(asked, shown(as_object(root)).get()));
  return TensorPtr::borrow(Arg{made.get(), "ones_like", "gradient"});
}

Place root_place(PyObject* object, Py_ssize_t i) {
  if (std::optional<Place> edge = edge_place(object)) return *edge;
  if (!is_tensor(object))
    fail(ErrorKind::Type, "expected Tensor or GradientEdge as element ", i, " of the outputs, but got ",
         Py_TYPE(object)->tp_name);
  Tensor* root = as_tensor(object);
  if (!requires_grad(root))
    fail("element ", i,
         " of tensors does not require grad and does not have a grad_fn: nothing that it was computed from has "
         "requires_grad=True, or it was computed under no_grad() or detached");
  return {gradient_edge(root), root};
}

Place input_place(PyObject* object, Py_ssize_t i) {
  if (std::optional<Place> edge = edge_place(object)) return *edge;
  if (!is_tensor(object))
    fail("all inputs have to be Tensors or GradientEdges, but got ", Py_TYPE(object)->tp_name, " as element ", i);
  Tensor* input = as_tensor(object);
  if (!requires_grad(input))
    fail("One of the differentiated Tensors does not require grad: input ", i,
         " has requires_grad=False; call requires_grad_() on it before computing the output");
  return {gradient_edge(input), input};
}

/// A flag, for which torch takes any integer.
bool to_flag(PyObject* object) {
  if (PyBool_Check(object)) return object == Py_True;
  if (!PyIndex_Check(object))
    fail(ErrorKind::Type, "'", Py_TYPE(object)->tp_name,
         "' object cannot be interpreted as an integer: retain_graph, create_graph and allow_unused are True or False");
  return PyObject_IsTrue(checked(PyNumber_Index(object)).get()) == 1;
}

/// run_backward(roots, gradients, retain_graph, create_graph, inputs, accumulate, allow_unused): tuples in; the
/// gradients of `inputs` out when not accumulating.
PyObject* run(PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 7) fail(ErrorKind::Type, "run_backward() takes 7 arguments");
  PyObject *roots = args[0], *gradients = args[1], *inputs = args[4];
  if (!PyTuple_Check(roots) || !PyTuple_Check(gradients) || PyTuple_GET_SIZE(roots) != PyTuple_GET_SIZE(gradients))
    fail(ErrorKind::Type, "run_backward(): roots and gradients must be tuples of one length");
  if (inputs != Py_None && !PyTuple_Check(inputs)) fail(ErrorKind::Type, "run_backward(): inputs must be a tuple");
  BackwardRequest request;
  request.retain_graph = to_flag(args[2]);
  request.create_graph = to_flag(args[3]);
  request.accumulate = args[5] == Py_True;
  bool allow_unused = to_flag(args[6]);

  OwnedEdges owned;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(roots); ++i) {
    Place root = root_place(PyTuple_GET_ITEM(roots, i), i);
    owned.add(root.edge);
    Shape* shape = root.tensor ? root.tensor->shape : root.meta().shape;
    DType dtype = root.tensor ? root.tensor->dtype : root.meta().dtype;
    Device device = place_of(root.tensor ? root.tensor->device : root.meta().device);
    TensorPtr gradient = root_gradient(shape, dtype, device, PyTuple_GET_ITEM(gradients, i), i);
    if (root.tensor && is_batched(root.tensor) && PyTuple_GET_ITEM(gradients, i) == Py_None)
      gradient = like_root(std::move(gradient), root.tensor);
    // A leaf may have another type for its gradients than its own.
    if (gradient->dtype != root.meta().dtype && accumulated_leaf(*root.edge.node) && !root.meta().any_dtype)
      gradient = cast_recorded(gradient.get(), root.meta().dtype);
    request.gradients.push_back(std::move(gradient));
    request.roots.push_back(root.edge);
  }
  if (inputs != Py_None) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i) {
      PyObject* item = PyTuple_GET_ITEM(inputs, i);
      // As in torch, a non-leaf that is asked for keeps its gradient from now on.
      if (request.accumulate && is_tensor(item)) retain_grad(as_tensor(item));
      Place input = input_place(item, i);
      owned.add(input.edge);
      request.inputs.push_back(input.edge);
    }
  }
  std::vector<TensorPtr> results = run_backward(request);
  if (request.accumulate) Py_RETURN_NONE;
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] && !allow_unused)
      fail("The differentiated Tensor at index ", i,
           " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior: its "
           "gradient is then None.");
    PyTuple_SET_ITEM(tuple.get(), i, results[i] ? as_object(results[i].take()) : Py_NewRef(Py_None));
  }
  return tuple.take();
}

PyObject* py_run_backward(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] { return run(args, nargs); });
}

PyObject* py_is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }
PyObject* py_set_grad_enabled(PyObject*, PyObject* value) {
  if (!PyBool_Check(value))
    return PyErr_Format(PyExc_TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                        Py_TYPE(value)->tp_name);
  mode_flags = value == Py_True ? mode_flags & ~kGradDisabled : mode_flags | kGradDisabled;
  Py_RETURN_NONE;
}

PyObject* py_mode_flags(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(mode_flags); }
PyObject* py_set_mode_flags(PyObject*, PyObject* value) {
  unsigned long flags = PyLong_AsUnsignedLong(value);
  if (PyErr_Occurred()) return nullptr;
  restore_modes(static_cast<uint32_t>(flags));
  Py_RETURN_NONE;
}

PyObject* py_set_package_path(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (!text) return nullptr;
  adjoint_set_package_path(text);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"run_backward", as_method(py_run_backward), METH_FASTCALL,
     "run_backward(roots, gradients, retain_graph, create_graph, inputs, accumulate, allow_unused)"},
    {"is_grad_enabled", py_is_grad_enabled, METH_NOARGS, help::kIsGradEnabled},
    {"_set_grad_enabled", py_set_grad_enabled, METH_O, "Sets whether operations are recorded in this thread."},
    {"_set_package_path", py_set_package_path, METH_O, "Code in files under this path is not the user's."},
    {"_mode_flags", py_mode_flags, METH_NOARGS, "The thread's mode flags as one number."},
    {"_set_mode_flags", py_set_mode_flags, METH_O, "Sets the thread's mode flags."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_autograd(PyObject* module) {
  PyTypeObject* node_type = init_nodes();
  check(node_type != nullptr);
  check(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_type)) == 0);
  check(PyModule_AddFunctions(module, functions) == 0);
  check(PyModule_AddIntConstant(module, "_GRAD_DISABLED", kGradDisabled) == 0);
  check(PyModule_AddIntConstant(module, "_INFERENCE_MODE", kInferenceMode) == 0);
}

}  // namespace adjoint::python
