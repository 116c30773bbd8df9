// A tensor or a number, as an elementwise kernel reads it.
#pragma once

#include "core/scalar.h"
#include "core/tensor.h"

namespace adjoint {

/// Points into memory that the caller keeps alive.
struct Operand {
  Shape* shape;  ///< null for a number
  char* data;
  DType dtype;
  Device device;
  Scalar number;  ///< valid when shape is null

  void set(const Tensor* tensor) { set(tensor->shape, tensor->data, tensor->dtype, tensor->device); }
  void set(Shape* its_shape, char* its_data, DType its_dtype, Device its_device) {
    shape = its_shape;
    data = its_data;
    dtype = its_dtype;
    device = its_device;
  }
  void set(const Scalar& its_number) {
    shape = nullptr;
    number = its_number;
  }
  bool is_number() const { return shape == nullptr; }
  View view() const { return view(shape->ndim, shape->sizes(), shape->strides()); }
  /// As another geometry, which the caller keeps.
  View view(int ndim, const int64_t* sizes, const int64_t* strides) const {
    return {data, dtype, ndim, sizes, strides, device};
  }
};

}  // namespace adjoint
