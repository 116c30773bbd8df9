// Stockham's algorithm for a group of lines: passes over the factors of the length, and pairs in and out.
#include "cpu/fft_isa.h"

#include <utility>

#include "cpu/vector_math.h"

namespace adjoint::cpu {
namespace {

/// Complex numbers with their parts in two arrays.
template <class T>
struct Split {
  T *re, *im;
  Split exchanged() const { return {im, re}; }
};

/// cos and sin of 2 pi k / Radix, for k from 1 to half the radix.
template <int Radix>
struct Circle;
template <>
struct Circle<3> {
  static constexpr double cos[] = {-0.5}, sin[] = {0.86602540378443864676};
};
template <>
struct Circle<5> {
  static constexpr double cos[] = {0.30901699437494742410, -0.80901699437494742410};
  static constexpr double sin[] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct Circle<7> {
  static constexpr double cos[] = {0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624};
  static constexpr double sin[] = {0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};

/// What is loaded or stored as a pair of scalars.
enum class Pairs { Complex, Neighbours, None };

/// Where the pairs of a group of lines lie, counted in scalars.
struct Places {
  int64_t offset[16];  ///< of each line's first
  int64_t lanes, used;
  int64_t step;   ///< from a pair to the next
  int64_t pair;   ///< from the first of a pair to the second
  int64_t apart;  ///< from a line to the next, where that is the same for all lanes; else 0

  template <class T>
  Places(const Fft<T>& fft, int64_t first, int64_t length, Pairs pairs)
      : lanes(fft.lanes), used(lanes < fft.lines() - first ? lanes : fft.lines() - first) {
    const int64_t width = pairs == Pairs::Complex ? 2 : 1;
    int64_t column = first % fft.inner, start = first / fft.inner * length * fft.inner;
    const bool beside = lanes > 1 && used == lanes && column + lanes <= fft.inner;
    apart = beside ? width : 0;
    for (int64_t b = 0; b < used; ++b) {
      offset[b] = width * (start + column);
      if (++column < fft.inner) continue;
      column = 0;
      start += length * fft.inner;
    }
    step = fft.inner * (pairs == Pairs::None ? 1 : 2);
    pair = pairs == Pairs::Complex ? 1 : pairs == Pairs::Neighbours ? fft.inner : 0;
  }
};

template <class T>
void clear(T* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = T(0);
}

template <class T, int Lanes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(Lanes * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
struct VectorOf<T, 1> {
  using Type = T;
};

/// Complex numbers, one in each lane.
template <class T, int Lanes>
struct Pair {
  using Vector = typename VectorOf<T, Lanes>::Type;
  Vector re, im;
};
template <class P>
[[gnu::always_inline]] inline P add(P a, P b) {
  return {a.re + b.re, a.im + b.im};
}
template <class P>
[[gnu::always_inline]] inline P subtract(P a, P b) {
  return {a.re - b.re, a.im - b.im};
}
/// By as many numbers, or by one for all.
template <class P, class Q>
[[gnu::always_inline]] inline P multiply(P a, Q b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T, int Lanes>
[[gnu::always_inline]] inline Pair<T, Lanes> load(const T* re, const T* im) {
  using V = typename VectorOf<T, Lanes>::Type;
  return {*reinterpret_cast<const V*>(re), *reinterpret_cast<const V*>(im)};
}

template <class P>
[[gnu::always_inline]] inline void butterfly_4(P& x0, P& x1, P& x2, P& x3) {
  const P a = add(x0, x2), b = subtract(x0, x2), c = add(x1, x3), d = subtract(x1, x3);
  x0 = add(a, c);
  x1 = {b.re + d.im, b.im - d.re};
  x2 = subtract(a, c);
  x3 = {b.re - d.im, b.im + d.re};
}

/// The transform of Radix values, in place.
template <class T, int Radix, class P>
[[gnu::always_inline]] inline void butterfly(P* x) {
  if constexpr (Radix == 2) {
    const P a = x[0];
    x[0] = add(a, x[1]);
    x[1] = subtract(a, x[1]);
  } else if constexpr (Radix == 4) {
    butterfly_4(x[0], x[1], x[2], x[3]);
  } else if constexpr (Radix == 8) {
    butterfly_4(x[0], x[2], x[4], x[6]);
    butterfly_4(x[1], x[3], x[5], x[7]);
    constexpr T half = static_cast<T>(0.70710678118654752440);  // the root of one half
    const P odd[4] = {x[1],
                      {(x[3].re + x[3].im) * half, (x[3].im - x[3].re) * half},
                      {x[5].im, -x[5].re},
                      {(x[7].im - x[7].re) * half, -(x[7].re + x[7].im) * half}};
    const P even[4] = {x[0], x[2], x[4], x[6]};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      x[k] = add(even[k], odd[k]);
      x[k + 4] = subtract(even[k], odd[k]);
    }
  } else {
    // Values at both ends share their factors: cosines of the sum, sines of the difference.
    constexpr int half = Radix / 2;
    P sum[half], difference[half];
    const P first = x[0];
#pragma GCC unroll 4
    for (int j = 0; j < half; ++j) {
      sum[j] = add(x[j + 1], x[Radix - 1 - j]);
      difference[j] = subtract(x[j + 1], x[Radix - 1 - j]);
      x[0] = add(x[0], sum[j]);
    }
#pragma GCC unroll 4
    for (int k = 1; k <= half; ++k) {
      P even = first, odd = {};
#pragma GCC unroll 4
      for (int j = 1; j <= half; ++j) {
        const int turn = j * k % Radix, folded = turn > half ? Radix - turn : turn;
        const T c = static_cast<T>(Circle<Radix>::cos[folded - 1]);
        const T s = static_cast<T>(turn > half ? -Circle<Radix>::sin[folded - 1] : Circle<Radix>::sin[folded - 1]);
        even = {even.re + sum[j - 1].re * c, even.im + sum[j - 1].im * c};
        odd = {odd.re + difference[j - 1].re * s, odd.im + difference[j - 1].im * s};
      }
      x[k] = {even.re + odd.im, even.im - odd.re};
      x[Radix - k] = {even.re - odd.im, even.im + odd.re};
    }
  }
}

/// One pass: out[(Radix p + j) s + q] = w^(p j) * the transform, over i, of in[(p + m i) s + q]. Vectors run along q;
/// the last one overlaps the one before it.
template <class T, int Radix, int Lanes>
void pass(Split<T> in, Split<T> out, int64_t m, int64_t s, const T* twiddles) {
  using V = typename VectorOf<T, Lanes>::Type;
  for (int64_t p = 0; p < m; ++p) {
    for (int64_t next = 0; next < s; next += Lanes) {
      const int64_t q = next < s - Lanes ? next : s - Lanes;
      Pair<T, Lanes> x[Radix];
#pragma GCC unroll 8
      for (int i = 0; i < Radix; ++i) {
        const int64_t at = (p + m * i) * s + q;
        x[i] = load<T, Lanes>(in.re + at, in.im + at);
      }
      butterfly<T, Radix>(x);
#pragma GCC unroll 8
      for (int j = 0; j < Radix; ++j) {
        if (j > 0) x[j] = multiply(x[j], load<T, 1>(twiddles + (2 * j - 2) * m + p, twiddles + (2 * j - 1) * m + p));
        const int64_t at = (Radix * p + j) * s + q;
        *reinterpret_cast<V*>(out.re + at) = x[j].re;
        *reinterpret_cast<V*>(out.im + at) = x[j].im;
      }
    }
  }
}

template <class T, int... I>
[[gnu::always_inline]] inline void zip(typename VectorOf<T, sizeof...(I)>::Type& a,
                                       typename VectorOf<T, sizeof...(I)>::Type& b, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I);
  const auto low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * lanes)...);
  b = __builtin_shufflevector(a, b, ((I + lanes) / 2 + I % 2 * lanes)...);
  a = low;
}

/// Reorders Count vectors to x[0][0], x[1][0], ... x[0][1], x[1][1], ...: a transposition where there are as many as
/// lanes.
template <class T, int Count, int Lanes>
[[gnu::always_inline]] inline void interleave(typename VectorOf<T, Lanes>::Type* x) {
  using V = typename VectorOf<T, Lanes>::Type;
#pragma GCC unroll 4
  for (int done = 1; done < Count; done *= 2) {
    V y[Count];
#pragma GCC unroll 8
    for (int j = 0; j < Count / 2; ++j) {
      V low = x[j], high = x[j + Count / 2];
      zip<T>(low, high, std::make_integer_sequence<int, Lanes>());
      y[2 * j] = low;
      y[2 * j + 1] = high;
    }
#pragma GCC unroll 16
    for (int j = 0; j < Count; ++j) x[j] = y[j];
  }
}

/// The pass with s = 1, whose vectors run along p.
template <class T, int Radix, int Lanes>
void first_pass(Split<T> in, Split<T> out, int64_t m, const T* twiddles) {
  for (int64_t next = 0; next < m; next += Lanes) {
    const int64_t p = next < m - Lanes ? next : m - Lanes;
    Pair<T, Lanes> x[Radix];
#pragma GCC unroll 8
    for (int i = 0; i < Radix; ++i) x[i] = load<T, Lanes>(in.re + p + m * i, in.im + p + m * i);
    butterfly<T, Radix>(x);
    typename VectorOf<T, Lanes>::Type re[Radix], im[Radix];
#pragma GCC unroll 8
    for (int j = 0; j < Radix; ++j) {
      if (j > 0) {
        x[j] = multiply(x[j], load<T, Lanes>(twiddles + (2 * j - 2) * m + p, twiddles + (2 * j - 1) * m + p));
      }
      re[j] = x[j].re;
      im[j] = x[j].im;
    }
    interleave<T, Radix, Lanes>(re);
    interleave<T, Radix, Lanes>(im);
    using V = typename VectorOf<T, Lanes>::Type;
#pragma GCC unroll 8
    for (int j = 0; j < Radix; ++j) {
      reinterpret_cast<V*>(out.re + Radix * p)[j] = re[j];
      reinterpret_cast<V*>(out.im + Radix * p)[j] = im[j];
    }
  }
}

template <class T, int Radix>
void pass(Split<T> in, Split<T> out, int64_t m, int64_t s, const T* twiddles) {
  constexpr int lanes = kVectorBytes / sizeof(T);
  if constexpr (Radix % 2 == 0) {
    if (s == 1 && m >= lanes) return first_pass<T, Radix, lanes>(in, out, m, twiddles);
  }
  if (s >= lanes) return pass<T, Radix, lanes>(in, out, m, s, twiddles);
  if (s >= lanes / 2) return pass<T, Radix, lanes / 2>(in, out, m, s, twiddles);
  pass<T, Radix, 1>(in, out, m, s, twiddles);
}

/// The transform of `s` lines beside each other. Returns which of the two buffers holds the result.
template <class T>
Split<T> passes(const FftPlan<T>& plan, Split<T> x, Split<T> other, int64_t s) {
  const T* twiddles = plan.twiddles.data();
  int64_t m = plan.n;
  for (int radix : plan.factors) {
    m /= radix;
    switch (radix) {
      case 2: pass<T, 2>(x, other, m, s, twiddles); break;
      case 3: pass<T, 3>(x, other, m, s, twiddles); break;
      case 4: pass<T, 4>(x, other, m, s, twiddles); break;
      case 5: pass<T, 5>(x, other, m, s, twiddles); break;
      case 7: pass<T, 7>(x, other, m, s, twiddles); break;
      default: pass<T, 8>(x, other, m, s, twiddles);
    }
    twiddles += 2 * (radix - 1) * m;
    s *= radix;
    const Split<T> result = other;
    other = x;
    x = result;
  }
  return x;
}

/// Bluestein's algorithm, in place: k j = (k^2 + j^2 - (k - j)^2) / 2 makes the transform a convolution with a chirp.
template <class T>
void chirp_transform(const FftPlan<T>& plan, Split<T> x, double* work, int64_t s) {
  const int64_t size = plan.convolution->n;
  const Split<double> a = {work, work + size * s}, b = {work + 2 * size * s, work + 3 * size * s};
  for (int64_t k = 0; k < plan.n; ++k) {
    const double re = plan.chirp[k], im = plan.chirp[plan.n + k];
    for (int64_t i = k * s; i < (k + 1) * s; ++i) {
      a.re[i] = x.re[i] * re - x.im[i] * im;
      a.im[i] = x.re[i] * im + x.im[i] * re;
    }
  }
  clear(a.re + plan.n * s, (size - plan.n) * s);
  clear(a.im + plan.n * s, (size - plan.n) * s);
  Split<double> y = passes(*plan.convolution, a, b, s);
  for (int64_t k = 0; k < size; ++k) {
    const double re = plan.filter[k], im = plan.filter[size + k];
    for (int64_t i = k * s; i < (k + 1) * s; ++i) {
      const double value = y.re[i] * re - y.im[i] * im;
      y.im[i] = y.re[i] * im + y.im[i] * re;
      y.re[i] = value;
    }
  }
  // The inverse transform is the transform with real and imaginary parts exchanged.
  y = passes(*plan.convolution, y.exchanged(), (y.re == a.re ? b : a).exchanged(), s).exchanged();
  for (int64_t k = 0; k < plan.n; ++k) {
    const double re = plan.chirp[k], im = plan.chirp[plan.n + k];
    for (int64_t i = k * s; i < (k + 1) * s; ++i) {
      x.re[i] = static_cast<T>(y.re[i] * re - y.im[i] * im);
      x.im[i] = static_cast<T>(y.re[i] * im + y.im[i] * re);
    }
  }
}

/// Whether lines of pairs without gaps, one in each lane, are long enough to be transposed by vectors.
template <class T>
bool transposes(const Places& at, int64_t count) {
  return at.lanes > 1 && at.step == 2 && at.pair == 1 && 2 * count * sizeof(T) >= kVectorBytes;
}

/// Calls move(first scalar, first lane) for squares of as many scalars as lanes; the last of a line overlaps.
template <class T, class Move>
[[gnu::always_inline]] inline void each_square(int64_t count, Move move) {
  constexpr int lanes = kVectorBytes / sizeof(T);
  for (int64_t lane = 0; lane < kLanes<T>; lane += lanes) {
    for (int64_t next = 0; next < 2 * count; next += lanes)
      move(next < 2 * count - lanes ? next : 2 * count - lanes, lane);
  }
}

/// Reads pairs of scalars from the lines into the two arrays, [k][lane].
template <class T>
void read(const Places& at, const T* from, int64_t count, Split<T> to) {
  const T* x = from + at.offset[0];
  if (at.lanes == 1 && at.step == 2 && at.pair == 1) {
    for (int64_t k = 0; k < count; ++k) to.re[k] = x[2 * k], to.im[k] = x[2 * k + 1];
  } else if (at.apart == 2 && at.pair == 1) {
    for (int64_t k = 0; k < count; ++k, x += at.step) {
      T *re = to.re + k * kLanes<T>, *im = to.im + k * kLanes<T>;
      for (int b = 0; b < kLanes<T>; ++b) re[b] = x[2 * b], im[b] = x[2 * b + 1];
    }
  } else if (at.apart == 1) {
    for (int64_t k = 0; k < count; ++k, x += at.step) {
      T *re = to.re + k * kLanes<T>, *im = to.im + k * kLanes<T>;
      for (int b = 0; b < kLanes<T>; ++b) re[b] = x[b], im[b] = x[b + at.pair];
    }
  } else if (transposes<T>(at, count)) {
    constexpr int lanes = kVectorBytes / sizeof(T);
    using V = typename VectorOf<T, lanes>::Type;
    each_square<T>(count, [&](int64_t scalar, int64_t lane) {
      V square[lanes];
#pragma GCC unroll 16
      for (int b = 0; b < lanes; ++b) {
        square[b] = *reinterpret_cast<const V*>(from + at.offset[lane + b < at.used ? lane + b : 0] + scalar);
      }
      interleave<T, lanes, lanes>(square);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        T* part = (scalar + i) % 2 ? to.im : to.re;
        *reinterpret_cast<V*>(part + (scalar + i) / 2 * kLanes<T> + lane) = square[i];
      }
    });
  } else {
    for (int64_t b = 0; b < at.lanes; ++b) {
      // Lanes without a line repeat the first one: what is in them is not stored.
      const T* line = from + at.offset[b < at.used ? b : 0];
      for (int64_t k = 0; k < count; ++k) {
        to.re[k * at.lanes + b] = line[k * at.step];
        to.im[k * at.lanes + b] = line[k * at.step + at.pair];
      }
    }
  }
}

/// Writes such pairs, scaled; the first of a pair last: where both are one place, it is what stays.
template <class T>
void write(const Places& at, Split<T> from, int64_t count, T scale, T* to) {
  T* x = to + at.offset[0];
  if (at.lanes == 1 && at.step == 2 && at.pair == 1) {
    for (int64_t k = 0; k < count; ++k) x[2 * k] = from.re[k] * scale, x[2 * k + 1] = from.im[k] * scale;
  } else if (at.apart == 2 && at.pair == 1) {
    for (int64_t k = 0; k < count; ++k, x += at.step) {
      const T *re = from.re + k * kLanes<T>, *im = from.im + k * kLanes<T>;
      for (int b = 0; b < kLanes<T>; ++b) x[2 * b] = re[b] * scale, x[2 * b + 1] = im[b] * scale;
    }
  } else if (at.apart == 1) {
    for (int64_t k = 0; k < count; ++k, x += at.step) {
      const T *re = from.re + k * kLanes<T>, *im = from.im + k * kLanes<T>;
      for (int b = 0; b < kLanes<T>; ++b) x[b + at.pair] = im[b] * scale;
      for (int b = 0; b < kLanes<T>; ++b) x[b] = re[b] * scale;
    }
  } else if (transposes<T>(at, count)) {
    constexpr int lanes = kVectorBytes / sizeof(T);
    using V = typename VectorOf<T, lanes>::Type;
    each_square<T>(count, [&](int64_t scalar, int64_t lane) {
      V square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        const T* part = (scalar + i) % 2 ? from.im : from.re;
        square[i] = *reinterpret_cast<const V*>(part + (scalar + i) / 2 * kLanes<T> + lane) * scale;
      }
      interleave<T, lanes, lanes>(square);
      for (int b = 0; b < lanes && lane + b < at.used; ++b) {
        *reinterpret_cast<V*>(to + at.offset[lane + b] + scalar) = square[b];
      }
    });
  } else {
    for (int64_t b = 0; b < at.used; ++b) {
      T* line = to + at.offset[b];
      for (int64_t k = 0; k < count; ++k) {
        line[k * at.step + at.pair] = from.im[k * at.lanes + b] * scale;
        line[k * at.step] = from.re[k * at.lanes + b] * scale;
      }
    }
  }
}

