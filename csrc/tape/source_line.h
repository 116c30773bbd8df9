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

/// Code in files whose path begins with `prefix` belongs to the package: its frames are passed over.
void adjoint_set_package_path(const char* prefix);

#ifdef __cplusplus
}
#endif
