// Functions that make tensors from Python data.
#pragma once

#include "ops/creation.h"
#include "ops/numbers.h"
#include "python/keywords.h"
#include "types/formats.h"

namespace adjoint::python {

/// Refuses requires_grad for types that have no gradient.
void check_requires_grad(DType dtype, bool requires_grad);
/// The last step of every creation function: marks the new tensor as the options say.
Object finish(TensorPtr tensor, const Options& options);
/// Warns once, in grad mode, that a number taken from a tensor that requires grad has no gradient.
void warn_scalar_of_grad(Tensor* tensor);

/// torch.tensor(data): a new tensor with the values of numbers, nested sequences, arrays or a tensor.
TensorPtr tensor_from_data(PyObject* data, std::optional<DType> dtype);
/// torch.Tensor(2, 3), torch.Tensor([1, 2]), torch.Tensor(): sizes, data, memory or another tensor, in the default
/// type; (or in `type`); `model`: the tensor whose new() it is.
TensorPtr legacy_new(PyObject* args, PyObject* keywords, std::optional<DType> type = std::nullopt,
                     Tensor* model = nullptr);

/// The functions of the files that make up creation: data, and the constructors of old.
extern PyMethodDef data_functions[];
extern PyMethodDef legacy_functions[];
/// new() and new_tensor(), to be methods of Tensor.
extern PyMethodDef creation_methods[];
PyObject* new_tensor(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

void init_creation(PyObject* module);

}  // namespace adjoint::python
