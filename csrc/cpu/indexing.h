// The CPU's indexing, which kernels/indexing.h describes, and what its files share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"
#include "core/scalar.h"
#include "cpu/words.h"
#include "kernels/indexing.h"

namespace adjoint::cpu {

using kernels::Reduction;

void gather(const View& in, int dim, const View& index, const View& out);
void scatter(const View& dst, int dim, const View& index, const View& src);
void scatter_value(const View& dst, int dim, const View& index, const void* value);
void scatter_add(const View& dst, int dim, const View& index, const View& src);
void scatter_reduce(const View& dst, int dim, const View& index, const View& src, Reduction reduction,
                    bool include_self);
void index_select(const View& in, int dim, const View& index, const View& out);
void index_add(const View& dst, int dim, const View& index, const View& src, const Scalar& alpha);
void index_reduce(const View& dst, int dim, const View& index, const View& src, Reduction reduction, bool include_self);
void index_copy(const View& dst, int dim, const View& index, const View& src);
void index_fill(const View& dst, int dim, const View& index, const void* value);
void index_get(const View& in, int count, const View* const* indices, const View& out);
void index_put(const View& dst, int count, const View* const* indices, const View& src, bool accumulate);
void take(const View& in, const View& index, const View& out);
std::optional<int64_t> put(const View& dst, const View& index, const View& src, bool accumulate);
void embedding_backward(const View& g, const View& index, int64_t padding_idx, const View& gweight);
void check_classes(const View& target, const kernels::Classes& classes);
void class_scores(const View& scores, const View& target, const View* weight, const kernels::Classes& classes,
                  kernels::LossReduction reduction, const View& loss, const View& total);
void class_scores_backward(const View& g, const View& target, const View* weight, const kernels::Classes& classes,
                           kernels::LossReduction reduction, const View& total, const View& out);
bool prefers_class_entropy();
void class_entropy(const View& scores, const View& target, const View* weight, const kernels::Classes& classes,
                   kernels::LossReduction reduction, const View& loss, const View& total, const View& sums);
void class_entropy_backward(const View& g, const View& scores, const View& sums, const View& target, const View* weight,
                            const kernels::Classes& classes, kernels::LossReduction reduction, const View& total,
                            const View& out);
void masked_fill(const View& dst, const View& mask, const void* value);
void masked_select(const View& in, const View& mask, const View& out);
void masked_front(const View& in, const View& mask, const View& out);
void masked_scatter(const View& dst, const View& mask, const View& src);
void where(const View& condition, const View& a, const View& b, const View& out);
int64_t count_nonzero(const View& in);
void nonzero(const View& in, const View& out);
void nonzero_static(const View& in, int64_t fill, const View& out);

/// What the indexing and structure kernels share.
namespace indexing {

/// Below this many elements a call stays on the calling thread.
inline constexpr int64_t kGrain = 32768;

enum class Merge : bool { No, Yes };

/// N operands of one shape walked together in row-major order. Unless told not to, dimensions of size 1 are dropped and
/// neighbours merged where all operands allow it. The dimensions [first, last) are merged among themselves only; they
/// end up as [ordered_begin, ordered_end).
template <int N>
struct Walk {
  int ndim = 0;
  int ordered_begin = 0;
  int ordered_end = 0;
  int64_t numel = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[N][kMaxDims];

  Walk(int dims, const int64_t* shape, const int64_t* const (&steps)[N], Merge merge = Merge::Yes, int first = 0,
       int last = 0) {
    int barrier = 0;  // dimensions before this one take no more neighbours
    for (int d = 0; d < dims; ++d) {
      if (d == first) ordered_begin = barrier = ndim;
      if (d == last) ordered_end = barrier = ndim;
      numel *= shape[d];
      if (merge == Merge::Yes && shape[d] == 1) continue;
      bool joins = merge == Merge::Yes && ndim > barrier;
      for (int k = 0; k < N && joins; ++k) joins = strides[k][ndim - 1] == steps[k][d] * shape[d];
      if (joins) {
        sizes[ndim - 1] *= shape[d];
      } else {
        sizes[ndim++] = shape[d];
      }
      for (int k = 0; k < N; ++k) strides[k][ndim - 1] = steps[k][d];
    }
    if (last == dims) ordered_end = ndim;
    if (ndim == 0) {
      sizes[ndim++] = 1;
      for (int k = 0; k < N; ++k) strides[k][0] = 0;
    }
  }

  int64_t inner_stride(int k) const { return strides[k][ndim - 1]; }

