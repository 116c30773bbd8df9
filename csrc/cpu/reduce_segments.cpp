// Segments of rows joined to one row each.
#include <algorithm>
#include <limits>

#include "core/dtype.h"
#include "cpu/parallel.h"
#include "cpu/reduce.h"

namespace adjoint::cpu {
namespace {

/// Elements that one thread takes at least.
constexpr int64_t kGrain = 1 << 15;

template <class T, class Join>
void join_segments(const View& in, const View& ends, const View& out, T start, Join join) {
  const int64_t lines = in.sizes[0], rows = in.sizes[1], count = ends.sizes[1] - 1, segments = lines * count;
  if (segments <= 0 || out.numel() == 0) return;
  const int64_t inner = out.numel() / segments, each = std::max<int64_t>(in.numel() / segments + inner, 1);
  const auto* data = in.as<T>();
  const auto* places = ends.as<int64_t>();
  auto* results = out.as<T>();
  parallel_for(segments, std::max<int64_t>(kGrain / each, 1), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t line = i / count;
      const int64_t* place = places + line * (count + 1) + i % count;
      const int64_t begin = std::clamp<int64_t>(place[0], 0, rows), end = std::clamp<int64_t>(place[1], begin, rows);
      const T* row = data + (line * rows + begin) * inner;
      T* result = results + i * inner;
      if (inner == 1) {
        T joined = start;
        for (int64_t r = 0; r < end - begin; ++r) joined = join(joined, row[r]);
        *result = joined;
        continue;
      }
      std::fill_n(result, inner, start);
      for (int64_t r = begin; r < end; ++r, row += inner)
        for (int64_t j = 0; j < inner; ++j) result[j] = join(result[j], row[j]);
    }
  });
}

template <class T>
void join_by(const View& in, const View& ends, const View& out, kernels::Segments kind) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  switch (kind) {
    case kernels::Segments::Sum: return join_segments<T>(in, ends, out, 0, [](T a, T x) { return a + x; });
    case kernels::Segments::Prod: return join_segments<T>(in, ends, out, 1, [](T a, T x) { return a * x; });
    // A nan wins, and stays.
    case kernels::Segments::Max:
      return join_segments<T>(in, ends, out, -infinity, [](T a, T x) { return x > a || x != x ? x : a; });
    case kernels::Segments::Min:
      return join_segments<T>(in, ends, out, infinity, [](T a, T x) { return x < a || x != x ? x : a; });
  }
}

}  // namespace

void segments(const View& in, const View& ends, const View& out, kernels::Segments kind) {
  if (in.dtype == DType::Float32) return join_by<float>(in, ends, out, kind);
  join_by<double>(in, ends, out, kind);
}

}  // namespace adjoint::cpu
