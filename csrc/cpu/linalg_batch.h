// Batches of matrices on their way to LAPACK: their places in memory, and the loop over the batch.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/view.h"
#include "cpu/lapack.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {

using lapack::Int;
using lapack::kColumnMajor;

/// Calls `f(T{})` for the types that LAPACK knows; csrc/ops has refused others.
template <class F>
void with_lapack_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::Complex64: return f(complex64{});
    default: return f(complex128{});
  }
}

// ---- Geometry

inline int64_t rows_of(const View& view) { return view.sizes[view.ndim - 2]; }
inline int64_t cols_of(const View& view) { return view.sizes[view.ndim - 1]; }
/// How many matrices (or, with one inner dimension, vectors) a view has.
inline int64_t batch_of(const View& view, int inner = 2) {
  return View{nullptr, view.dtype, view.ndim - inner, view.sizes, view.strides}.numel();
}

/// Matrices (or, with one dimension less, vectors) that LAPACK can read: each lies column by column.
class Columns {
 public:
  /// Matrices that lie so.
  static Columns of(const View& view) { return Columns(view, 2); }
  /// Copies only if the layout does not suit.
  static Columns readable(const View& view);
  /// Vectors: the last dimension packed.
  static Columns vectors(const View& view);

  Int ld() const { return ld_; }
  template <class T>
  T* at(int64_t i) const {
    int64_t offset = 0;
    for (int d = batch_dims_; d-- > 0; i /= view_.sizes[d]) offset += i % view_.sizes[d] * view_.strides[d];
    return view_.as<T>() + offset;
  }

 private:
  Columns(const View& view, int inner);
  static Columns copied(const View& view, int inner);

  View view_;
  int batch_dims_;
  Int ld_;
  std::unique_ptr<char[]> memory_;  ///< of a copy, and its strides
  std::vector<int64_t> strides_;
};

// ---- Work

/// A piece of scratch memory cut into arrays; the same cuts measure it when there is none.
class Scratch {
 public:
  explicit Scratch(char* memory) : memory_(memory) {}
  template <class T>
  T* take(int64_t n) {
    auto* piece = reinterpret_cast<T*>(memory_ + used_);
    used_ += (std::max<int64_t>(n, 1) * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return piece;
  }
  int64_t used() const { return used_; }

 private:
  char* memory_;
  int64_t used_ = 0;
};

/// body(i, memory) for each matrix, in parallel; `memory` is `scratch` bytes that the thread has to itself. `flops`
/// says what one matrix costs. The body must not throw. The library itself runs on one thread (its own threads wait by
/// spinning, which takes many times as long where the cores are shared). With `inside`, the body itself is parallel
/// (see cpu/linalg_blocked.h), and matrices that are fewer than the threads go one by one.
template <class Body>
void for_each_matrix(int64_t count, double flops, int64_t scratch, const Body& body, bool inside = false) {
  if (count == 0) return;
  bool alone = flops * static_cast<double>(count) < 1e5 || (inside && count < num_threads());
  int64_t workers = alone ? 1 : std::min<int64_t>(count, num_threads());
  scratch = (scratch + 63) / 64 * 64;
  auto memory = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(workers * scratch + 64));
  char* start = memory.get() + (64 - reinterpret_cast<uintptr_t>(memory.get()) % 64) % 64;
  parallel_for(workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w)
      for (int64_t i = count * w / workers; i < count * (w + 1) / workers; ++i) body(i, start + w * scratch);
  });
}

/// body(i, from, to, memory) for each matrix and ranges that cover its `columns`, which do not depend on each other.
/// The ranges follow from the work and not from the number of threads, and so do the bits of the result. The library
/// packs the factor anew for each, which makes more of them slower on few threads.
template <class Body>
void for_each_column_range(int64_t count, int64_t columns, double flops, int64_t scratch, const Body& body) {
  const int64_t worthwhile = flops < 1e7 ? 1 : std::clamp<int64_t>(static_cast<int64_t>(flops / 1.6e7), 2, 8);
  const int64_t pieces = std::clamp<int64_t>(columns / 32, 1, worthwhile);
  for_each_matrix(count * pieces, flops / static_cast<double>(pieces), scratch, [&](int64_t item, char* memory) {
    int64_t i = item / pieces, piece = item % pieces;
    body(i, columns * piece / pieces, columns * (piece + 1) / pieces, memory);
  });
}

inline double cubed(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

/// The workspace size that a LAPACK query wrote as a number.
template <class T>
Int work_size(T answer) {
  return std::max<Int>(1, static_cast<Int>(std::real(answer)));
}

/// Ones on the diagonal, zeros elsewhere.
template <class T>
void fill_identity(T* a, int64_t rows, int64_t cols, int64_t ld) {
  if (rows == 0) return;
  for (int64_t j = 0; j < cols; ++j) {
    std::fill(a + j * ld, a + j * ld + rows, T(0));
    if (j < rows) a[j * ld + j] = T(1);
  }
}

}  // namespace adjoint::cpu
