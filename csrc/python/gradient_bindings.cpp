#include "python/gradient_bindings.h"

#include <limits>
#include <vector>

#include "core/guard.h"
#include "cuda/updates.h"
#include "python/interop.h"
#include "tape/change.h"

namespace adjoint::python {
namespace {

/// _unscale(gradients, inverse, found): multiplies gradients on a GPU by the number in `inverse`, and sets `found` to
/// one where they are not finite. Returns those that it leaves alone.
PyObject* py_unscale(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 3 || !PyList_Check(args[0]) || !is_tensor(args[1]) || !is_tensor(args[2]))
      fail(ErrorKind::Type, "_unscale: expected a list of gradients and two tensors");
    const Tensor *inverse = as_tensor(args[1]), *found = as_tensor(args[2]);
    const Device device = found->device;
    const bool fits = device == DeviceType::Cuda && inverse->device == device && inverse->numel() == 1 &&
                      found->numel() == 1 && inverse->dtype == DType::Float32 && found->dtype == DType::Float32;
    Object left = checked(PyList_New(0));
    std::vector<Tensor*> taken;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); ++i) {
      PyObject* item = PyList_GET_ITEM(args[0], i);
      Tensor* tensor = is_tensor(item) ? as_tensor(item) : nullptr;
      if (fits && tensor && tensor->device == device && is_dense(tensor->shape) &&
          !(tensor->flags & kInferenceTensor) && cuda::is_updated(tensor->dtype)) {
        taken.push_back(tensor);
      } else {
        check(PyList_Append(left.get(), item) == 0);
      }
    }
    for (DType dtype : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64}) {
      std::vector<char*> arrays;
      std::vector<int64_t> sizes;
      for (Tensor* tensor : taken) {
        const bool complex = is_complex(tensor->dtype);
        if ((complex ? real_type(tensor->dtype) : tensor->dtype) != dtype) continue;
        bump_version(tensor, "unscale_");
        arrays.push_back(tensor->data);
        sizes.push_back(tensor->numel() * (complex ? 2 : 1));
      }
      cuda::unscale(device, dtype, arrays, sizes, reinterpret_cast<const float*>(inverse->data),
                    reinterpret_cast<float*>(found->data));
    }
    return left.take();
  });
}

/// _norms(tensors, order): the norms of tensors on a GPU as one tensor; None where they are not alike, or not there.
PyObject* py_norms(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2 || !PyList_Check(args[0])) fail(ErrorKind::Type, "_norms: expected a list of tensors and an order");
    const double order = PyFloat_AsDouble(args[1]);
    check(order != -1 || !PyErr_Occurred());
    const int64_t count = PyList_GET_SIZE(args[0]);
    std::vector<char*> arrays;
    std::vector<int64_t> sizes;
    const Tensor* first =
        count && is_tensor(PyList_GET_ITEM(args[0], 0)) ? as_tensor(PyList_GET_ITEM(args[0], 0)) : nullptr;
    if (!first || first->device != DeviceType::Cuda ||
        (first->dtype != DType::Float32 && first->dtype != DType::Float64))
      Py_RETURN_NONE;
    if (order != 1 && order != 2 && order != std::numeric_limits<double>::infinity()) Py_RETURN_NONE;
    for (int64_t i = 0; i < count; ++i) {
      PyObject* item = PyList_GET_ITEM(args[0], i);
      const Tensor* tensor = is_tensor(item) ? as_tensor(item) : nullptr;
      if (!tensor || tensor->device != first->device || tensor->dtype != first->dtype || !is_dense(tensor->shape))
        Py_RETURN_NONE;
      if (order > 2 && tensor->numel() == 0) Py_RETURN_NONE;  // which has no greatest element
      arrays.push_back(tensor->data);
      sizes.push_back(tensor->numel());
    }
    TensorPtr result = empty({&count, 1}, first->dtype, first->device);
    cuda::norms(first->device, first->dtype, order, arrays, sizes, result->data);
    return as_object(result.take());
  });
}

PyMethodDef functions[] = {
    {"_unscale", as_method(py_unscale), METH_FASTCALL, "Unscales gradients on a GPU."},
    {"_norms", as_method(py_norms), METH_FASTCALL, "The norms of tensors on a GPU."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_gradients(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
