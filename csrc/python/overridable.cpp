#include "python/overridable.h"

#include <string_view>
#include <vector>

namespace adjoint::python {
namespace {

/// Tensors of the graph and gradients, which are no results: subclasses get them as they are.
constexpr std::string_view kKeepTheirType[] = {"_base", "grad"};

Object accessor(const char* name, const char* method) {
  Object attribute = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  return checked(PyObject_GetAttrString(attribute.get(), method));
}

}  // namespace

PyObject* get_overridden(PyObject* self, getter get, const char* name) {
  return guarded([&] {
    Object function = accessor(name, "__get__");
    const bool wraps = std::ranges::find(kKeepTheirType, name) == std::end(kKeepTheirType);
    return call_overridden({function.get(), &self, 1, nullptr, Telling::OfSelf, wraps},
                           [&] { return get(self, nullptr); })
        .take();
  });
}

int put_overridden(PyObject* self, PyObject* value, setter put, const char* name) {
  return guarded(
      [&] {
        Object function = accessor(name, value ? "__set__" : "__delete__");
        PyObject* args[] = {self, value};
        OverriddenCall call{function.get(), args, value ? size_t{2} : size_t{1}, nullptr, Telling::OfSelf};
        call_overridden(call, [&]() -> PyObject* {
          if (put(self, value, nullptr) < 0) return nullptr;
          Py_RETURN_NONE;
        });
        return 0;
      },
      -1);
}

PyObject* call_in_function_mode(const char* name, KeywordMethod function, PyObject* module, PyObject* const* args,
                                Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Object package = checked(PyImport_ImportModule("adjoint"));
    Object shown = checked(PyObject_GetAttrString(package.get(), name));
    OverriddenCall call{shown.get(), args, static_cast<size_t>(nargs), kwnames};
    return call_overridden(call, [&] { return function(module, args, nargs, kwnames); }).take();
  });
}

PyObject* call_method_overridden(PyObject* function, KeywordMethod method, PyObject* self, PyObject* const* args,
                                 Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    std::vector<PyObject*> all = {self};
    all.insert(all.end(), args, args + nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    OverriddenCall call{function, all.data(), static_cast<size_t>(nargs) + 1, kwnames};
    return call_overridden(call, [&] { return method(self, args, nargs, kwnames); }).take();
  });
}

}  // namespace adjoint::python
