#include "cpu/resampling.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "cpu/parallel.h"
#include "cpu/resampling_tables.h"
#include "cpu/words.h"

namespace adjoint::cpu {
namespace {

constexpr int64_t kWork = 16384;

template <class T>
struct RealPart {
  using Type = T;
};
template <class R>
struct RealPart<std::complex<R>> {
  using Type = R;
};

/// The weights of an axis in the type that they multiply.
template <class T>
std::vector<typename RealPart<T>::Type> weights_of(const ResampleAxis& axis) {
  if (axis.weight.empty()) return std::vector<typename RealPart<T>::Type>(axis.index.size(), 1);
  return {axis.weight.begin(), axis.weight.end()};
}

/// body(slot, unit) for all units of about `work` elements; no two calls at a time have the same slot below `slots`.
template <class Body>
void over_slots(int64_t units, int64_t slots, const Body& body) {
  parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      for (int64_t unit = units * slot / slots; unit < units * (slot + 1) / slots; ++unit) body(slot, unit);
    }
  });
}

int64_t slots_for(int64_t units, int64_t work) {
  const int64_t threads = num_threads();
  if (threads == 1) return 1;
  return std::clamp<int64_t>(units * work / kWork, 1, std::min<int64_t>(units, threads * 4));
}

template <class T>
using Reals = std::vector<typename RealPart<T>::Type>;

/// target[x] = sum of weight * row[index].
template <class T>
void widen(const ResampleAxis& axis, const Reals<T>& weight, const T* row, T* target) {
  const int64_t* index = axis.index.data();
  const auto* w = weight.data();
  if (axis.weight.empty()) {
    for (int64_t x = 0; x < axis.out; ++x) target[x] = row[index[x]];
  } else if (axis.taps == 2) {
    for (int64_t x = 0; x < axis.out; ++x)
      target[x] = w[2 * x] * row[index[2 * x]] + w[2 * x + 1] * row[index[2 * x + 1]];
  } else {
    for (int64_t x = 0; x < axis.out; ++x) {
      T sum = 0;
      for (int64_t t = 0; t < axis.used(x); ++t) sum += w[x * axis.taps + t] * row[index[x * axis.taps + t]];
      target[x] = sum;
    }
  }
}

/// The longest stretch of outputs [begin, end) that are neighbours in the input too.
std::pair<int64_t, int64_t> longest_run(const std::vector<int64_t>& index) {
  std::pair<int64_t, int64_t> best = {0, 0};
  int64_t begin = 0;
  const auto n = static_cast<int64_t>(index.size());
  for (int64_t i = 1; i <= n; ++i) {
    if (i < n && index[static_cast<size_t>(i)] == index[static_cast<size_t>(i - 1)] + 1) continue;
    if (i - begin > best.second - best.first) best = {begin, i};
    begin = i;
  }
  return best;
}

template <class T>
void gather_rows(const ResampleShape& shape, const T* in, T* out) {
  const ResampleAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const int64_t rows = za.out * ya.out, units = shape.planes * rows;
  const auto [begin, end] = longest_run(xa.index);
  over_slots(units, slots_for(units, xa.out), [&, begin = begin, end = end](int64_t, int64_t unit) {
    const int64_t row = unit % rows;
    const T* from = in + unit / rows * shape.in() + (za.at(row / ya.out, 0) * ya.in + ya.at(row % ya.out, 0)) * xa.in;
    T* to = out + unit * xa.out;
    const int64_t* index = xa.index.data();
    for (int64_t x = 0; x < begin; ++x) to[x] = from[index[x]];
    std::copy_n(from + index[begin], end - begin, to + begin);
    for (int64_t x = end; x < xa.out; ++x) to[x] = from[index[x]];
  });
}

/// The weights of an axis as multiples of 1 / 2^precision that fit in 15 bits.
struct ByteWeights {
  std::vector<int32_t> weight;
  int precision = 0;

  explicit ByteWeights(const ResampleAxis& axis) {
    std::vector<double> sums = weights_of<double>(axis);
    // At the edges several taps are one element.
    for (int64_t i = 0; i < axis.out; ++i) {
      for (int64_t t = 1; t < axis.taps; ++t) {
        for (int64_t u = 0; u < t; ++u) {
          if (axis.at(i, t) != axis.at(i, u)) continue;
          sums[static_cast<size_t>(i * axis.taps + u)] += sums[static_cast<size_t>(i * axis.taps + t)];
          sums[static_cast<size_t>(i * axis.taps + t)] = 0;
          break;
        }
      }
    }
    const double greatest = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
    while (precision < 21 && static_cast<int64_t>(0.5 + greatest * (1 << (precision + 1))) < (1 << 15)) ++precision;
    for (double sum : sums) weight.push_back(static_cast<int32_t>((sum < 0 ? -0.5 : 0.5) + sum * (1 << precision)));
  }
};

/// One axis of [outer, axis, inner].
void resample_bytes_along(const ResampleAxis& axis, int64_t outer, int64_t inner, const uint8_t* in, uint8_t* out) {
  const ByteWeights weights(axis);
  const int32_t half = weights.precision > 0 ? 1 << (weights.precision - 1) : 0;
  parallel_for(outer, std::max<int64_t>(1, kWork / std::max<int64_t>(1, axis.out * inner)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t o = begin; o < end; ++o) {
                   const uint8_t* from = in + o * axis.in * inner;
                   uint8_t* to = out + o * axis.out * inner;
                   for (int64_t i = 0; i < axis.out; ++i, to += inner) {
                     const int32_t* w = weights.weight.data() + i * axis.taps;
                     for (int64_t k = 0; k < inner; ++k) {
                       int32_t sum = half;
                       for (int64_t t = 0; t < axis.taps; ++t) sum += w[t] * from[axis.at(i, t) * inner + k];
                       to[k] = static_cast<uint8_t>(std::clamp(sum >> weights.precision, 0, 255));
                     }
                   }
                 }
               });
}

