// Indexing kernels that write at computed places: scatter, index_add and their kin, index_put, embedding_backward.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "cpu/indexing.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

using namespace indexing;

template <class T>
using Compute = std::conditional_t<is_half_v<T>, float, T>;

// Integer arithmetic wraps, as torch's does: done unsigned, at least as wide as int so that promotion cannot overflow.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return T(static_cast<Compute<T>>(a) + static_cast<Compute<T>>(b));
  }
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else if constexpr (is_complex_v<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return T(static_cast<Compute<T>>(a) * static_cast<Compute<T>>(b));
  }
}

/// What becomes of an old element `a` when `b` arrives.
template <class T>
struct Assign {
  explicit Assign(const Scalar*) {}
  T operator()(T, T b) const { return b; }
};
template <class T>
struct Add {
  explicit Add(const Scalar*) {}
  T operator()(T a, T b) const { return plus(a, b); }
};
template <class T>
struct AddScaled {
  Compute<T> alpha;
  explicit AddScaled(const Scalar* scale) : alpha(scale->to<Compute<T>>()) {}
  T operator()(T a, T b) const { return T(plus(static_cast<Compute<T>>(a), times(static_cast<Compute<T>>(b), alpha))); }
};
template <class T>
struct Multiply {
  explicit Multiply(const Scalar*) {}
  T operator()(T a, T b) const { return times(a, b); }
};
/// The greater one, or the lesser; nan where either is.
template <class T, bool kGreater>
struct Extreme {
  explicit Extreme(const Scalar*) {}
  T operator()(T a, T b) const {
    const Compute<T> old = static_cast<Compute<T>>(a), fresh = static_cast<Compute<T>>(b);
    // Written as one comparison and a choice, which needs no branch: it could not be foretold.
    const Compute<T> extreme = kGreater ? (old > fresh ? old : fresh) : (old < fresh ? old : fresh);
    return old != old ? a : T(extreme);
  }
};
template <class T>
using Greatest = Extreme<T, true>;
template <class T>
using Least = Extreme<T, false>;

/// A scatter over a walk of (index, dst, src): dst[i + index[i] * step] takes src[i] where low <= index[i] < high.
struct Job {
  const int64_t* index;
  char* dst;
  const char* src;
  int64_t step;       ///< elements of `dst` from one index to the next
  int64_t low, high;  ///< the range of indices that this job writes
  const Scalar* alpha = nullptr;
};

using JobRunner = void (*)(const Walk<3>&, const Job&);

/// One stretch of a job. Parameters by value, so that stores cannot change what the loops read.
template <class T, class Op>
inline void scatter_row(const int64_t* index, int64_t index_step, T* dst, int64_t dst_step, const T* src,
                        int64_t src_step, int64_t step, uint64_t low, uint64_t span, Op op, int64_t n) {
  if (index_step == 1 && src_step == 1 && dst_step == 0 && step == 1) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) {
      const int64_t place = index[i];
      if (static_cast<uint64_t>(place) - low < span) dst[place] = op(dst[place], src[i]);
    }
    return;
  }
  if (index_step != 0) {
    for (; n > 0; --n, index += index_step, dst += dst_step, src += src_step) {
      const int64_t place = *index;
      if (static_cast<uint64_t>(place) - low >= span) continue;
      T& slot = dst[place * step];
      slot = op(slot, *src);
    }
    return;
  }
  if (static_cast<uint64_t>(*index) - low >= span) return;
  dst += *index * step;
  if (dst_step == 1 && src_step == 1) {
    T* __restrict to = dst;
    const T* __restrict from = src;
    for (int64_t i = 0; i < n; ++i) to[i] = op(to[i], from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_step] = op(dst[i * dst_step], src[i * src_step]);
  }
}

