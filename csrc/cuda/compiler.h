// Device code: texts in CUDA C become functions, by the run-time compiler or from files that it left behind.
//
// Note [Device code]. A kernel is a text that names its types, compiled when it is first launched: 20 to 200 ms. What
// came out is kept in a folder ($ADJOINT_CACHE, or adjoint/kernels in the user's cache folder), under a name made of
// the text, of all headers, of the architecture and of the compiler's version; a change of any of them makes another
// name. The texts of the headers are part of the extension (the generated cuda_sources.cpp). ADJOINT_CUDA_KEEP_SOURCES
// names a folder for the texts of all kernels that a program launches. Ops whose backward takes long to compile begin
// it in another thread when their forward is compiled. Kernels take one parameter, a struct, and are declared by
// ADJOINT_KERNEL (device/kernel.h).
#pragma once

#include <string>

#include "cuda/driver.h"

namespace adjoint::cuda {

/// The kernel of a text, loaded on a device. Kept; the text is the key.
Function compiled(int device, const std::string& source);

/// Begins to compile a text in another thread, where it is not known yet: it will be asked for soon. Does nothing that
/// a program sees but take time, and fails never.
void compile_ahead(int device, const std::string& source);
/// Whether a text was not compiled so far: then what will follow on it is worth to be begun.
bool is_new(int device, const std::string& source);

/// Opens the compiler's library ahead of need, and says nothing where it is missing.
void open_compiler();

/// The machine code of a text for an architecture such as 90; fails with the compiler's words.
std::string compile(const std::string& source, int capability);

/// A text that device code includes, by the name it is included by.
struct DeviceSource {
  const char* name;
  const char* text;
};
/// All of them, the bodies of elementwise kernels by their names, and those of optimizer updates by theirs; each list
/// ends with a null (generated).
extern const DeviceSource device_headers[];
extern const DeviceSource device_bodies[];
extern const DeviceSource device_updates[];

}  // namespace adjoint::cuda
