// Fills that take a fixed number of draws for each element. See Note [Counters] in philox.h.
#pragma once

#include "cpu/math.h"
#include "kernel.h"
#include "philox.h"
#include "random_args.h"

namespace adjoint::cuda {

/// What is computed with for elements of a type.
template <class T>
using RealFor =
    std::conditional_t<std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4), double, float>;
/// So many numbers a counter gives.
template <class Real>
inline constexpr int kPerCounter = sizeof(Real) == 8 ? 2 : 4;

/// From [0, 1).
template <class Real>
inline Real unit(const Words& words, int i) {
  if constexpr (sizeof(Real) == 8) {
    return static_cast<Real>(words.pair(i) >> 11) * 0x1p-53;
  } else {
    return static_cast<Real>(words.at[i] >> 8) * 0x1p-24f;
  }
}
/// From (0, 1]: down to 2^-33 as a float.
template <class Real>
inline Real positive_unit(const Words& words, int i) {
  if constexpr (sizeof(Real) == 8) {
    return static_cast<Real>((words.pair(i) >> 11) + 1) * 0x1p-53;
  } else {
    return static_cast<Real>(words.at[i]) * 0x1p-32f + 0x1p-33f;
  }
}

inline float sin_of_pi(float x) { return ::sinpif(x); }
inline double sin_of_pi(double x) { return ::sinpi(x); }
inline float cos_of_pi(float x) { return ::cospif(x); }
inline double cos_of_pi(double x) { return ::cospi(x); }

/// All normal numbers of a counter, in pairs (G. Box and M. Muller, 1958).
template <class Real>
inline void normals(const Words& words, Real* out) {
#pragma unroll
  for (int i = 0; i < kPerCounter<Real>; i += 2) {
    const Real radius = std::sqrt(Real(-2) * std::log(positive_unit<Real>(words, i)));
    const Real angle = 2 * unit<Real>(words, i + 1);
    out[i] = radius * cos_of_pi(angle);
    out[i + 1] = radius * sin_of_pi(angle);
  }
}

// ---- Sources: `source(words, first, out)` makes the kPer elements from `first` on of a counter.

template <class T>
struct Uniform {
  using Real = RealFor<T>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
    const Real low = static_cast<Real>(args.first), high = static_cast<Real>(args.second);
    const T bottom = convert<T>(low), top = convert<T>(high);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      // What is rounded up to the end of the range becomes its beginning.
      const T value = convert<T>(unit<Real>(words, i) * (high - low) + low);
      out[i] = convert<Real>(value) >= convert<Real>(top) ? bottom : value;
    }
  }
};

template <class T, bool exponential = false>
struct Normal {
  using Real = RealFor<T>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
    const Real mean = static_cast<Real>(args.first), std = static_cast<Real>(args.second);
    Real made[kPer];
    normals(words, made);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const Real value = made[i] * std + mean;
      out[i] = convert<T>(exponential ? std::exp(value) : value);
    }
  }
};

template <class T>
using LogNormal = Normal<T, true>;

/// The logarithm of a number of (0, 1], never zero: what is divided by it stays finite.
template <class Real>
inline Real log_of_unit(const Words& words, int i) {
  constexpr Real least = std::numeric_limits<Real>::epsilon() / 2;
  return std::min(std::log(positive_unit<Real>(words, i)), -least);
}

template <class T>
struct Exponential {
  using Real = RealFor<T>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
    const Real scale = static_cast<Real>(-1 / args.first);
#pragma unroll
    for (int i = 0; i < kPer; ++i) out[i] = convert<T>(scale * log_of_unit<Real>(words, i));
  }
};

template <class T>
struct Geometric {
  using Real = RealFor<T>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
    const Real log_failure = static_cast<Real>(args.second);
#pragma unroll
    for (int i = 0; i < kPer; ++i)
      out[i] = convert<T>(std::max(std::ceil(log_of_unit<Real>(words, i) / log_failure), Real(1)));
  }
};

template <class T>
struct Cauchy {
  using Real = RealFor<T>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
    const Real median = static_cast<Real>(args.first), sigma = static_cast<Real>(args.second);
    constexpr Real most = Real(0.5) - std::numeric_limits<Real>::epsilon() / 4;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const Real turn = std::max(-most, std::min(positive_unit<Real>(words, i) - Real(0.5), most));
      out[i] = convert<T>(sigma * (sin_of_pi(turn) / cos_of_pi(turn)) + median);
    }
  }
};

/// A word times the length, without its lower half, is a whole number below the length.
template <class T>
struct Whole32 {
  static constexpr int kPer = 4;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
#pragma unroll
    for (int i = 0; i < kPer; ++i)
      out[i] = convert<T>(args.low + static_cast<int64_t>((words.at[i] * args.length) >> 32));
  }
};
template <class T>
struct Whole64 {
  static constexpr int kPer = 2;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      const uint64_t bits = words.pair(i), step = args.length ? __umul64hi(bits, args.length) : bits;
      out[i] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(args.low) + step));
    }
  }
};

/// args.length of 2^32 words are ones.
template <class T>
struct Bernoulli {
  static constexpr int kPer = 4;
  const FillArgs& args;

  void operator()(const Words& words, int64_t, T* out) const {
#pragma unroll
    for (int i = 0; i < kPer; ++i) out[i] = convert<T>(words.at[i] < args.length);
  }
};

/// With chances of type P.
template <class T, class P>
struct BernoulliEach {
  using Real = std::conditional_t<std::is_same_v<P, double>, double, float>;
  static constexpr int kPer = kPerCounter<Real>;
  const FillArgs& args;

  void operator()(const Words& words, int64_t first, T* out) const {
    const P* chances = reinterpret_cast<const P*>(args.given) + first;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (first + i >= args.n) break;
      const Real chance = convert<Real>(chances[i]);
      check(chance >= 0 && chance <= 1, args.faults, FaultKind::Chance, 0, 0, 0);
      out[i] = convert<T>(unit<Real>(words, i) < chance);
    }
  }
};

// ---- The fill

/// Each thread makes elements of 16 bytes at least.
template <class T, class Source>
inline void fill(const FillArgs& args, const Source& source) {
  constexpr int per = Source::kPer, sixteen = 16 / static_cast<int>(sizeof(T)), width = per > sixteen ? per : sixteen;
  struct alignas(16) Elements {
    T values[width];
  };
  const int64_t first = thread_number<int64_t>() * width;
  if (first >= args.n) return;
  Elements made;
#pragma unroll
  for (int i = 0; i < width; i += per) {
    if (first + i < args.n)
      source(args.key.words(static_cast<uint64_t>((first + i) / per)), first + i, made.values + i);
  }
  T* out = reinterpret_cast<T*>(args.data) + first;
  if (reinterpret_cast<uintptr_t>(out) % 16 == 0 && first + width <= args.n) {
    *reinterpret_cast<Elements*>(out) = made;
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (first + i < args.n) out[i] = made.values[i];
  }
}

}  // namespace adjoint::cuda