template <class T, class Op>
void run_job(const Walk<3>& walk, const Job& job) {
  const uint64_t low = static_cast<uint64_t>(job.low), span = static_cast<uint64_t>(job.high) - low;
  const Op op(job.alpha);
  walk.run(0, walk.numel, [&](const int64_t* at, int64_t n, const int64_t*) {
    scatter_row(job.index + at[0], walk.inner_stride(0), reinterpret_cast<T*>(job.dst) + at[1], walk.inner_stride(1),
                reinterpret_cast<const T*>(job.src) + at[2], walk.inner_stride(2), job.step, low, span, op, n);
  });
}

JobRunner assigning(DType dtype) {
  return dispatch_size(dtype, [](auto word) -> JobRunner { return run_job<decltype(word), Assign<decltype(word)>>; });
}

template <template <class> class Op>
JobRunner combining(DType dtype) {
  return dispatch(dtype, [](auto tag) -> JobRunner { return run_job<decltype(tag), Op<decltype(tag)>>; });
}

template <template <class> class Op>
JobRunner comparing(const char* name, DType dtype) {
  return dispatch(dtype, [&](auto tag) -> JobRunner {
    using T = decltype(tag);
    if constexpr (is_complex_v<T>) {
      fail(ErrorKind::NotImplemented, "\"scatter_reduce_", name, "\" not implemented for '", info(dtype).legacy_name,
           "'; complex numbers have no order: reduce the real and imaginary parts apart");
    } else {
      return run_job<T, Op<T>>;
    }
  });
}

/// Elements of a row that are worth a thread of their own, and those that are worth the test of whose row it is.
constexpr int64_t kColumns = 64;
constexpr int64_t kRow = 16;

/// Runs a job on all threads so that each element of dst belongs to one thread, which sees the indices in their order:
/// results do not depend on the number of threads. `size` is the element size of dst and src.
void spread_job(JobRunner run, const Walk<3>& walk, const Job& job, int64_t size) {
  const int threads = walk.numel <= kGrain ? 1 : num_threads();
  if (threads == 1) return run(walk, job);
  int widest = -1;
  for (int d = 0; d < walk.ndim; ++d) {
    const bool ordered = d >= walk.ordered_begin && d < walk.ordered_end;
    if (!ordered && (widest < 0 || walk.sizes[d] > walk.sizes[widest])) widest = d;
  }
  const int64_t least = widest == walk.ndim - 1 ? kColumns : 1;
  if (widest >= 0 && walk.sizes[widest] >= threads * least) {
    // Slices of a dimension that the index does not choose never meet.
    const int64_t slice = walk.numel / walk.sizes[widest];
    parallel_for(walk.sizes[widest], std::max(least, kGrain / slice), [&](int64_t begin, int64_t end) {
      Walk<3> part = walk;
      part.sizes[widest] = end - begin;
      part.numel = slice * (end - begin);
      Job mine = job;
      mine.index += begin * walk.strides[0][widest];
      mine.dst += begin * walk.strides[1][widest] * size;
      mine.src += begin * walk.strides[2][widest] * size;
      run(part, mine);
    });
    return;
  }
  const int inner = walk.ndim - 1;
  if (walk.strides[0][inner] != 0 || walk.sizes[inner] < kRow) return run(walk, job);
  // Each thread reads all indices and writes the rows of its own range.
  const int64_t range = job.high - job.low;
  parallel_for(range, (range + threads - 1) / threads, [&](int64_t begin, int64_t end) {
    Job mine = job;
    mine.low = job.low + begin;
    mine.high = job.low + end;
    run(walk, mine);
  });
}

/// One value of `like`'s dtype, seen as a view of `like`'s sizes.
struct Constant {
  int64_t strides[kMaxDims];
  View view;
  Constant(const void* value, const View& like)
      : view{static_cast<char*>(const_cast<void*>(value)), like.dtype, like.ndim, like.sizes, strides} {
    std::fill_n(strides, like.ndim, 0);
  }
  Constant(const Constant&) = delete;
};

