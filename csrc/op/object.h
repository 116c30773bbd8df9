// The Python face of an op: one callable object that is function, method and in-place method.
#pragma once

#include "op/op.h"

namespace adjoint {

/// Calls op(a, b) for a number slot such as `a * b`; NotImplemented when an operand is neither tensor nor number.
PyObject* call_binary(Op& op, PyObject* a, PyObject* b);
/// a *= b.
PyObject* call_binary_in_place(Op& op, PyObject* a, PyObject* b);

/// The op behind a callable; throws where there is none.
Op& op_of(PyObject* callable);
/// The callable of this name, op or composite (borrowed).
PyObject* op_callable(const char* name);
/// The callable of an op (borrowed).
PyObject* op_object_of(const Op& op);

/// Whether torch has this op object as a function of Python, which hands its arguments on by name.
bool is_written_in_python(PyObject* callable);

/// An op that C++ calls often, looked up once: cached_op("add", [] {}), where each such function is a type of its own.
template <class Tag>
Op& cached_op(const char* name, Tag) {
  static Op& op = require_op(name);
  return op;
}

/// The tensor that an op returned.
inline TensorPtr as_result(Object object) { return TensorPtr::steal(as_tensor(object.take())); }

/// Calls an op by its bound arguments, the remaining ones taking their defaults.
Object call_op(Op& op, std::initializer_list<PyObject*> args);

}  // namespace adjoint