/// out[k] = combine(in[k], in[m - k], turn[k]) for 0 < k < m: a lane at a time, or along k where there is one only.
template <class T, class Combine>
[[gnu::always_inline]] inline void mirrored(Split<T> in, Split<T> out, int64_t m, int64_t lanes, const T* turns,
                                            Combine combine) {
  if (lanes == 1) {
    ADJOINT_INDEPENDENT
    for (int64_t k = 1; k < m; ++k) combine(in, out, k, m - k, turns[k], turns[m + k]);
  } else {
    for (int64_t k = 1; k < m; ++k) {
      const T re = turns[k], im = turns[m + k];
      ADJOINT_INDEPENDENT
      for (int64_t b = 0; b < kLanes<T>; ++b) combine(in, out, k * kLanes<T> + b, (m - k) * kLanes<T> + b, re, im);
    }
  }
}

/// The first m + 1 values of the transform of 2m real ones, of which the even ones were taken as real parts and the odd
/// ones as imaginary parts: E + w O, where Z = E + i O.
template <class T>
void split_real(Split<T> z, Split<T> out, int64_t m, int64_t lanes, const T* turns) {
  auto combine = [](Split<T> z, Split<T> out, int64_t at, int64_t mirror, T re, T im) {
    const T even_re = z.re[at] + z.re[mirror], even_im = z.im[at] - z.im[mirror];
    const T odd_re = z.im[at] + z.im[mirror], odd_im = z.re[mirror] - z.re[at];
    out.re[at] = T(0.5) * (even_re + (re * odd_re - im * odd_im));
    out.im[at] = T(0.5) * (even_im + (re * odd_im + im * odd_re));
  };
  mirrored(z, out, m, lanes, turns, combine);
  for (int64_t b = 0; b < lanes; ++b) {
    out.re[b] = z.re[b] + z.im[b];
    out.re[m * lanes + b] = z.re[b] - z.im[b];
    out.im[b] = out.im[m * lanes + b] = 0;
  }
}

