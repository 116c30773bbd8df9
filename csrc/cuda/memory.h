// Moving values of a device: within it, between devices, and between it and the program's memory.
#pragma once

#include "core/scalar.h"
#include "core/view.h"

namespace adjoint::cuda {

void copy(const View& src, const View& dst);
void to_host(const View& src, const View& dst);
void from_host(const View& src, const View& dst);
void fill(const View& dst, const void* value);
void clear(const View& dst);
void fill_unset(const View& dst);
void enumerate(const View& dst);
Scalar read(const View& from);
/// Bytes of a device to another place on it.
void copy_bytes(Device device, char* to, const char* from, size_t nbytes);

}  // namespace adjoint::cuda
