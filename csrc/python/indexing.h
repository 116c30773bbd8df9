// Python's x[key] and x[key] = value, with torch's meaning of every kind of key.
#pragma once

#include "core/tensor.h"

namespace adjoint::python {

/// Views for integers, slices, None and Ellipsis; a copy through the op `index` for masks, lists and index tensors.
Object get_item(Tensor* self, PyObject* key);
/// Writes into the view that the basic part of the key names, by copy_ or index_put_.
void set_item(Tensor* self, PyObject* key, PyObject* value);

}  // namespace adjoint::python
