// Reads what an op declares in src/adjoint/ops: a Declaration of Python becomes an Op.
#pragma once

#include <memory>
#include <string>

#include "op/op.h"

namespace adjoint {

/// What a Declaration says: one of its attributes, which may be true or false, or a text.
Object option(PyObject* declaration, const char* name);
bool truth(const Object& object);
std::string text(PyObject* object);

/// The op of a Declaration, whose node has this name.
std::unique_ptr<Op> read_declaration(PyObject* declaration, const std::string& node);

/// The number of the argument that has this name, or -1.
int slot_of(const Op& op, std::string_view name);

}  // namespace adjoint
