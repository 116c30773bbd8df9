#include "python/guard.h"

namespace adjoint::python {

void set_python_error() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.kind()) {
      case ErrorKind::Python:
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error was reported, but none is set");
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
    }
    PyErr_SetString(type, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "unknown C++ exception");
  }
}

}  // namespace adjoint::python
