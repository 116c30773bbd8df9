// Batches of matrices on their way to cuSOLVER: their places on the device, and what is done to all of them at once.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/view.h"
#include "cuda/allocator.h"
#include "cuda/cusolver.h"

namespace adjoint::cuda {

inline int64_t rows_of(const View& view) { return view.sizes[view.ndim - 2]; }
inline int64_t cols_of(const View& view) { return view.sizes[view.ndim - 1]; }
/// How many matrices (or, with one inner dimension, vectors) a view has.
int64_t batch_of(const View& view, int inner = 2);

/// Whether the libraries are there and can count the elements of these matrices, which they do in 32 bits.
bool can_solve(std::initializer_list<const View*> views);

/// Sizes and strides of a view of its own.
struct Shaped {
  std::vector<int64_t> sizes, strides;
  View view(char* data, DType dtype, Device device) const {
    return {data, dtype, static_cast<int>(sizes.size()), sizes.data(), strides.data(), device};
  }
};
/// As many matrices as in the batch of `like`, one after the other, each column by column.
Shaped packed_columns(const View& like, int64_t rows, int64_t cols);
int64_t numel_of(const Shaped& shaped);
/// The last two dimensions swapped; the elements on the diagonal; the first rows and columns.
Shaped swapped(const View& view);
Shaped diagonal(const View& view);
Shaped cut(const View& view, int64_t rows, int64_t cols);

/// Matrices (or, with one dimension less, vectors) that NVIDIA's libraries can read: each lies column by column.
class Columns {
 public:
  /// Matrices that lie so.
  static Columns of(const View& view) { return Columns(view, 2); }
  /// Copies only if the layout does not suit. What is repeated along the batch is copied once.
  static Columns readable(const View& view);
  /// Vectors: the last dimension packed.
  static Columns vectors(const View& view);

  int ld() const { return static_cast<int>(ld_); }
  void* at(int64_t i) const;
  /// The addresses of all of them, on the device.
  void** addresses();

 private:
  Columns(const View& view, int inner);
  static Columns copied(const View& view, int inner);

  View view_;
  int inner_;
  int64_t ld_;
  std::vector<int64_t> strides_;
  std::unique_ptr<Scratch> memory_, addresses_;
};

/// Uninitialised matrices in memory of their own.
class Workspace {
 public:
  Workspace(const View& like, int64_t rows, int64_t cols, DType dtype);
  Workspace(const View& like, int64_t rows, int64_t cols) : Workspace(like, rows, cols, like.dtype) {}
  View view() const { return shape_.view(memory_.data(), dtype_, device_); }
  /// Of matrices with one column: vectors.
  View vectors() const {
    View vectors = view();
    --vectors.ndim;
    return vectors;
  }

 private:
  Shaped shape_;
  DType dtype_;
  Device device_;
  Scratch memory_;
};

/// Vectors copied to memory of their own, one after the other, as elements of a type.
class PackedVectors {
 public:
  PackedVectors(const View& vectors, DType dtype);
  PackedVectors(const PackedVectors&) = delete;
  const View& view() const { return view_; }

 private:
  Scratch memory_;
  std::vector<int64_t> strides_;
  View view_;
};

/// Memory for so many elements of a view's type.
Scratch elements_for(const View& like, int64_t count);

// ---- On all matrices of a view

/// Up to this order the library finds the spectra of many matrices at once.
inline constexpr int64_t kSmallSpectrum = 32;

/// Which matrices have elements that are not finite; these matrices are zero from then on, so that every algorithm
/// ends.
class NonFinite {
 public:
  explicit NonFinite(const View& a);
  const int32_t* marks() const { return reinterpret_cast<const int32_t*>(marks_.data()); }

 private:
  Scratch marks_;
};

/// Ones on the diagonal; and zeros elsewhere, of matrices that lie one after the other.
void fill_diagonal(const View& a);
void fill_identity(const View& a);
/// out = in, or its conjugate where it is complex.
void copy_conjugate(const View& in, const View& out);
/// The infos that are 0 become the place, from 1, of the first element on the diagonal of their matrix that is not a
/// number (is zero).
void note_nan_diagonal(const View& a, const View& infos);
void note_zero_diagonal(const View& a, const View& infos);

/// The text of a kernel of device/linalg.h for elements of a type.
std::string linalg_text(const char* args, const char* function, DType dtype, int threads);

}  // namespace adjoint::cuda