/// The inverse of that, times 2.
template <class T>
void join_real(Split<T> x, Split<T> out, int64_t m, int64_t lanes, const T* turns) {
  auto combine = [](Split<T> x, Split<T> out, int64_t at, int64_t mirror, T re, T im) {
    const T sum_re = x.re[at] + x.re[mirror], sum_im = x.im[at] - x.im[mirror];
    const T turned_re = x.re[at] - x.re[mirror], turned_im = x.im[at] + x.im[mirror];
    out.re[at] = sum_re - (re * turned_im - im * turned_re);
    out.im[at] = sum_im + (re * turned_re + im * turned_im);
  };
  mirrored(x, out, m, lanes, turns, combine);
  for (int64_t b = 0; b < lanes; ++b) {
    out.re[b] = x.re[b] + x.re[m * lanes + b];
    out.im[b] = x.re[b] - x.re[m * lanes + b];
  }
}

/// x[n - k] = conj(x[k])
template <class T>
void mirror(Split<T> x, int64_t n, int64_t lanes) {
  const int64_t first = (n / 2 + 1) * lanes, size = n * lanes;
  if (lanes == 1) {
    ADJOINT_INDEPENDENT
    for (int64_t k = first; k < n; ++k) x.re[k] = x.re[n - k], x.im[k] = -x.im[n - k];
  } else {
    for (int64_t k = first; k < size; k += kLanes<T>) {
      ADJOINT_INDEPENDENT
      for (int64_t b = 0; b < kLanes<T>; ++b) {
        x.re[k + b] = x.re[size - k + b];
        x.im[k + b] = -x.im[size - k + b];
      }
    }
  }
}

