#include "python/graph_leaves.h"

#include "tape/history.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

Tensor* leaf_of(PyObject* object, const char* verb) {
  if (!is_tensor(object)) fail(ErrorKind::Type, "expected a Tensor; got ", Py_TYPE(object)->tp_name);
  Tensor* tensor = as_tensor(object);
  if (!is_leaf(tensor)) fail("grad_dtype can only be ", verb, " on leaf tensors.");
  return tensor;
}

PyObject* py_grad_dtype(PyObject*, PyObject* object) {
  return guarded([&] {
    std::optional<DType> dtype = grad_dtype_of(leaf_of(object, "accessed"));
    return Py_NewRef(dtype ? dtype_object(*dtype) : Py_None);
  });
}

PyObject* py_set_grad_dtype(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_set_grad_dtype(tensor, dtype)");
    Tensor* leaf = leaf_of(args[0], "set");
    if (args[1] != Py_None && !is_dtype(args[1]))
      fail("grad_dtype must be a torch.dtype or None, but got ", Py_TYPE(args[1])->tp_name);
    std::optional<DType> dtype;
    if (args[1] != Py_None) dtype = to_dtype(args[1]);
    if (Tensor* grad = grad_of(leaf); grad && dtype && grad->dtype != *dtype)
      fail("Cannot set grad_dtype to '", info(*dtype).legacy_name, "' because there is already a gradient with dtype '",
           info(grad->dtype).c_name,
           "'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype "
           "matches the existing gradient's dtype.");
    set_grad_dtype(leaf, dtype);
    Py_RETURN_NONE;
  });
}

/// _swap_tensor_impl(first, second): see utils/__init__.py, which refuses what must not be exchanged.
PyObject* py_swap(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2 || !is_tensor(args[0]) || !is_tensor(args[1]))
      fail(ErrorKind::Type, "_swap_tensor_impl(first, second): two tensors are expected");
    Tensor *first = as_tensor(args[0]), *second = as_tensor(args[1]);
    if (first->weakrefs || second->weakrefs)
      fail("_swap_tensor_impl(): tensors with weak references cannot be swapped");
    if (Py_TYPE(args[0])->tp_basicsize != Py_TYPE(args[1])->tp_basicsize ||
        Py_TYPE(args[0])->tp_basicsize != static_cast<Py_ssize_t>(sizeof(Tensor)))
      fail("Cannot swap t1 and t2 if they have different slots");
    exchange_tensors(first, second);
    Py_RETURN_NONE;
  });
}

PyObject* py_shares_storage(PyObject*, PyObject* object) {
  return guarded([&] {
    if (!is_tensor(object)) fail(ErrorKind::Type, "expected a Tensor; got ", Py_TYPE(object)->tp_name);
    return PyBool_FromLong(as_tensor(object)->storage->refs > 1);
  });
}

PyObject* py_layout_enforced(PyObject*, PyObject*) { return PyBool_FromLong(grad_layout_enforced); }

PyObject* py_set_layout_enforced(PyObject*, PyObject* value) {
  if (!PyBool_Check(value))
    return PyErr_Format(PyExc_TypeError,
                        "set_grad_layout_enforcement_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                        Py_TYPE(value)->tp_name);
  grad_layout_enforced = value == Py_True;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_grad_dtype", py_grad_dtype, METH_O, "The type that gradients of a leaf are cast to, or None."},
    {"_set_grad_dtype", as_method(py_set_grad_dtype), METH_FASTCALL, "_set_grad_dtype(tensor, dtype)"},
    {"_swap_tensor_impl", as_method(py_swap), METH_FASTCALL, "_swap_tensor_impl(first, second)"},
    {"_shares_storage", py_shares_storage, METH_O, "Whether another tensor or saved value is on the same storage."},
    {"_is_grad_layout_enforcement_enabled", py_layout_enforced, METH_NOARGS,
     "Whether .grad always gets the strides of its leaf, in this thread."},
    {"_set_grad_layout_enforcement_enabled", py_set_layout_enforced, METH_O, "Sets that."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_graph_leaves(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
