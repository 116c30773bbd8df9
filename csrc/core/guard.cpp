#include "core/guard.h"

#include <stdexcept>

#include "core/device_error.h"

namespace adjoint {
namespace {

constexpr const char* kNoMemory =
    "not enough memory for the working space of an operation; free tensors that are not needed, or use smaller ones";

/// CPython's own MemoryError says nothing. One that Python code raised has a traceback, and is left as it is.
void give_words() {
  if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool silent =
      !traceback && (!value || (PyExceptionInstance_Check(value) &&
                                PyObject_Size(reinterpret_cast<PyBaseExceptionObject*>(value)->args) == 0));
  PyErr_Restore(type, value, traceback);
  if (silent) PyErr_SetString(PyExc_MemoryError, kNoMemory);
}

/// Raises a class of Python's side. What keeps it from being found is raised in its place.
void set_error_of(const char* module_name, const char* class_name, const char* message) {
  in_python([&] {
    Object module = Object::steal(PyImport_ImportModule(module_name));
    Object type = module ? Object::steal(PyObject_GetAttrString(module.get(), class_name)) : Object();
    if (type) PyErr_SetString(type.get(), message);
  });
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (ThreadExit&) {
    wait_for_exit();
  } catch (const DeviceError& error) {
    set_error_of("adjoint.cuda", "AcceleratorError", error.what());
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.kind()) {
      case ErrorKind::Python:
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error was reported, but none is set");
        give_words();
        return;
      case ErrorKind::Runtime: break;
      case ErrorKind::Type: type = PyExc_TypeError; break;
      case ErrorKind::Value: type = PyExc_ValueError; break;
      case ErrorKind::Index: type = PyExc_IndexError; break;
      case ErrorKind::NotImplemented: type = PyExc_NotImplementedError; break;
      case ErrorKind::Overflow: type = PyExc_OverflowError; break;
      case ErrorKind::Memory: break;  // torch raises RuntimeError when memory runs out
      case ErrorKind::Buffer: type = PyExc_BufferError; break;
      case ErrorKind::Attribute: type = PyExc_AttributeError; break;
      case ErrorKind::Assertion: type = PyExc_AssertionError; break;
      case ErrorKind::LinAlg: set_error_of("adjoint.linalg", "LinAlgError", error.what()); return;
      case ErrorKind::OutOfDeviceMemory: set_error_of("adjoint.cuda", "OutOfMemoryError", error.what()); return;
    }
    PyErr_SetString(type, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_RuntimeError, kNoMemory);  // torch's type, as above
  } catch (const std::length_error&) {               // a table longer than any can be
    PyErr_SetString(PyExc_RuntimeError, kNoMemory);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "unknown C++ exception");
  }
}

}  // namespace adjoint
