// In C, because CPython's internal headers are not C++. See source_line.h.
#define Py_BUILD_CORE 1
#include "core/source_line.h"

#include <stdint.h>
#include <string.h>

#include "internal/pycore_frame.h"

typedef struct _PyInterpreterFrame Frame;

static char package_path[4096];

void adjoint_set_package_path(const char* prefix) {
  strncpy(package_path, prefix, sizeof(package_path) - 1);
  package_path[sizeof(package_path) - 1] = 0;
}

// Whether code belongs to the package, by code object. A stale entry of a freed code object can only mistake new code
// of the package for the user's, and the package's code is loaded once and stays.
#define CACHE_SIZE 512
static struct {
  PyCodeObject* code;
  int internal;
} cache[CACHE_SIZE];

static int is_internal(PyCodeObject* code) {
  size_t place = ((uintptr_t)code >> 5) % CACHE_SIZE;
  if (cache[place].code != code) {
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (!file) PyErr_Clear();
    cache[place].internal = file && package_path[0] && strncmp(file, package_path, strlen(package_path)) == 0;
    cache[place].code = code;
  }
  return cache[place].internal;
}

// The frames by which C enters the interpreter have code of their own from 3.12 on.
#if PY_VERSION_HEX >= 0x030E0000
#define IS_ENTRY(frame) ((frame)->owner >= FRAME_OWNED_BY_INTERPRETER)
#elif PY_VERSION_HEX >= 0x030C0000
#define IS_ENTRY(frame) ((frame)->owner == FRAME_OWNED_BY_CSTACK)
#endif

static PyCodeObject* code_of(Frame* frame, int* instruction) {
#if PY_VERSION_HEX >= 0x030C0000
  if (IS_ENTRY(frame)) return NULL;
  PyObject* code = PyUnstable_InterpreterFrame_GetCode(frame);
  if (!code || !PyCode_Check(code)) {
    Py_XDECREF(code);
    return NULL;
  }
  *instruction = PyUnstable_InterpreterFrame_GetLasti(frame);
  Py_DECREF(code); /* the frame keeps it alive */
  return (PyCodeObject*)code;
#else
  *instruction = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
  return frame->f_code;
#endif
}

static inline Frame* current_frame(void) {
  PyThreadState* state = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030D0000
  return state->current_frame;
#else
  return state->cframe->current_frame;
#endif
}

PyCodeObject* adjoint_current_code(int* instruction) {
  for (Frame* frame = current_frame(); frame; frame = frame->previous) {
    PyCodeObject* code = code_of(frame, instruction);
    if (code && !is_internal(code)) return code;
  }
  return NULL;
}

PyCodeObject* adjoint_current_path(int* instruction, PyCodeObject** inside, int* count) {
  int room = *count;
  *count = 0;
  for (Frame* frame = current_frame(); frame; frame = frame->previous) {
    PyCodeObject* code = code_of(frame, instruction);
    if (!code) continue;
    if (!is_internal(code)) return code;
    if (*count < room) inside[(*count)++] = code;
  }
  return NULL;
}