/// A scatter along one dimension, checked and ready to run with any operation.
class Scatter {
 public:
  Scatter(const char* op, const View& dst, int dim, const View& index)
      : dst_(at_least_1d(dst)), dim_(dim), index_(at_least_1d(index), dst_) {
    check_index(ErrorKind::Runtime, "", op, *index_, dst_, dim_);
  }

  void run(JobRunner runner, const View& src) const { run(runner, src, dst_); }

  /// Into another view of dst's sizes.
  void run(JobRunner runner, const View& src_view, const View& dst) const {
    if (index_->numel() == 0) return;
    const Snapshot src(at_least_1d(src_view), dst);
    const Unstepped to(dst, dim_);
    const Walk<3> walk(dst.ndim, index_->sizes, {index_->strides, to.strides, src->strides}, Merge::Yes, dim_,
                       dim_ + 1);
    spread_job(runner, walk, {index_->as<const int64_t>(), dst.data, src->data, dst.strides[dim_], 0, dst.sizes[dim_]},
               itemsize(dst.dtype));
  }

  const View& dst() const { return dst_; }

 private:
  View dst_;
  int dim_;
  Snapshot index_;
};

/// The value that a reduction starts from, written where the old values do not take part.
template <class T>
T identity(Reduction reduction) {
  using Limits = std::numeric_limits<Compute<T>>;
  if constexpr (!is_complex_v<T>) {
    if (reduction == Reduction::AMax) return T(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    if (reduction == Reduction::AMin) return T(Limits::has_infinity ? Limits::infinity() : Limits::max());
  }
  return reduction == Reduction::Prod ? T(1) : T(0);
}

JobRunner reducing(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::Prod: return combining<Multiply>(dtype);
    case Reduction::AMax: return comparing<Greatest>("amax", dtype);
    case Reduction::AMin: return comparing<Least>("amin", dtype);
    default: return combining<Add>(dtype);
  }
}

/// dst /= counts where more than one value was added up; integers round down.
void divide_by_counts(const View& dst, const int64_t* counts, const int64_t* count_strides) {
  const Walk<2> walk(dst.ndim, dst.sizes, {dst.strides, count_strides});
  const int64_t dst_step = walk.inner_stride(0), count_step = walk.inner_stride(1);
  dispatch(dst.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = dst.as<T>();
    parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
      walk.run(begin, end, [&](const int64_t* at, int64_t n, const int64_t*) {
        for (int64_t i = 0; i < n; ++i) {
          const int64_t count = counts[at[1] + i * count_step];
          if (count <= 1) continue;
          T& slot = data[at[0] + i * dst_step];
          if constexpr (std::is_integral_v<T>) {
            const int64_t sum = static_cast<int64_t>(slot), quotient = sum / count;
            slot = static_cast<T>(quotient - (sum % count < 0));
          } else if constexpr (is_complex_v<T>) {
            slot /= static_cast<typename T::value_type>(count);
          } else {
            slot = T(static_cast<Compute<T>>(slot) / static_cast<Compute<T>>(count));
          }
        }
      });
    });
  });
}

/// Slices of `src` along `dim` into the slices of `dst` that a 1-D index names, checked already.
void scatter_slices(JobRunner runner, const View& dst, int dim, const View& index, const View& src_view,
                    const Scalar* alpha = nullptr) {
  const Snapshot src(src_view, dst);
  const Unstepped to(dst, dim);
  const Along along(index, dst.ndim, dim);
  const Walk<3> walk(dst.ndim, src->sizes, {along.strides, to.strides, src->strides}, Merge::Yes, dim, dim + 1);
  spread_job(runner, walk, {index.as<const int64_t>(), dst.data, src->data, dst.strides[dim], 0, dst.sizes[dim], alpha},
             itemsize(dst.dtype));
}

}  // namespace

void scatter(const View& dst, int dim, const View& index, const View& src) {
  Scatter("scatter", dst, dim, index).run(assigning(dst.dtype), src);
}

