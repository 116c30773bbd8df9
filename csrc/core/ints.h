// A short list of integers: what sizes, strides and dimensions are given as.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "core/shape.h"

namespace adjoint {

class Ints {
 public:
  Ints() = default;
  /// `what`: the op that is told of, where there is no room.
  void push(int64_t value, const char* what) {
    if (size_ == kMaxDims)
      fail(what, ": at most ", kMaxDims, " dimensions are supported; more came; merge some of them");
    values_[size_++] = value;
  }
  int64_t operator[](size_t i) const { return values_[i]; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  operator Sizes() const { return {values_, size_}; }

 private:
  int64_t values_[kMaxDims];
  size_t size_ = 0;
};

/// Sizes as a tuple or a list: one int alone is none.
struct SizeList : Ints {};
/// Sizes as several arguments, or as a tuple or a list: zeros(2, 3) and zeros((2, 3)).
struct SizeArgs : Ints {};

}  // namespace adjoint
