#include "python/running.h"

#include <vector>

#include "op/arg.h"
#include "transforms/batch.h"

namespace adjoint::python {
namespace {

struct RunningFunction {
  Object transform;  ///< as Python knows it; null: of a vmap, which nobody has asked for yet
  Running kind;
  uint64_t level = 0;  ///< of a vmap
};

/// Those of this thread, outermost first. On the heap: see TransformStack.
thread_local std::vector<RunningFunction>* thread_runnings = nullptr;

std::vector<RunningFunction>& runnings() {
  if (!thread_runnings) thread_runnings = new std::vector<RunningFunction>;
  return *thread_runnings;
}

void begin(RunningFunction function) {
  running = function.kind;
  runnings().push_back(std::move(function));
}

void end() {
  if (runnings().empty()) return;
  Object ended = std::move(runnings().back().transform);
  runnings().pop_back();
  running = runnings().empty() ? Running::Nothing : runnings().back().kind;
}

/// _begin_running(transform, kind): it runs a function from here on.
PyObject* py_begin_running(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_begin_running() takes a transform and its kind");
    begin({Object::borrow(args[0]), static_cast<Running>(to_int(args[1], "_begin_running", "kind"))});
    Py_RETURN_NONE;
  });
}

/// _end_running(): the innermost one does no longer.
PyObject* py_end_running(PyObject*, PyObject*) {
  end();
  Py_RETURN_NONE;
}

/// The object that Python knows a running vmap by.
Object vmap_object(uint64_t level) {
  static PyObject* type = python_function("adjoint._running", "Running").take();
  return checked(PyObject_CallFunction(type, "sK", "vmap", static_cast<unsigned long long>(level)));
}

/// _runnings(): those that do.
PyObject* py_runnings(PyObject*, PyObject*) {
  return guarded([&] {
    Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(runnings().size())));
    for (size_t i = 0; i < runnings().size(); ++i) {
      if (!runnings()[i].transform) runnings()[i].transform = vmap_object(runnings()[i].level);
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(runnings()[i].transform.get()));
    }
    return tuple.take();
  });
}

PyMethodDef functions[] = {
    {"_begin_running", as_method(py_begin_running), METH_FASTCALL, "A transform runs a function from here on."},
    {"_end_running", py_end_running, METH_NOARGS, "The innermost transform has run its function."},
    {"_runnings", py_runnings, METH_NOARGS, "The transforms that run functions in this thread, outermost first."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

RunningVmap::RunningVmap(uint64_t level) { begin({Object(), Running::Vmap, level}); }
RunningVmap::~RunningVmap() { end(); }

void init_running(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
