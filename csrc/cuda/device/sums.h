// Several tensors added to one of them, in the order in which they came.
#pragma once

#include "core/dtype.h"
#include "kernel.h"
#include "sums_args.h"

namespace adjoint::cuda {

/// Each thread has one element.
template <class T>
inline void add_all(const SumsArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.numel) return;
  T sum = reinterpret_cast<const T*>(args.out)[i];
  for (int k = 0; k < args.count; ++k) sum = sum + reinterpret_cast<const T*>(args.others[k])[i];
  reinterpret_cast<T*>(args.out)[i] = sum;
}

}  // namespace adjoint::cuda
