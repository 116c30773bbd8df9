#include "python/sparse_bindings.h"

#include "core/mode.h"
#include "op/arg.h"
#include "op/sparse.h"
#include "tape/change.h"
#include "tape/history.h"
#include "types/formats.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

Tensor* sparse_of(PyObject* object, const char* function) {
  if (!is_tensor(object) || !is_sparse(as_tensor(object)))
    fail(ErrorKind::Type, function, "(): expected a sparse tensor, got ",
         is_tensor(object) ? "a dense one" : Py_TYPE(object)->tp_name);
  return as_tensor(object);
}

/// _sparse_tensor(values, pattern, layout, size): a sparse tensor without history. The caller answers for the pattern.
PyObject* py_sparse_tensor(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 4 || !is_tensor(args[0]) || is_sparse(as_tensor(args[0])))
      fail(ErrorKind::Type, "_sparse_tensor() takes a dense tensor, a pattern, a layout and sizes");
    if (is_batched(as_tensor(args[0])))
      fail(
          ErrorKind::NotImplemented,
          "vmap: a sparse tensor cannot have values that differ from element to element of a batch; make it dense with "
          "to_dense(), or write a loop");
    Ints sizes = Arg{args[3], "_sparse_tensor", "size"};
    return as_object(make_sparse(as_tensor(args[0]), args[1], to_layout(args[2]), sizes).take());
  });
}

PyObject* py_sparse_values(PyObject*, PyObject* object) {
  return guarded([&] { return as_object(alias(sparse_storage(sparse_of(object, "_sparse_values"))->values).take()); });
}

PyObject* py_sparse_pattern(PyObject*, PyObject* object) {
  return guarded([&] { return Py_NewRef(sparse_storage(sparse_of(object, "_sparse_pattern"))->pattern); });
}

/// _sparse_assign(target, source, function): target becomes source, with its history, as a change in place.
PyObject* py_sparse_assign(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3 || !PyUnicode_Check(args[2])) fail(ErrorKind::Type, "_sparse_assign() takes 3 arguments");
    Tensor *target = sparse_of(args[0], "_sparse_assign"), *source = sparse_of(args[1], "_sparse_assign");
    const char* name = PyUnicode_AsUTF8(args[2]);
    check(name != nullptr);
    const bool recorded = requires_grad(target) || requires_grad(source);
    check_inplace(target, name, recorded);
    assign_sparse(target, source);
    forget_parked_accumulator(target);
    bump_version(target, name);
    if (source->grad_fn && recording()) set_history(target, source->grad_fn, source->output_nr);
    return Py_NewRef(args[0]);
  });
}

/// _call_bound(name, arguments): calls an op with all of its arguments, in their order.
PyObject* py_call_bound(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]))
      fail(ErrorKind::Type, "_call_bound() takes the name of an op and a tuple");
    Op* op = find_op(PyUnicode_AsUTF8(args[0]));
    if (!op || PyTuple_GET_SIZE(args[1]) != op->count) fail(ErrorKind::Type, "_call_bound(): no such op or arguments");
    return op->call(PySequence_Fast_ITEMS(args[1])).take();
  });
}

/// _check_in_place(target, function): refuses a change that could not be recorded.
PyObject* py_check_in_place(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2 || !is_tensor(args[0]) || !PyUnicode_Check(args[1]))
      fail(ErrorKind::Type, "_check_in_place() takes a tensor and a name");
    check_inplace(as_tensor(args[0]), PyUnicode_AsUTF8(args[1]), requires_grad(as_tensor(args[0])));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_sparse_tensor", as_method(py_sparse_tensor), METH_FASTCALL, "A sparse tensor of values and a pattern."},
    {"_sparse_values", py_sparse_values, METH_O, "The values of a sparse tensor, on their memory, without history."},
    {"_sparse_pattern", py_sparse_pattern, METH_O, "The pattern of a sparse tensor."},
    {"_sparse_assign", as_method(py_sparse_assign), METH_FASTCALL, "Changes a sparse tensor in place."},
    {"_call_bound", as_method(py_call_bound), METH_FASTCALL, "Calls an op with all of its arguments."},
    {"_check_in_place", as_method(py_check_in_place), METH_FASTCALL, "Refuses a change in place that is not allowed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_sparse(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
