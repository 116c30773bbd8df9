// Writes at computed places in one form, whatever op they are of.
//
// Note [Scatter]. Entries, in order, name slots of what is written by one or more indices; the elements of an entry go
// to those of its slot. Where entries name the same slot, the result is that of doing one after the other. Lines along
// the indexed dimension that are short or many are gone through by one thread each, or by one warp. Otherwise, for
// assignments, every entry claims its slot and the last one writes; other entries are sorted by their slots, and the
// first of each slot puts all of them together; of a slot that has very many, stretches are put together before. Sums
// of whole numbers have no order, and are added as they come: one launch, and no memory. So are sums of floats in those
// ops whose sums have no order in torch, unless use_deterministic_algorithms() asks for one.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/device/scatter_args.h"
#include "cuda/walk.h"
#include "kernels/indexing.h"

namespace adjoint::cuda {

/// How values come together, in the words of device/scatter.h.
struct Merging {
  const char* op;  ///< "Assign", "Add", ...
  bool include_self = true, mean = false;
  const Scalar* alpha = nullptr;
  bool in_any_order = false;  ///< sums of floats may be added as they come, unless the program asks for one order

  bool is_assignment() const { return *op == 'A' && op[1] == 's'; }
  bool is_sum() const { return *op == 'A' && op[1] == 'd'; }
};

/// Strides and sizes of some dimensions.
struct Dims {
  int ndim = 0;
  int64_t sizes[kMaxDims];
  int64_t dst[kMaxDims], src[kMaxDims];

  void add(int64_t size, int64_t dst_stride, int64_t src_stride) {
    sizes[ndim] = size;
    dst[ndim] = dst_stride;
    src[ndim++] = src_stride;
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= sizes[d];
    return n;
  }
};

class Scatter {
 public:
  /// Entries of a whole index along `dim`, each with one element; `src` is null where there is but a value.
  static Scatter elements(const View& dst, int dim, const View& index, const View* src);
  /// Entries of a 1-D index along `dim`, each with a slice.
  static Scatter slices(const View& dst, int dim, const View& index, const View* src, bool wraps = false);
  /// Entries of several indices of the leading dimensions.
  static Scatter advanced(const View& dst, int count, const View* const* indices, const View& src);

  /// Each of them does its work and returns true, or does nothing where a kernel cannot.
  bool fill(const void* value);
  bool merge(const Merging& how);

  int64_t skipped = std::numeric_limits<int64_t>::min();

 private:
  Scatter(const View& dst, const View* src, bool wraps);
  void name(const View& index, int64_t size, int64_t step, int64_t number, int dim);
  int64_t slots() const { return slots_.numel(); }
  NamedSlots named() const;
  bool has_nothing_named() const;
  bool direct(const char* what, const char* type, bool whole, int32_t* claims, const void* value);
  bool claim();
  bool lines(const Merging& how);
  bool sorted(const Merging& how);
  bool adds_now(const Merging& how) const;
  int64_t elements_at_once(const Geometry& slots, const Geometry& entries, const Geometry& rest) const;

  View dst_, src_;
  bool wraps_;
  int count_ = 0;
  View indices_[kMaxPutIndices];
  int64_t size_[kMaxPutIndices], step_[kMaxPutIndices], number_[kMaxPutIndices];
  int dim_[kMaxPutIndices];
  int line_dim_ = -1;            ///< of elements(): the dimension of entries that the index is along
  Dims entries_;                 ///< `dst` is where an entry's slots are apart from what the indices say
  int64_t base_[kMaxDims] = {};  ///< the same in numbers of slots
  Dims rest_;
  Dims slots_;
};

}  // namespace adjoint::cuda
