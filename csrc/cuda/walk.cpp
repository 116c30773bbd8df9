#include "cuda/walk.h"

#include <cstdlib>

#include "cuda/memory.h"

namespace adjoint::cuda {
namespace {

struct Extent {
  const char* begin;
  const char* end;
};

/// The bytes between the first and the last element.
Extent extent(const View& view) {
  int64_t low = 0, high = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.sizes[d] == 0) return {view.data, view.data};
    const int64_t reach = (view.sizes[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t size = itemsize(view.dtype);
  return {view.data + low * size, view.data + high * size};
}

}  // namespace

Geometry ordered_geometry(std::span<const View* const> views) {
  Geometry joint;
  joint.views = static_cast<int>(views.size());
  const View& first = *views[0];
  for (int d = 0; d < first.ndim; ++d) {
    joint.numel *= first.sizes[d];
    if (first.sizes[d] == 1) continue;
    bool joins = joint.ndim > 0;
    for (int v = 0; joins && v < joint.views; ++v)
      joins = joint.strides[v][joint.ndim - 1] == views[static_cast<size_t>(v)]->strides[d] * first.sizes[d];
    if (!joins) joint.sizes[joint.ndim++] = 1;
    joint.sizes[joint.ndim - 1] *= first.sizes[d];
    for (int v = 0; v < joint.views; ++v) joint.strides[v][joint.ndim - 1] = views[static_cast<size_t>(v)]->strides[d];
  }
  return joint;
}

bool is_narrow(const Geometry& geometry, int64_t reach) {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  if (geometry.numel >= kNarrow) return false;
  for (int v = 0; v < geometry.views; ++v) {
    int64_t far = reach;
    for (int d = 0; d < geometry.ndim; ++d) {
      if (geometry.strides[v][d] < 0) return false;
      far += (geometry.sizes[d] - 1) * geometry.strides[v][d];
    }
    if (far >= kNarrow) return false;
  }
  return true;
}

const char* word_type(int64_t bytes) {
  switch (bytes) {
    case 1: return "uint8_t";
    case 2: return "uint16_t";
    case 4: return "uint32_t";
    case 8: return "uint64_t";
    default: return "DoubleWord";
  }
}

std::string kernel_text(const char* header, const char* args, const std::string& call, int threads, int blocks) {
  std::string text;
  text.reserve(call.size() + 192);  // every launch asks for its text
  text.append("#include \"").append(header);
  text.append("\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\nADJOINT_KERNEL(").append(args);
  text.append(", ").append(std::to_string(threads));
  if (blocks > 0) text.append(", ").append(std::to_string(blocks));
  text.append(") { ").append(call).append("(args); }\n");
  return text;
}

View at_least_1d(const View& view) {
  static constexpr int64_t one[1] = {1};
  return view.ndim > 0 ? view : View{view.data, view.dtype, 1, one, one, view.device};
}

void packed_strides(const View& like, int64_t* strides) {
  int64_t step = 1;
  for (int d = like.ndim - 1; d >= 0; --d) {
    strides[d] = step;
    step *= like.sizes[d];
  }
}

Snapshot::Snapshot(const View& view, const View& written) : view_(view) {
  if (view.device != written.device) return;
  const Extent a = extent(view), b = extent(written);
  if (a.begin >= b.end || b.begin >= a.end) return;
  packed_strides(view, strides_);
  storage_.emplace(static_cast<size_t>(view.numel() * itemsize(view.dtype)), view.device);
  view_.data = storage_->data();
  view_.strides = strides_;
  copy(view, view_);
}

}  // namespace adjoint::cuda
