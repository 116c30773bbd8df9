// Batches of matrices on their way to LAPACK: checks, column-major memory, and the loop over the batch.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/lock.h"
#include "core/tensor.h"
#include "cpu/copy.h"
#include "cpu/lapack.h"
#include "cpu/parallel.h"

namespace adjoint::ops {

using lapack::Int;
using lapack::kColumnMajor;

// ---- Errors, in torch's words

/// Raises torch.linalg.LinAlgError.
[[noreturn]] void fail_linalg(const std::string& message);
/// "(Batch element 1): " for the first matrix with an info that is not 0; "" when there is no batch.
std::string batch_element(const Tensor* info, int64_t place);
/// The first place in `info` that is not 0, or -1.
int64_t first_failure(const Tensor* info);

void check_matrix_dims(const char* op, const Tensor* tensor, const char* name = "A");
void check_square(const char* op, const Tensor* tensor, const char* name = "A");
void check_float(const char* op, const Tensor* tensor);
void check_not_half(const char* op, const Tensor* tensor);
void check_same_type(const char* op, const Tensor* a, const char* a_name, const Tensor* b, const char* b_name);
/// A X = B, or X A = B.
void check_solvable(const char* op, const Tensor* a, const Tensor* b, bool left);

/// Calls `f(T{})` for the types that LAPACK knows; others fail in the name of torch's kernel.
template <class F>
void with_lapack_type(const char* kernel, DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::Complex64: return f(complex64{});
    case DType::Complex128: return f(complex128{});
    default: fail_not_implemented(kernel, dtype);
  }
}

// ---- Geometry

inline int64_t rows_of(const Tensor* t) { return t->size(t->ndim() - 2); }
inline int64_t cols_of(const Tensor* t) { return t->size(t->ndim() - 1); }
inline Sizes batch_sizes(const Tensor* t) { return t->sizes().first(t->ndim() - 2); }
int64_t product(Sizes sizes);

/// Uninitialised matrices that lie column by column.
TensorPtr column_major(Sizes batch, int64_t rows, int64_t cols, DType dtype);
TensorPtr column_major_copy(const Tensor* tensor);
/// One vector of `n` elements for each matrix of the batch, and one number for each.
TensorPtr batch_vectors(Sizes batch, int64_t n, DType dtype);
TensorPtr batch_numbers(Sizes batch, DType dtype);
/// The last two dimensions swapped, on the same memory.
TensorPtr swapped(const Tensor* tensor);
/// The matrices repeated to the batch of these sizes, on the same memory.
TensorPtr expanded_batch(const Tensor* tensor, Sizes batch);
/// The sizes of two batches that broadcast.
std::vector<int64_t> broadcast_batches(const Tensor* a, const Tensor* b);

/// Matrices (or, with one dimension less, vectors) that LAPACK can read: each lies column by column.
class Columns {
 public:
  /// Copies only if the layout does not suit.
  static Columns readable(Tensor* tensor);
  /// Vectors: the last dimension packed.
  static Columns vectors(Tensor* tensor);
  static Columns of(const TensorPtr& tensor) { return Columns(tensor, 2); }
  static Columns vectors_of(const TensorPtr& tensor) { return Columns(tensor, 1); }

  Int ld() const { return ld_; }
  template <class T>
  T* at(int64_t i) const {
    int64_t offset = 0;
    for (int d = batch_dims_; d-- > 0; i /= tensor_->size(d)) offset += i % tensor_->size(d) * tensor_->stride(d);
    return tensor_->as<T>() + offset;
  }

 private:
  Columns(TensorPtr tensor, int inner);
  TensorPtr tensor_;
  int batch_dims_;
  Int ld_;
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
/// (see ops/linalg_blocked.h), and matrices that are fewer than the threads go one by one.
template <class Body>
void for_each_matrix(int64_t count, double flops, int64_t scratch, const Body& body, bool inside = false) {
  if (count == 0) return;
  double total = flops * static_cast<double>(count);
  bool alone = total < 1e5 || (inside && count < num_threads());
  int64_t workers = alone ? 1 : std::min<int64_t>(count, num_threads());
  scratch = (scratch + 63) / 64 * 64;
  auto memory = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(workers * scratch + 64));
  char* start = memory.get() + (64 - reinterpret_cast<uintptr_t>(memory.get()) % 64) % 64;
  WithoutLock unlocked(static_cast<int64_t>(std::min(total / 16, 1e15)));
  parallel_for(workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t w = first; w < last; ++w)
      for (int64_t i = count * w / workers; i < count * (w + 1) / workers; ++i) body(i, start + w * scratch);
  });
}

/// body(i, from, to, memory) for each matrix and ranges that cover its `columns`, which do not depend on each other.
/// The ranges do not depend on the number of threads, and so neither do the bits of the result.
template <class Body>
void for_each_column_range(int64_t count, int64_t columns, double flops, int64_t scratch, const Body& body) {
  int64_t pieces = flops < 1e7 ? 1 : std::clamp<int64_t>(columns / 32, 1, 8);
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

/// Writes zeros below (or above) the diagonal of a column-major matrix.
template <class T>
void clear_triangle(T* a, int64_t rows, int64_t cols, int64_t ld, bool below) {
  for (int64_t j = 0; j < cols; ++j) {
    int64_t from = below ? std::min(j + 1, rows) : 0, to = below ? rows : std::min(j, rows);
    std::fill(a + j * ld + from, a + j * ld + std::max(from, to), T(0));
  }
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

}  // namespace adjoint::ops
