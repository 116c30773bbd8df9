// In C, because CPython's internal headers are not C++. See source_line.h.
#define Py_BUILD_CORE 1
#include "tape/source_line.h"

#include "internal/pycore_frame.h"

PyCodeObject* adjoint_current_code(int* instruction) {
  PyThreadState* state = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030D0000
  struct _PyInterpreterFrame* frame = state->current_frame;
#else
  struct _PyInterpreterFrame* frame = state->cframe->current_frame;
#endif
  if (!frame) return NULL;
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* code = PyUnstable_InterpreterFrame_GetCode(frame);
  *instruction = PyUnstable_InterpreterFrame_GetLasti(frame);
  Py_XDECREF(code); /* the frame keeps it alive */
  return (PyCodeObject*)code;
#else
  *instruction = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
  return frame->f_code;
#endif
}
