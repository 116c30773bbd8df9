// Which line of Python is running now: (code object, instruction offset), cheap enough to record for every node.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The running Python code object (borrowed) or NULL, and the byte offset of its current instruction.
PyCodeObject* adjoint_current_code(int* instruction);

#ifdef __cplusplus
}
#endif
