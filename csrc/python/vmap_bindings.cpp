#include "python/vmap_bindings.h"

#include <vector>

#include "python/levels.h"
#include "python/running.h"
#include "transforms/batch.h"

namespace adjoint::python {
namespace {

Batch::Randomness to_randomness(PyObject* word) {
  if (!PyUnicode_Check(word)) fail(ErrorKind::Type, "vmap: expected a word for randomness");
  if (PyUnicode_CompareWithASCIIString(word, "same") == 0) return Batch::Randomness::Same;
  if (PyUnicode_CompareWithASCIIString(word, "different") == 0) return Batch::Randomness::Different;
  return Batch::Randomness::Error;
}

Object batched_input(Tensor* value, const Batch& level) {
  if (value->ndim() == 0 || value->size(0) != level.size())
    fail("_batch(): expected a tensor whose first dimension is the batch");
  return wrap(make_batched(TensorPtr::borrow(value), level.number(), false));
}

/// A level that is open while this lives.
class OpenBatch {
 public:
  OpenBatch(int64_t size, Batch::Randomness randomness) : level_(make_ref<Batch>(size, randomness)) {
    open_level(level_);
  }
  ~OpenBatch() {
    // What dies with the level may run code of the program, which must not see an error on its way out.
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    close_level(level_->number());
    level_.reset();
    PyErr_Restore(type, value, traceback);
  }
  OpenBatch(const OpenBatch&) = delete;
  OpenBatch& operator=(const OpenBatch&) = delete;
  Batch& operator*() const { return *level_; }

 private:
  Ref<Batch> level_;
};

/// function(*values, **kwargs), with one example in the place of each tensor that `dims` has not None for.
Object run_function(PyObject* function, PyObject* values, PyObject* dims, PyObject* kwargs, const Batch& level) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(values);
  std::vector<Object> inputs;
  std::vector<PyObject*> args(static_cast<size_t>(n) + 1);  // the first place is the callee's
  inputs.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* value = PySequence_Fast_GET_ITEM(values, i);
    const bool mapped = dims == Py_None || PySequence_Fast_GET_ITEM(dims, i) != Py_None;
    inputs.push_back(mapped ? batched_input(Arg{value, "vmap", "value"}, level) : Object::borrow(value));
    args[static_cast<size_t>(i) + 1] = inputs.back().get();
  }
  RunningVmap runs(level.number());
  const size_t count = static_cast<size_t>(n) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return checked(
      PyObject_VectorcallDict(function, args.data() + 1, count, PyDict_GET_SIZE(kwargs) > 0 ? kwargs : nullptr));
}

/// _common_size(values): the size of the first dimension, where all are tensors and have the same one; None otherwise.
PyObject* py_common_size(PyObject*, PyObject* values) {
  return guarded([&]() -> PyObject* {
    if (!is_sequence(values)) fail(ErrorKind::Type, "_common_size() takes a sequence");
    int64_t size = -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(values); ++i) {
      PyObject* value = PySequence_Fast_GET_ITEM(values, i);
      if (!is_tensor(value) || as_tensor(value)->ndim() == 0) Py_RETURN_NONE;
      const int64_t one = as_tensor(value)->size(0);
      if (size >= 0 && one != size) Py_RETURN_NONE;
      size = one;
    }
    if (size < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(size);
  });
}

/// _run_batch(function, size, values, dims, kwargs, randomness, out_dims, finish): one pass over values whose first
/// dimension is the batch; where `dims` (None: all have a batch) has None, all examples share the value. A tensor that
/// `out_dims` has 0 for is given with the batch first. Of other outputs the result is finish(outputs, level).
PyObject* py_run_batch(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    const bool fits = nargs == 8 && is_sequence(args[2]) && PyDict_Check(args[4]) &&
                      (args[3] == Py_None || (is_sequence(args[3]) &&
                                              PySequence_Fast_GET_SIZE(args[3]) == PySequence_Fast_GET_SIZE(args[2])));
    if (!fits)
      fail(ErrorKind::Type,
           "_run_batch() takes a function, a size, values, dims, kwargs, a word, out_dims, a function");
    OpenBatch open(to_int(args[1], "_run_batch", "size"), to_randomness(args[5]));
    const Batch& level = *open;
    Object outputs = run_function(args[0], args[2], args[3], args[4], level);
    const bool first = PyLong_CheckExact(args[6]) && PyLong_AsLong(args[6]) == 0;
    if (first && is_tensor(outputs.get())) return wrap(level.expanded(as_tensor(outputs.get()))).take();
    PyErr_Clear();  // of a number that is too large
    Object number = number_object(level.number());
    return checked(PyObject_CallFunctionObjArgs(args[7], outputs.get(), number.get(), nullptr)).take();
  });
}

/// _open_batch(size, randomness): the number of a new level of vmap.
PyObject* py_open_batch(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_open_batch() takes a size and a kind of randomness");
    auto level = make_ref<Batch>(to_int(args[0], "_open_batch", "size"), to_randomness(args[1]));
    open_level(level);
    return number_object(level->number()).take();
  });
}

/// _batch(value, level): a batched tensor that shows what lies along the first dimension.
PyObject* py_batch(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_batch() takes a tensor and a level");
    return batched_input(Arg{args[0], "_batch", "value"}, level_of<Batch>(args[1], "_batch")).take();
  });
}

/// _unbatch(tensor, level): its value; of a tensor that is not batched there, as many of it as there are elements.
PyObject* py_unbatch(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_unbatch() takes a tensor and a level");
    Batch& level = level_of<Batch>(args[1], "_unbatch");
    return wrap(level.expanded(Arg{args[0], "_unbatch", "tensor"})).take();
  });
}

/// _batch_level(tensor): (level, value, whether that is one for all elements) of a batched tensor, or None.
PyObject* py_batch_level(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    Tensor* tensor = Arg{object, "_batch_level", "tensor"};
    if (!is_batched(tensor) || is_wrapped(tensor)) Py_RETURN_NONE;
    return Py_BuildValue("(KOO)", static_cast<unsigned long long>(batched_level(tensor)),
                         as_object(batched_value(tensor)), is_shared(tensor) ? Py_True : Py_False);
  });
}

/// _note_mapped(function): what a vmap that is over has run.
PyObject* py_note_mapped(PyObject*, PyObject* function) {
  note_mapped_function(function);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_common_size", py_common_size, METH_O, "The size of the first dimension of all tensors."},
    {"_run_batch", as_method(py_run_batch), METH_FASTCALL, "Runs a function once for a batch."},
    {"_open_batch", as_method(py_open_batch), METH_FASTCALL, "Opens a level of vmap."},
    {"_batch", as_method(py_batch), METH_FASTCALL, "What lies along the first dimension, as one tensor."},
    {"_unbatch", as_method(py_unbatch), METH_FASTCALL, "The value of a batched tensor."},
    {"_batch_level", py_batch_level, METH_O, "The level and the value of a batched tensor."},
    {"_note_mapped", py_note_mapped, METH_O, "Keeps which function a vmap has run, for errors."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_vmap(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
