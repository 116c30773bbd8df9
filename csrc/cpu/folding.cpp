#include "cpu/folding.h"

#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/words.h"

namespace adjoint::cpu {
namespace {

using kernels::FoldShape;

/// The blocks along one axis whose element at kernel place k lies inside: the first, and the one after the last.
struct Inside {
  int64_t offset, begin, end;

  Inside(const FoldShape& shape, int axis, int64_t k) {
    const int64_t stride = shape.stride[axis], blocks = shape.blocks[axis];
    offset = k * shape.dilation[axis] - shape.padding[axis];
    begin = std::clamp<int64_t>(offset >= 0 ? 0 : (stride - 1 - offset) / stride, 0, blocks);
    const int64_t room = shape.size[axis] - offset;
    end = std::clamp<int64_t>(room <= 0 ? 0 : (room + stride - 1) / stride, begin, blocks);
  }
};

/// f(plane, kernel place, Inside y, Inside x) for all planes and kernel places; planes are shared out.
template <class F>
void each_column(const FoldShape& shape, const F& f) {
  const int64_t places = shape.kernel[0] * shape.kernel[1];
  const int64_t work = std::max<int64_t>(1, places * shape.blocks[0] * shape.blocks[1]);
  parallel_for(shape.planes, std::max<int64_t>(1, 32768 / work), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      for (int64_t place = 0; place < places; ++place)
        f(plane, place, Inside(shape, 0, place / shape.kernel[1]), Inside(shape, 1, place % shape.kernel[1]));
    }
  });
}

template <class T>
void unfold_as(const FoldShape& shape, const T* in, T* out) {
  const int64_t places = shape.kernel[0] * shape.kernel[1], blocks = shape.blocks[0] * shape.blocks[1];
  each_column(shape, [&](int64_t plane, int64_t place, const Inside& ys, const Inside& xs) {
    const T* source = in + plane * shape.size[0] * shape.size[1];
    T* row = out + (plane * places + place) * blocks;
    for (int64_t y = 0; y < shape.blocks[0]; ++y, row += shape.blocks[1]) {
      if (y < ys.begin || y >= ys.end) {
        std::fill_n(row, shape.blocks[1], T{});
        continue;
      }
      const int64_t step = shape.stride[1];
      const T* from = source + (ys.offset + y * shape.stride[0]) * shape.size[1] + xs.offset + xs.begin * step;
      std::fill_n(row, xs.begin, T{});
      if (step == 1) {
        std::copy_n(from, xs.end - xs.begin, row + xs.begin);
      } else {
        move_words(from, step, row + xs.begin, 1, xs.end - xs.begin);
      }
      std::fill_n(row + xs.end, shape.blocks[1] - xs.end, T{});
    }
  });
}

template <class T>
void fold_as(const FoldShape& shape, const T* in, T* out) {
  const int64_t places = shape.kernel[0] * shape.kernel[1], blocks = shape.blocks[0] * shape.blocks[1];
  each_column(shape, [&](int64_t plane, int64_t place, const Inside& ys, const Inside& xs) {
    T* target = out + plane * shape.size[0] * shape.size[1];
    if (place == 0) std::fill_n(target, shape.size[0] * shape.size[1], T(0));
    const T* column = in + (plane * places + place) * blocks;
    for (int64_t y = ys.begin; y < ys.end; ++y) {
      const T* from = column + y * shape.blocks[1];
      T* to = target + (ys.offset + y * shape.stride[0]) * shape.size[1] + xs.offset;
      for (int64_t x = xs.begin; x < xs.end; ++x) to[x * shape.stride[1]] += from[x];
    }
  });
}

}  // namespace

void unfold_planes(const FoldShape& shape, const View& in, const View& out) {
  dispatch_size(in.dtype, [&](auto word) {
    using W = decltype(word);
    unfold_as(shape, in.as<const W>(), out.as<W>());
  });
}

void fold_planes(const FoldShape& shape, const View& in, const View& out) {
  dispatch(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) fold_as(shape, in.as<const T>(), out.as<T>());
  });
}

}  // namespace adjoint::cpu
