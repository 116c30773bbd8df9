// Calls with sparse arguments: they leave the way of plain tensors for the handlers in src/adjoint/sparse.
#pragma once

#include <initializer_list>

#include "core/sparse.h"
#include "op/op.h"

namespace adjoint {

/// Whether one of the arguments, or of the items of a list among them, is sparse.
bool any_sparse(PyObject* const* slots, size_t n);

/// Note [Handlers]: a call of an op goes, with all of its arguments, to the function that src/adjoint/sparse/_calls.py
/// has for the op. One in its table CALLS is made of other recorded ops, and so is its history. One in RULED only
/// computes: it gets arguments without history, the call is recorded as one of the op, and backward runs the op's own
/// rules on whatever comes, dense or sparse. Without one there is an error that names the function.
Object call_sparse(const Op& op, PyObject* const* slots);
void change_sparse(const Op& op, PyObject* const* slots);
/// The handler of a composite (borrowed), or null: it is made of ops that have one each.
PyObject* sparse_composite(PyObject* name);
/// What another place has handled for it, by name, such as indexing.
Object handle_sparse(const char* name, std::initializer_list<PyObject*> args);

}  // namespace adjoint
