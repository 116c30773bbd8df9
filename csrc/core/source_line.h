// Which line of the user's Python is running now: (code object, instruction offset), cheap enough to record for every
// node.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The innermost running Python code object outside this package (borrowed) or NULL, and the byte offset of its current
/// instruction.
PyCodeObject* adjoint_current_code(int* instruction);

/// The same, with the code of the package's own frames inside of it (borrowed), innermost first. `count`: how many
/// there is room for, then how many there are.
PyCodeObject* adjoint_current_path(int* instruction, PyCodeObject** inside, int* count);

/// Code in files whose path begins with `prefix` belongs to the package: its frames are passed over.
void adjoint_set_package_path(const char* prefix);

#ifdef __cplusplus
}
#endif
