// What is made of Python data: the functions of creation_data.cpp and creation_legacy.cpp, and what they share.
#include "python/creation.h"

#include <vector>

#include "core/help.h"
#include "core/mode.h"
#include "python/overridable.h"

namespace adjoint::python {
namespace {

PyObject* new_legacy(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] { return wrap(legacy_new(args, keywords, as_tensor(self)->dtype, as_tensor(self))).take(); });
}

PyObject* new_like_self(PyObject* self, PyObject* args, PyObject* keywords) {
  if (!overridden(&self, 1)) return new_legacy(self, args, keywords);
  return guarded([&] {
    std::vector<PyObject*> all = {self};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
    OverriddenCall call{tensor_attribute<"new">(), all.data(), all.size(), nullptr};
    return call_overridden(call, [&] { return new_legacy(self, args, keywords); }).take();
  });
}

}  // namespace

void check_requires_grad(DType dtype, bool requires_grad) {
  if (requires_grad) ops::check_differentiable(dtype);
}

Object finish(TensorPtr tensor, const Options& options) {
  if (mode_flags & kInferenceMode) tensor->flags |= kInferenceTensor;
  if (options.requires_grad) {
    check_requires_grad(tensor->dtype, true);
    tensor->flags |= kRequiresGrad;
  }
  return wrap(std::move(tensor));
}

PyMethodDef creation_methods[] = {
    {"new", as_method(new_like_self), METH_VARARGS | METH_KEYWORDS, help::kNew},
    {"new_tensor", keyword_function(overridable<new_tensor, "new_tensor">), kKeywordCall, help::kNewTensor},
    {nullptr, nullptr, 0, nullptr},
};

void init_creation(PyObject* module) {
  init_formats(module);
  for (PyMethodDef* table : {data_functions, legacy_functions}) check(PyModule_AddFunctions(module, table) == 0);
}

}  // namespace adjoint::python