  /// Calls f(offsets, n, position) for each stretch along the last dimension of the elements [begin, end): `offsets`
  /// are the operands' places in elements, `position` the coordinates of the stretch's first element.
  template <class F>
  void run(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    const int inner = ndim - 1;
    int64_t position[kMaxDims];
    int64_t offsets[N] = {};
    int64_t rest = begin;
    for (int d = inner; d >= 0; --d) {
      position[d] = begin == 0 ? 0 : rest % sizes[d];
      if (begin != 0) rest /= sizes[d];
      for (int k = 0; k < N; ++k) offsets[k] += position[d] * strides[k][d];
    }
    const int64_t width = sizes[inner];
    for (;;) {
      int64_t n = width - position[inner];
      if (n > end - begin) n = end - begin;
      f(static_cast<const int64_t*>(offsets), n, static_cast<const int64_t*>(position));
      begin += n;
      if (begin == end) return;
      if (position[inner] != 0) {
        for (int k = 0; k < N; ++k) offsets[k] -= position[inner] * strides[k][inner];
        position[inner] = 0;
      }
      for (int d = inner - 1;; --d) {
#pragma GCC unroll 4
        for (int k = 0; k < N; ++k) offsets[k] += strides[k][d];
        if (++position[d] < sizes[d]) break;
        for (int k = 0; k < N; ++k) offsets[k] -= sizes[d] * strides[k][d];
        position[d] = 0;
      }
    }
  }
};

/// `view`, or a contiguous copy of it where it may share memory with `written`.
class Snapshot {
 public:
  Snapshot(const View& view, const View& written);
  Snapshot(const Snapshot&) = delete;
  const View& operator*() const { return view_; }
  const View* operator->() const { return &view_; }

 private:
  View view_;
  std::unique_ptr<char[]> storage_;
  int64_t strides_[kMaxDims];
};

/// Advanced indices folded into one list of element offsets, and how to walk it together with [S, rest] views.
/// Throws where shapes do not fit or an index is out of range.
class Advanced {
 public:
  /// `in` has the indexed dimensions first, `out` is S + rest; without elements in `out` nothing is folded.
  Advanced(const char* op, const View& in, int count, const View* const* indices, const View& out);
  Advanced(const Advanced&) = delete;

  const int64_t* offsets = nullptr;  ///< one for each element of S, packed
  int64_t low = 0, high = 0;         ///< the least and the greatest offset that the indexed dimensions allow
  int64_t offset_strides[kMaxDims];  ///< of `offsets`, over the dimensions of `out`
  int64_t strides[kMaxDims];         ///< of `in` from an offset on, over the dimensions of `out`

 private:
  std::unique_ptr<int64_t[]> heap_;
  int64_t small_[64];
};

/// A view's sizes the way torch prints them: [2, 3].
std::string sizes_text(const View& view);
[[noreturn]] void fail_sizes(const char* op, const View& a, const View& b);
/// The strides that `view` would have if it were contiguous.
void contiguous_strides(const View& view, int64_t* strides);
View at_least_1d(const View& view);
void check_int64(const char* op, const View& index);
void check_same_dtype(const char* op, const View& a, const View& b);
inline void check_same_sizes(const char* op, const View& a, const View& b) {
  bool same = a.ndim == b.ndim;
  if (same && a.sizes == b.sizes) return;
  for (int d = 0; d < a.ndim && same; ++d) same = a.sizes[d] == b.sizes[d];
  if (!same) fail_sizes(op, a, b);
}
/// The first element of `index` outside [low, high), or nullptr.
const int64_t* find_outside(const View& index, int64_t low, int64_t high);
/// Throws where an index is outside [0, size of `dim`), or [-size, size) where `wraps`; `lead` opens the message.
void check_index(ErrorKind kind, const char* lead, const char* op, const View& index, const View& in, int dim,
                 bool wraps = false);
/// `view`'s strides with that of `dim` set to 0: where the index, not the position, says how far to go.
struct Unstepped {
  int64_t strides[kMaxDims];
  Unstepped(const View& view, int dim) {
    for (int d = 0; d < view.ndim; ++d) strides[d] = d == dim ? 0 : view.strides[d];
  }
};
/// The strides of a 1-D index along `dim`, as of a view that repeats it along all other dimensions.
struct Along {
  int64_t strides[kMaxDims];
  Along(const View& index, int ndim, int dim) {
    for (int d = 0; d < ndim; ++d) strides[d] = d == dim ? index.strides[0] : 0;
  }
};

}  // namespace indexing
}  // namespace adjoint::cpu