void scatter_value(const View& dst, int dim, const View& index, const void* value) {
  const Scatter plan("scatter", dst, dim, index);
  plan.run(assigning(dst.dtype), Constant(value, plan.dst()).view);
}

void scatter_add(const View& dst, int dim, const View& index, const View& src) {
  Scatter("scatter_add", dst, dim, index).run(combining<Add>(dst.dtype), src);
}

void scatter_reduce(const View& dst, int dim, const View& index, const View& src_view, Reduction reduction,
                    bool include_self) {
  if (reduction == Reduction::Mean && dst.dtype == DType::Bool) {
    fail(ErrorKind::NotImplemented, "\"scatter_reduce_mean\" not implemented for 'Bool'; convert to a number first");
  }
  const JobRunner runner = reducing(reduction, dst.dtype);
  const Scatter plan("scatter_reduce", dst, dim, index);
  const Snapshot src(src_view, dst);
  if (!include_self) {
    dispatch(dst.dtype, [&](auto tag) {
      const auto start = identity<decltype(tag)>(reduction);
      plan.run(assigning(dst.dtype), Constant(&start, plan.dst()).view);
    });
  }
  const int64_t numel = plan.dst().numel();
  if (reduction != Reduction::Mean || numel == 0) return plan.run(runner, *src);

  const int64_t one = 1, self = include_self ? 1 : 0;
  const auto counts = std::make_unique_for_overwrite<int64_t[]>(numel);
  std::fill_n(counts.get(), numel, self);
  plan.run(runner, *src);
  View counted = plan.dst();
  int64_t strides[kMaxDims];
  contiguous_strides(counted, strides);
  counted.data = reinterpret_cast<char*>(counts.get());
  counted.dtype = DType::Int64;
  counted.strides = strides;
  plan.run(combining<Add>(DType::Int64), Constant(&one, counted).view, counted);
  divide_by_counts(plan.dst(), counts.get(), strides);
}

void index_add(const View& dst_view, int dim, const View& index_view, const View& src_view, const Scalar& alpha) {
  const View dst = at_least_1d(dst_view), src = at_least_1d(src_view);
  const Snapshot index(at_least_1d(index_view), dst);
  if (src.numel() == 0) return;
  check_index(ErrorKind::Runtime, "", "index_add", *index, dst, dim);
  const bool plain = alpha.to<complex128>() == complex128(1);
  scatter_slices(plain ? combining<Add>(dst.dtype) : combining<AddScaled>(dst.dtype), dst, dim, *index, src, &alpha);
}

void index_reduce(const View& dst_view, int dim, const View& index_view, const View& src_view, Reduction reduction,
                  bool include_self) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst), src(at_least_1d(src_view), dst);
  const JobRunner runner = reducing(reduction, dst.dtype);
  check_index(ErrorKind::Index, "index out of range in self; ", "index_reduce", *index, dst, dim);
  if (src->numel() == 0) return;
  if (!include_self) {
    dispatch(dst.dtype, [&](auto tag) {
      const auto start = identity<decltype(tag)>(reduction);
      scatter_slices(assigning(dst.dtype), dst, dim, *index, Constant(&start, *src).view);
    });
  }
  scatter_slices(runner, dst, dim, *index, *src);
  if (reduction != Reduction::Mean) return;
  const auto counts = std::make_unique_for_overwrite<int64_t[]>(dst.sizes[dim]);
  std::fill_n(counts.get(), dst.sizes[dim], include_self ? 1 : 0);
  for (int64_t i = 0; i < index->sizes[0]; ++i) ++counts[index->as<const int64_t>()[i * index->strides[0]]];
  int64_t strides[kMaxDims] = {};
  strides[dim] = 1;
  divide_by_counts(dst, counts.get(), strides);
}

