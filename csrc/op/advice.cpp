#include "op/advice.h"

#include "core/dtype.h"
#include "core/tensor.h"

namespace adjoint {

std::string conversion_advice(PyObject* object, std::string_view kind) {
  if (kind == "Tensor") {
    const bool numbers = PyList_Check(object) || PyTuple_Check(object) || PyFloat_Check(object) || PyLong_Check(object);
    const bool array = std::string_view(Py_TYPE(object)->tp_name) == "numpy.ndarray";
    const bool tensors = (PyList_Check(object) || PyTuple_Check(object)) && PySequence_Fast_GET_SIZE(object) > 0 &&
                         is_tensor(PySequence_Fast_GET_ITEM(object, 0));
    if (tensors) return "; it holds " + std::to_string(PySequence_Fast_GET_SIZE(object)) + " values: give one of them";
    return array ? "; convert it with torch.from_numpy()" : numbers ? "; convert it with torch.tensor()" : "";
  }
  if (kind == "tuple of Tensors") return is_tensor(object) ? "; put the tensors into a list" : "";
  if (kind == "tuple of ints" || kind == "int") {
    if (PyFloat_Check(object)) return "; use int(), or // where it was divided";
    return PyUnicode_Check(object) ? "; convert it with int()" : "";
  }
  if (kind != "torch.dtype") return "";
  // NumPy's types and names in quotes.
  Object name = PyUnicode_Check(object) ? Object::borrow(object)
                : PyType_Check(object)  ? Object::steal(PyObject_GetAttrString(object, "__name__"))
                                        : Object();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  for (int i = 0; text && i < kDTypeCount; ++i)
    if (std::string_view(text) == info(static_cast<DType>(i)).name) return std::string("; write torch.") + text;
  return "; types are written torch.float32, without quotes";
}

}  // namespace adjoint