template <class T>
void transform_group(const Fft<T>& fft, int64_t first, T* scratch) {
  const FftPlan<T>& plan = *fft.plan;
  const int64_t lanes = fft.lanes, room = buffer_room(fft);
  const Split<T> a = {scratch, scratch + room}, b = {scratch + 2 * room, scratch + 3 * room};
  auto transform = [&](Split<T> x, Split<T> other) {
    if (!plan.convolution) return passes(plan, x, other, lanes);
    chirp_transform(plan, x, reinterpret_cast<double*>(scratch + 4 * room), lanes);
    return x;
  };
  if (fft.kind == FftKind::Complex) {
    const Places places(fft, first, fft.n, Pairs::Complex);
    read(places, fft.in, fft.n, a);
    const Split<T> y = fft.inverse ? transform(a.exchanged(), b.exchanged()).exchanged() : transform(a, b);
    write(places, y, fft.n, fft.scale, fft.out);
    return;
  }
  const int64_t half = fft.n / 2;
  const Places real(fft, first, fft.n, fft.halved() ? Pairs::Neighbours : Pairs::None);
  if (fft.kind == FftKind::HalfToReal) {
    read(Places(fft, first, half + 1, Pairs::Complex), fft.in, half + 1, a);
    if (fft.halved()) {
      join_real(a, b, half, lanes, plan.turns.data());
      write(real, transform(b.exchanged(), a.exchanged()).exchanged(), half, fft.scale, fft.out);
    } else {
      clear(a.im, lanes);
      mirror(a, fft.n, lanes);
      write(real, transform(a.exchanged(), b.exchanged()).exchanged(), fft.n, fft.scale, fft.out);
    }
    return;
  }
  read(real, fft.in, fft.halved() ? half : fft.n, a);
  if (!fft.halved()) clear(a.im, fft.n * lanes);
  Split<T> y = transform(a, b);
  if (fft.halved()) {
    const Split<T> z = y;
    y = z.re == a.re ? b : a;
    split_real(z, y, half, lanes, plan.turns.data());
    if (fft.kind == FftKind::RealToFull) mirror(y, fft.n, lanes);
  }
  const int64_t count = fft.kind == FftKind::RealToFull ? fft.n : half + 1;
  write(Places(fft, first, count, Pairs::Complex), y, count, fft.scale, fft.out);
}

template <class T>
constexpr FftLoops<T> kLoops = {.transform_group = transform_group<T>};

}  // namespace

template <class T>
template <Isa>
FftLoops<T> FftLoops<T>::compiled() {
  return kLoops<T>;
}
template FftLoops<float> FftLoops<float>::compiled<kIsa>();
template FftLoops<double> FftLoops<double>::compiled<kIsa>();

}  // namespace adjoint::cpu
