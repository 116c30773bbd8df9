// Composites in C++: shape functions that choose among the views and copies of the table, and record through them.
#pragma once

#include <optional>

#include "core/guard.h"
#include "core/memory_format.h"

namespace adjoint::composed {

/// Sizes or a dtype: x.view(2, 3), x.view(torch.int32).
Object view(PyObject* input, PyObject* size, PyObject* dtype);
/// A view where the memory allows it, else a contiguous copy.
Object reshape(PyObject* input, PyObject* shape);
Object flatten(PyObject* input, int64_t start_dim, int64_t end_dim);
Object squeeze(PyObject* input, PyObject* dim);
/// The tensor itself when it lies in memory as asked, else a clone that does.
Object contiguous(PyObject* input, std::optional<MemoryFormat> memory_format);
/// A gradient with the strides of one of the two formats, in which it mostly is already.
Object laid_out(PyObject* input, bool channels_last);
Object as_strided_in_storage(PyObject* input, PyObject* size, PyObject* stride, std::optional<int64_t> storage_offset);
/// x.T and x.mT: all dimensions reversed; the last two swapped.
Object numpy_T(PyObject* input);
Object mT(PyObject* input);
Object narrow(PyObject* input, PyObject* dim, PyObject* first, int64_t length);
/// Parts of one size, or of the sizes in a sequence; at most `chunks` parts of equal size.
Object split(PyObject* input, PyObject* split_size, PyObject* dim);
Object chunk(PyObject* input, int64_t chunks, PyObject* dim);
Object unsafe_chunk(PyObject* input, int64_t chunks, PyObject* dim);

}  // namespace adjoint::composed
