#include "python/module_calls.h"

#include "core/guard.h"
#include "core/mode.h"
#include "tape/node.h"

namespace adjoint::python {
namespace {

thread_local ADJOINT_FAST_TLS constinit ModuleCall* innermost = nullptr;

/// A call that is over: the nodes `first` to `end` were made in it, unless another thread made them meanwhile.
struct Logged {
  PyObject* module;  ///< weak reference, owned
  uint64_t first, end;
  const void* thread;
};
constexpr size_t kRoom = 4096;  // the newest are kept: as many as a large network's step has
Logged calls[kRoom];
size_t written = 0;

/// _module_calls(): [(weak reference to the module, first node, end, thread)], in the order in which the calls ended.
PyObject* py_module_calls(PyObject*, PyObject*) {
  return guarded([&] {
    Object list = checked(PyList_New(0));
    for (size_t i = written > kRoom ? written - kRoom : 0; i < written; ++i) {
      const Logged& call = calls[i % kRoom];
      Object row =
          checked(Py_BuildValue("(OKKn)", call.module, static_cast<unsigned long long>(call.first),
                                static_cast<unsigned long long>(call.end), reinterpret_cast<Py_ssize_t>(call.thread)));
      check(PyList_Append(list.get(), row.get()) == 0);
    }
    return list.take();
  });
}

PyMethodDef functions[] = {
    {"_module_calls", py_module_calls, METH_NOARGS, "The latest calls of modules that recorded nodes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

ModuleCall::ModuleCall(PyObject* module) : module_(module), first_(next_sequence_number()), outer_(innermost) {
  innermost = this;
}

ModuleCall::~ModuleCall() { innermost = outer_; }

void ModuleCall::log() const noexcept {
  const uint64_t end = next_sequence_number();
  if (end == first_) return;
  PyObject* weak = PyWeakref_NewRef(module_, nullptr);
  if (!weak) return PyErr_Clear();
  Logged& call = calls[written++ % kRoom];
  PyObject* old = call.module;
  call = {weak, first_, end, &innermost};
  Py_XDECREF(old);
}

PyObject* running_module() { return innermost ? innermost->module_ : nullptr; }

void init_module_calls(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
