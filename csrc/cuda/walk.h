// What kernels that move elements share on the host: walks over views, words, copies of inputs that overlap.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "core/view.h"
#include "cuda/allocator.h"
#include "cuda/device/walk_args.h"
#include "cuda/geometry.h"

namespace adjoint::cuda {

/// Several views of the same sizes as few dimensions as they can have, in row-major order.
Geometry ordered_geometry(std::span<const View* const> views);

/// Whether 32 bits count all elements, and `reach` elements beyond, and no stride is negative.
bool is_narrow(const Geometry& geometry, int64_t reach = 0);

inline bool fits(const Geometry& geometry) { return geometry.ndim <= kMaxWalk; }
template <int N>
void set_walk(const Geometry& geometry, WalkArgs<N>& walk) {
  walk.numel = geometry.numel;
  walk.ndim = geometry.ndim;
  std::copy_n(geometry.sizes, geometry.ndim, walk.sizes);
  for (int v = 0; v < geometry.views; ++v) std::copy_n(geometry.strides[v], geometry.ndim, walk.strides[v]);
}

/// The name of a type of this many bytes, for elements that are only moved.
const char* word_type(int64_t bytes);
inline const char* index_type(bool narrow) { return narrow ? "uint32_t" : "int64_t"; }

/// The text of a kernel that calls one function of a header: `call` with its template's arguments. A multiprocessor is
/// to have so many `blocks` at once, where that is not 0.
std::string kernel_text(const char* header, const char* args, const std::string& call, int threads = 256,
                        int blocks = 0);

/// A view with at least one dimension.
View at_least_1d(const View& view);
void packed_strides(const View& like, int64_t* strides);
inline constexpr int64_t kNoStrides[kMaxDims] = {};

/// `view`, or a packed copy of it where it may share memory with `written`.
class Snapshot {
 public:
  Snapshot(const View& view, const View& written);
  Snapshot(const Snapshot&) = delete;
  const View& operator*() const { return view_; }
  const View* operator->() const { return &view_; }

 private:
  View view_;
  std::optional<Scratch> storage_;
  int64_t strides_[kMaxDims];
};

/// A view's strides with that of `dim` set to 0: where an index says how far to go.
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

}  // namespace adjoint::cuda
