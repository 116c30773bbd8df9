// The small Python types beside the tensor: dtype, device, Size, layout and memory format objects.
#pragma once

#include "core/guard.h"
#include "core/tensor.h"

namespace adjoint {

/// `torch.float32` and so on: one object each.
PyObject* dtype_object(DType dtype);  // borrowed
bool is_dtype(PyObject* object);
DType to_dtype(PyObject* object);

/// `torch.Size`, a tuple of ints.
Object make_size(Sizes sizes);
/// A plain tuple of ints.
Object make_tuple(Sizes values);

/// `torch.device("cpu")`.
PyObject* device_object(Device device);  // borrowed
/// Loads what tells the core where NVIDIA's libraries are: before a GPU is first asked for.
void prepare_cuda();
/// Accepts a device object or a string; throws for devices that this build does not have.
Device to_device(PyObject* object);
/// "cpu", "cuda" and so on, of a device object or string, whether this build has it or not.
std::string device_kind(PyObject* object);
/// Whether device_kind() can read an object: a device, its name or its number.
bool names_device(PyObject* object);
/// Where new tensors go when nothing is said: set_default_device, `with torch.device(...)`.
Device default_device();

/// Makes a type and adds it to the module.
PyTypeObject* make_type(PyObject* module, PyType_Spec* spec, const char* name, PyObject* base = nullptr);

/// Adds torch.device and the functions for the default one to the module (device.cpp).
void init_device(PyObject* module);
/// Adds the types and their objects to the module.
void init_types(PyObject* module);

}  // namespace adjoint
