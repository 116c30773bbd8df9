// torch.memory_format and torch.layout: the types and their few objects.
#pragma once

#include <optional>

#include "core/guard.h"
#include "core/memory_format.h"
#include "core/sparse.h"

namespace adjoint {

/// The format that an object of torch.memory_format stands for; nothing for other objects.
std::optional<MemoryFormat> to_memory_format(PyObject* object);
/// The object of torch.memory_format that stands for a format (borrowed).
PyObject* format_object(MemoryFormat format);
/// The objects torch.strided, torch.sparse_coo and so on (borrowed), in the order of `Layout`.
PyObject* layout_object(Layout layout);
Layout to_layout(PyObject* object);
bool is_layout(PyObject* object);
bool is_strided(PyObject* layout);

/// Adds torch.contiguous_format, torch.strided and so on to the module.
void init_formats(PyObject* module);

}  // namespace adjoint