template <class T>
void interpolate(const ResampleShape& shape, const T* in, T* out) {
  const ResampleAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const auto wz = weights_of<T>(za), wy = weights_of<T>(ya), wx = weights_of<T>(xa);
  const int64_t rows = za.out * ya.out, units = shape.planes * rows;
  const int64_t slots = slots_for(units, xa.out * xa.taps + xa.in * za.taps * ya.taps);
  auto buffers = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(slots * xa.in));
  over_slots(units, slots, [&](int64_t slot, int64_t unit) {
    const T* plane = in + unit / rows * shape.in();
    const int64_t z = unit % rows / ya.out, y = unit % ya.out;
    T* blend = buffers.get() + slot * xa.in;
    const T* row = nullptr;
    for (int64_t a = 0; a < za.used(z); ++a) {
      for (int64_t b = 0; b < ya.used(y); ++b) {
        const T weight = wz[static_cast<size_t>(z * za.taps + a)] * wy[static_cast<size_t>(y * ya.taps + b)];
        const T* from = plane + (za.at(z, a) * ya.in + ya.at(y, b)) * xa.in;
        if (za.weight.empty() && ya.weight.empty()) {
          row = from;
        } else if (row == nullptr) {
          for (int64_t x = 0; x < xa.in; ++x) blend[x] = weight * from[x];
          row = blend;
        } else {
          for (int64_t x = 0; x < xa.in; ++x) blend[x] += weight * from[x];
        }
      }
    }
    widen(xa, wx, row, out + unit * xa.out);
  });
}

void interpolate_bytes(const ResampleShape& shape, const uint8_t* in, uint8_t* out) {
  const ResampleAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const int64_t rows = shape.planes * za.in * ya.in, planes = shape.planes * za.in;
  std::vector<uint8_t> wide(static_cast<size_t>(rows * xa.out)), high(static_cast<size_t>(planes * ya.out * xa.out));
  resample_bytes_along(xa, rows, 1, in, wide.data());
  resample_bytes_along(ya, planes, xa.out, wide.data(), high.data());
  resample_bytes_along(za, shape.planes, ya.out * xa.out, high.data(), out);
}

template <class T>
void input_gradient(const ResampleShape& shape, const T* grad, T* out) {
  const ResampleAxis &za = shape.axes[0], &ya = shape.axes[1], &xa = shape.axes[2];
  const auto wz = weights_of<T>(za), wy = weights_of<T>(ya), wx = weights_of<T>(xa);
  const int64_t slots = slots_for(shape.planes, shape.out() * (xa.taps + za.taps * ya.taps));
  const bool only_moves = za.weight.empty() && ya.weight.empty() && xa.weight.empty();
  auto buffers = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(slots * xa.in));
  over_slots(shape.planes, slots, [&](int64_t slot, int64_t unit) {
    T* plane = out + unit * shape.in();
    const T* g = grad + unit * shape.out();
    T* row = buffers.get() + slot * xa.in;
    std::fill_n(plane, shape.in(), T(0));
    for (int64_t z = 0; z < za.out; ++z) {
      for (int64_t y = 0; y < ya.out; ++y, g += xa.out) {
        if (only_moves) {
          T* to = plane + (za.at(z, 0) * ya.in + ya.at(y, 0)) * xa.in;
          for (int64_t x = 0; x < xa.out; ++x) to[xa.index[static_cast<size_t>(x)]] += g[x];
          continue;
        }
        std::fill_n(row, xa.in, T(0));
        for (int64_t x = 0; x < xa.out; ++x) {
          for (int64_t t = 0; t < xa.used(x); ++t) row[xa.at(x, t)] += wx[static_cast<size_t>(x * xa.taps + t)] * g[x];
        }
        for (int64_t a = 0; a < za.used(z); ++a) {
          for (int64_t b = 0; b < ya.used(y); ++b) {
            const auto weight = wz[static_cast<size_t>(z * za.taps + a)] * wy[static_cast<size_t>(y * ya.taps + b)];
            T* to = plane + (za.at(z, a) * ya.in + ya.at(y, b)) * xa.in;
            for (int64_t x = 0; x < xa.in; ++x) to[x] += weight * row[x];
          }
        }
      }
    }
  });
}

}  // namespace

void resample_move(const kernels::ResampleShape& shape, const View& in, const View& out) {
  const ResampleShape tables(shape, in.dtype);
  dispatch_size(in.dtype, [&](auto word) {
    using W = decltype(word);
    gather_rows(tables, in.as<const W>(), out.as<W>());
  });
}

void resample_interpolate(const kernels::ResampleShape& shape, const View& in, const View& out) {
  const ResampleShape tables(shape, in.dtype);
  if (in.dtype == DType::UInt8) return interpolate_bytes(tables, in.as<const uint8_t>(), out.as<uint8_t>());
  dispatch_real(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    interpolate(tables, in.as<const T>(), out.as<T>());
  });
}

void resample_backward(const kernels::ResampleShape& shape, const View& in, const View& out) {
  const ResampleShape tables(shape, in.dtype);
  dispatch(in.dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) input_gradient(tables, in.as<const T>(), out.as<T>());
  });
}

}  // namespace adjoint::cpu
