// Pooling: greatest elements and their places, and what goes back to them.
#include "cpu/pooling.h"

#include <algorithm>
#include <memory>

#include "cpu/pooling_detail.h"

namespace adjoint::cpu {
namespace {

/// Whether the windows lie side by side and all are whole.
bool side_by_side(const PoolAxis& axis) {
  return axis.stride != 0 && axis.taps == axis.stride && axis.step == 1 && axis.first == 0 &&
         axis.out() * axis.stride <= axis.in;
}

PoolTiling tiling_of(const PoolAxis (&axes)[3]) {
  const PoolAxis &za = axes[0], &ya = axes[1], &xa = axes[2];
  const bool whole = side_by_side(za) && side_by_side(ya) && side_by_side(xa) && za.out() * za.stride == za.in &&
                     xa.out() * xa.stride == xa.in;
  if (!whole || xa.stride >= kWideLanes) return {};
  const int64_t rows = za.stride * ya.in * xa.out();
  return {za.stride * ya.in * xa.in, rows, ya.out() * xa.out(), kPoolTiles / rows};
}

template <class T>
void greatest_of_planes(const PoolShape& shape, const T* in, T* out, int64_t* indices) {
  const PoolLoops<T>& loops = chosen<PoolLoops<T>>;
  const AxisTables tables(shape);
  const PoolTiling tiling = tiling_of(shape.axes);
  if (tiling.together > 0) {
    const int64_t layers = shape.planes * shape.axes[0].out();
    return parallel_for(layers, std::max<int64_t>(1, kWork / tiling.in), [&](int64_t begin, int64_t end) {
      for (int64_t layer = begin; layer < end; layer += tiling.together)
        loops.greatest_of_layers(tables.axes, tiling, layer, std::min(layer + tiling.together, end), in, out, indices);
    });
  }
  const PoolAxis& row = shape.axes[2];
  const bool by_window = row.stride == 0 || row.out() < kFewInRow || (row.stride >= kWideLanes && row.step == 1);
  const std::vector<RowTap> taps = row_taps(row);
  each_plane(shape.planes, plane_work(shape), [&](int64_t plane) {
    const T* from = in + plane * shape.in();
    T* to = out + plane * shape.out();
    int64_t* places = indices ? indices + plane * shape.out() : nullptr;
    by_window ? loops.greatest_of_windows(tables.axes, from, to, places)
              : loops.greatest_of_rows(tables.axes, all_of(taps), from, to, places);
  });
}

/// Elements that take as long as a small window.
constexpr int64_t kApart = 16;

template <class T>
void fractional_planes(const kernels::PoolShape& shape, int dims, const T* samples, const T* in, T* out,
                       int64_t* indices) {
  const auto& axes = shape.axes;
  const int64_t count = axes[0].out + axes[1].out + axes[2].out;
  // The borders of the windows, two for each plane and output along an axis.
  auto room = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(shape.planes * count * 2));
  // Windows lie apart, and each has to come from memory.
  const int64_t window = std::max<int64_t>(kApart, axes[0].taps * axes[1].taps * axes[2].taps);
  each_plane(shape.planes, shape.out() * window, [&](int64_t plane) {
    PoolWindows windows[3];
    int64_t* begin = room.get() + plane * count * 2;
    for (int d = 0; d < 3; ++d) {
      const int64_t outputs = axes[d].out, last = axes[d].in - axes[d].taps;
      const T sample = d < 3 - dims ? T(0) : samples[plane * dims + (dims == 3 ? d : 2 - d)];
      const T alpha = outputs > 1 ? static_cast<T>(last) / static_cast<T>(outputs - 1) : T(0);
      const int64_t first = static_cast<int64_t>(sample * alpha);
      for (int64_t i = 0; i < outputs; ++i) {
        const int64_t start = static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) - first;
        begin[i] = i == outputs - 1 ? last : std::clamp<int64_t>(start, 0, last);
        begin[outputs + i] = begin[i] + axes[d].taps;
      }
      windows[d] = {axes[d].in, outputs, 1, 0, begin, begin + outputs, nullptr};
      begin += 2 * outputs;
    }
    chosen<PoolLoops<T>>.greatest_of_windows(windows, in + plane * shape.in(), out + plane * shape.out(),
                                             indices + plane * shape.out());
  });
}

template <class T>
void scatter(int64_t planes, int64_t count, int64_t size, const T* in, const int64_t* indices, T* out, bool add) {
  each_plane(planes, count + size, [&](int64_t plane) {
    T* target = out + plane * size;
    std::fill_n(target, size, T(0));
    for (int64_t i = plane * count; i < (plane + 1) * count; ++i) {
      if (add) {
        target[indices[i]] += in[i];
      } else {
        target[indices[i]] = in[i];
      }
    }
  });
}

}  // namespace

void max_pool(const kernels::PoolShape& shape, const View& in, const View& out, const View* indices) {
  const PoolShape tables(shape);
  with_pooled(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    greatest_of_planes(tables, in.as<const T>(), out.as<T>(), indices ? indices->as<int64_t>() : nullptr);
  });
}

void fractional_max_pool(const kernels::PoolShape& shape, int dims, const View& samples, const View& in,
                         const View& out, const View& indices) {
  dispatch_real(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    fractional_planes(shape, dims, samples.as<const T>(), in.as<const T>(), out.as<T>(), indices.as<int64_t>());
  });
}

std::optional<int64_t> scatter_planes(int64_t planes, const View& in, const View& indices, const View& out, bool add) {
  const int64_t total = in.numel(), size = out.numel() / planes;
  const auto* places = indices.as<const int64_t>();
  const int64_t* wrong = std::find_if(places, places + total, [size](int64_t i) { return i < 0 || i >= size; });
  if (wrong != places + total) return *wrong;
  with_pooled(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    scatter(planes, total / planes, size, in.as<const T>(), places, out.as<T>(), add);
  });
  return std::nullopt;
}

}  // namespace adjoint::cpu
