// Which module made a node, or called an op: the calls that run, and a short log of those that recorded something.
#pragma once

#include <Python.h>

#include <cstdint>

namespace adjoint::python {

/// A call of a module, while it runs. Nodes are numbered as they are made: first and last number tell which are its
/// own.
class ModuleCall {
 public:
  explicit ModuleCall(PyObject* module);
  ~ModuleCall();
  ModuleCall(const ModuleCall&) = delete;
  ModuleCall& operator=(const ModuleCall&) = delete;
  /// Keeps the call in the log, when it has made nodes.
  void log() const noexcept;

 private:
  friend PyObject* running_module();
  PyObject* module_;  // borrowed: the caller holds it
  uint64_t first_;
  ModuleCall* outer_;
};

/// The module whose forward this thread is in (borrowed), or null.
PyObject* running_module();

void init_module_calls(PyObject* module);

}  // namespace adjoint::python