void index_copy(const View& dst_view, int dim, const View& index_view, const View& src_view) {
  const View dst = at_least_1d(dst_view), src = at_least_1d(src_view);
  const Snapshot index(at_least_1d(index_view), dst);
  if (src.numel() == 0) return;
  check_index(ErrorKind::Index, "index_copy_(): ", "index_copy", *index, dst, dim);
  scatter_slices(assigning(dst.dtype), dst, dim, *index, src);
}

void index_fill(const View& dst_view, int dim, const View& index_view, const void* value) {
  const View dst = at_least_1d(dst_view);
  const Snapshot index(at_least_1d(index_view), dst);
  if (dst.numel() == 0 && dst.sizes[dim] > 0) return;
  check_index(ErrorKind::Index, "", "index_fill", *index, dst, dim, true);
  const int64_t n = index->sizes[0], packed[1] = {1};
  const auto places = std::make_unique_for_overwrite<int64_t[]>(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t place = index->as<const int64_t>()[i * index->strides[0]];
    places[i] = place < 0 ? place + dst.sizes[dim] : place;
  }
  int64_t filled[kMaxDims];
  std::copy_n(dst.sizes, dst.ndim, filled);
  filled[dim] = n;
  const Constant constant(value, {nullptr, dst.dtype, dst.ndim, filled, filled});
  scatter_slices(assigning(dst.dtype), dst, dim,
                 {reinterpret_cast<char*>(places.get()), DType::Int64, 1, index->sizes, packed}, constant.view);
}

void index_put(const View& dst, int count, const View* const* indices, const View& src_view, bool accumulate) {
  check_same_dtype("index_put", dst, src_view);
  const Snapshot src(src_view, dst);
  const Advanced plan("index_put", dst, count, indices, *src);
  if (src->numel() == 0) return;
  const Walk<3> walk(src->ndim, src->sizes, {plan.offset_strides, plan.strides, src->strides}, Merge::Yes, 0,
                     indices[0]->ndim);
  spread_job(accumulate ? combining<Add>(dst.dtype) : assigning(dst.dtype), walk,
             {plan.offsets, dst.data, src->data, 1, plan.low, plan.high + 1}, itemsize(dst.dtype));
}

std::optional<int64_t> put(const View& dst, const View& index, const View& src, bool accumulate) {
  const JobRunner run = accumulate ? combining<Add>(dst.dtype) : assigning(dst.dtype);
  const int64_t size = dst.sizes[0], count = index.sizes[0], packed = 1, still = 0;
  // Blocks of indices, which are still in the cache when they are used.
  constexpr int64_t kBlock = 512;
  int64_t places[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const int64_t* x = index.as<const int64_t>() + begin * index.strides[0];
    bool outside = false;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t place = x[i * index.strides[0]];
      outside |= place < -size || place >= size;
      places[i] = place < 0 ? place + size : place;
    }
    if (outside) return *find_outside(index, -size, size);
    run(Walk<3>(1, &n, {&packed, &still, src.strides}),
        {places, dst.data, src.data + begin * src.strides[0] * itemsize(src.dtype), dst.strides[0], 0, size});
  }
  return std::nullopt;
}

void embedding_backward(const View& g, const View& index_view, int64_t padding_idx, const View& gweight) {
  View index = index_view;
  check_index(ErrorKind::Index, "index out of range in self; ", "embedding_backward", index, gweight, 0);
  if (padding_idx < 0) return scatter_slices(combining<Add>(g.dtype), gweight, 0, index, g);

  // An index of -1 lies in no thread's range.
  const int64_t n = index.sizes[0], packed[1] = {1};
  const auto kept = std::make_unique_for_overwrite<int64_t[]>(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = index.as<const int64_t>()[i * index.strides[0]];
    kept[i] = row == padding_idx ? -1 : row;
  }
  index.data = reinterpret_cast<char*>(kept.get());
  index.strides = packed;
  scatter_slices(combining<Add>(g.dtype), gweight, 0, index, g);
}

}  // namespace adjoint::cpu
