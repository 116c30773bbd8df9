#include "python/error_node.h"

#include "op/arg.h"
#include "tape/history.h"

namespace adjoint::python {
namespace {

class DelayedError final : public NodeKind {
 public:
  DelayedError() : NodeKind("Error") {}
  void apply(Node& node, TensorPtr*, TensorPtr*, const ApplyContext&) const override {
    const char* text = PyUnicode_AsUTF8(node.saved()[0].object());
    check(text != nullptr);
    fail(text);
  }
};
const DelayedError delayed_error;

/// _delayed_error(message, values): the values of a tuple, its tensors with a history that raises the message.
PyObject* py_delayed_error(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]))
      fail(ErrorKind::Type, "_delayed_error(message, values)");
    auto n = static_cast<uint32_t>(PyTuple_GET_SIZE(args[1]));
    NodePtr node = make_error_node(args[0], n, n);
    Object results = checked(PyTuple_New(n));
    for (uint32_t i = 0; i < n; ++i) {
      PyObject* value = PyTuple_GET_ITEM(args[1], i);
      if (!is_tensor(value) || !is_differentiable(as_tensor(value)->dtype)) {
        PyTuple_SET_ITEM(results.get(), i, Py_NewRef(value));
        continue;
      }
      // A leaf of its own at the other end, as in torch.
      TensorPtr input = alias(as_tensor(value)), result = alias(as_tensor(value));
      input->flags |= kRequiresGrad;
      set_edge(*node, i, input.get());
      set_output_meta(*node, i, result.get());
      set_history(result.get(), node.get(), i);
      PyTuple_SET_ITEM(results.get(), i, wrap(std::move(result)).take());
    }
    return results.take();
  });
}

PyMethodDef functions[] = {
    {"_delayed_error", as_method(py_delayed_error), METH_FASTCALL, "_delayed_error(message, values)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

NodePtr make_error_node(PyObject* message, uint32_t n_outputs, uint32_t n_edges) {
  NodePtr node = make_node(delayed_error, n_outputs, n_edges, 1);
  node->saved()[0].save_object(message);
  return node;
}

void init_error_node(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
