// A raw strided view: what every kernel takes. Knows nothing of Python, storage or gradients.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/dtype.h"

namespace adjoint {

/// `data` is an address on the device. Sizes and strides are counted in elements and belong to the caller. Strides may
/// be 0 (broadcast) or negative.
struct View {
  char* data;
  DType dtype;
  int ndim;
  const int64_t* sizes;
  const int64_t* strides;
  Device device = {};

  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= sizes[i];
    return n;
  }
  /// The same view so many elements further on.
  View shifted(int64_t elements) const {
    View view = *this;
    view.data += elements * itemsize(dtype);
    return view;
  }
  /// Element i lies at data[i].
  bool is_packed() const {
    int64_t expected = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      if (sizes[d] != 1 && strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// The first element of a view that may not be there.
template <class T>
T* data_of(const View* view) {
  return view ? view->as<T>() : nullptr;
}

/// The most dimensions a tensor may have.
inline constexpr int kMaxDims = 64;

}  // namespace adjoint
