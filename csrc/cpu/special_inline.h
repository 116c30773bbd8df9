// Special functions written without branches, so that loops over them become vector code. Part of math.h, which
// includes this file inside the namespace of an instruction set, where the functions of the C library stand ready.

#define ADJOINT_ALWAYS_INLINE inline __attribute__((always_inline))

/// The terms of a Chebyshev series that matter to T.
template <class T, size_t N>
constexpr size_t terms_for(const double (&series)[N]) {
  if (sizeof(T) == sizeof(double)) return N;
  double largest = 0;
  for (double term : series)
    largest = largest > term ? (largest > -term ? largest : -term) : (term > -term ? term : -term);
  size_t count = N;
  while (count > 2 && series[count - 1] < 4e-9 * largest && series[count - 1] > -4e-9 * largest) --count;
  return count;
}

/// The rest of Clenshaw's recurrence, from term I downwards.
template <const auto& series, size_t I, Floating T>
ADJOINT_ALWAYS_INLINE T clenshaw(T t, T b, T above) {
  if constexpr (I == 0) {
    return t * b - above + static_cast<T>(series[0]);
  } else {
    return clenshaw<series, I - 1>(t, (t + t) * b - above + static_cast<T>(series[I]), b);
  }
}
/// The Chebyshev series at t in [-1, 1].
template <const auto& series, Floating T>
ADJOINT_ALWAYS_INLINE T chebyshev(T t) {
  return clenshaw<series, terms_for<T>(series) - 1>(t, T(0), T(0));
}

/// condition ? a : b, by masking bits: from several conditions on one value the compiler would make branches.
template <Floating T>
ADJOINT_ALWAYS_INLINE T choose(bool condition, T a, T b) {
  const BitsOf<T> mask = -static_cast<BitsOf<T>>(condition);
  return std::bit_cast<T>((std::bit_cast<BitsOf<T>>(a) & mask) | (std::bit_cast<BitsOf<T>>(b) & ~mask));
}
// Bounds that let nan through.
template <Floating T>
ADJOINT_ALWAYS_INLINE T at_least(T x, T low) {
  return choose(x < low, low, x);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T at_most(T x, T high) {
  return choose(x > high, high, x);
}

// ---- Modified Bessel functions: a series up to 8, another in 1/x beyond

template <Floating T>
ADJOINT_ALWAYS_INLINE T i0e(T x) {
  const T size = std::fabs(x), far = at_least(size, T(8));
  const T small = chebyshev<tables::I0_SMALL>(at_most(size, T(8)) / 4 - 1);
  const T large = chebyshev<tables::I0_LARGE>(16 / far - 1) / std::sqrt(far);
  return choose(size <= 8, small, large);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T i1e(T x) {
  const T size = std::fabs(x), far = at_least(size, T(8));
  const T small = size * chebyshev<tables::I1_SMALL>(at_most(size, T(8)) / 4 - 1);
  const T large = chebyshev<tables::I1_LARGE>(16 / far - 1) / std::sqrt(far);
  const T value = choose(size <= 8, small, large);
  return choose(x < 0, -value, value);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T i0(T x) {
  return exp(std::fabs(x)) * i0e(x);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T i1(T x) {
  return exp(std::fabs(x)) * i1e(x);
}

/// K0(x), or exp(x) K0(x), for x up to 2 and beyond.
template <bool scaled, Floating T>
ADJOINT_ALWAYS_INLINE T second_kind_0(T x) {
  const T near = at_most(x, T(2)), far = at_least(x, T(2)), growth = exp(near);
  const T i0_near = growth * chebyshev<tables::I0_SMALL>(near / 4 - 1);
  const T small = chebyshev<tables::K0_SMALL>(near * near / 2 - 1) - log(near / 2) * i0_near;
  const T large = chebyshev<tables::K0_LARGE>(4 / far - 1) / std::sqrt(far);
  return choose(x <= 2, scaled ? small * growth : small, scaled ? large : large * exp(-far));
}
template <bool scaled, Floating T>
ADJOINT_ALWAYS_INLINE T second_kind_1(T x) {
  const T near = at_most(x, T(2)), far = at_least(x, T(2)), growth = exp(near);
  const T i1_near = growth * near * chebyshev<tables::I1_SMALL>(near / 4 - 1);
  const T small = chebyshev<tables::K1_SMALL>(near * near / 2 - 1) / near + log(near / 2) * i1_near;
  const T large = chebyshev<tables::K1_LARGE>(4 / far - 1) / std::sqrt(far);
  const T value = choose(x <= 2, scaled ? small * growth : small, scaled ? large : large * exp(-far));
  return choose(x == 0, std::numeric_limits<T>::infinity(), value);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T modified_bessel_k0(T x) {
  return second_kind_0<false>(x);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T modified_bessel_k1(T x) {
  return second_kind_1<false>(x);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T scaled_modified_bessel_k0(T x) {
  return second_kind_0<true>(x);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T scaled_modified_bessel_k1(T x) {
  return second_kind_1<true>(x);
}

// ---- Bessel functions: a series in x^2 up to 5; beyond, waves whose amplitudes P and Q / x are series in 1 / x^2

template <Floating T>
struct Wave {
  T first, second;  // kind
};
/// The cosine of x - (2 order + 1) pi / 4 is written as a sine: from both of one number the compiler would make a call
/// of sincos, which has no vector version.
template <const auto& p_table, const auto& q_table, int order, Floating T>
ADJOINT_ALWAYS_INLINE Wave<T> bessel_wave(T x) {
  constexpr T quarter = T(0.78539816339744830962);
  const T cosine = sin(x + (1 - 2 * order) * quarter), sine = sin(x - (1 + 2 * order) * quarter);
  const T ratio = 5 / x, t = 2 * ratio * ratio - 1;
  const T p = chebyshev<p_table>(t), q = chebyshev<q_table>(t) / x;
  const T scale = std::sqrt(T(0.63661977236758134308) / x);
  return {scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)};
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T bessel_argument(T near) {
  return near * near * T(0.08) - 1;
}

template <Floating T>
ADJOINT_ALWAYS_INLINE T bessel_j0(T x) {
  const T size = std::fabs(x);
  const T near = chebyshev<tables::J0_SMALL>(bessel_argument(at_most(size, T(5))));
  const T far = bessel_wave<tables::P0, tables::Q0, 0>(at_least(size, T(5))).first;
  return choose(size <= 5, near, far);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T bessel_j1(T x) {
  const T size = std::fabs(x);
  const T near = x * chebyshev<tables::J1_SMALL>(bessel_argument(at_most(size, T(5))));
  const T far = bessel_wave<tables::P1, tables::Q1, 1>(at_least(size, T(5))).first;
  return choose(size <= 5, near, std::copysign(far, far * x));
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T bessel_y0(T x) {
  const T close = at_most(x, T(5)), t = bessel_argument(close), two_over_pi = T(0.63661977236758134308);
  const T near = chebyshev<tables::Y0_SMALL>(t) + two_over_pi * log(close) * chebyshev<tables::J0_SMALL>(t);
  const T far = bessel_wave<tables::P0, tables::Q0, 0>(at_least(x, T(5))).second;
  return choose(x <= 5, near, far);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T bessel_y1(T x) {
  const T close = at_most(x, T(5)), t = bessel_argument(close), two_over_pi = T(0.63661977236758134308);
  const T j1 = close * chebyshev<tables::J1_SMALL>(t);
  const T near = close * chebyshev<tables::Y1_SMALL>(t) + two_over_pi * (log(close) * j1 - 1 / close);
  const T far = bessel_wave<tables::P1, tables::Q1, 1>(at_least(x, T(5))).second;
  return choose(x == 0, -std::numeric_limits<T>::infinity(), choose(x <= 5, near, far));
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T spherical_bessel_j0(T x) {
  const T quotient = sin(x) / x;
  return choose(x == 0, T(1), choose(isinf(x), T(0), quotient));
}

// ---- Relatives of the error function

/// Where the normal distribution function is 1/2 + q, given also p = 1/2 - |q| in full precision. With `far_tail`, p
/// can be below 1e-10.
template <bool far_tail, Floating T>
ADJOINT_ALWAYS_INLINE T normal_quantile(T q, T p) {
  constexpr T width = T(0.180625);
  const T square = q * q, r = std::sqrt(-log(p));
  const T centre = q * chebyshev<tables::NDTRI_CENTRE>(at_most(square, width) * (2 / width) - 1);
  const T tail = chebyshev<tables::NDTRI_TAIL>((2 * at_most(r, T(5)) - T(6.6)) / T(3.4));
  T size = tail;
  if constexpr (far_tail) {
    const T t = (2 * at_most(at_least(r, T(5)), T(27.5)) - T(32.5)) / T(22.5);
    size = choose(r <= 5, tail, chebyshev<tables::NDTRI_FAR_TAIL>(t));
  }
  size = choose(p == 0, std::numeric_limits<T>::infinity(), size);
  return choose(square <= width, centre, std::copysign(size, q));
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T erfinv(T y) {
  const T value =
      T(0.70710678118654752440) * normal_quantile<sizeof(T) == sizeof(double)>(y / 2, (1 - std::fabs(y)) / 2);
  return choose(std::fabs(y) <= 1, value, std::numeric_limits<T>::quiet_NaN());
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T ndtri(T p) {
  const T value = normal_quantile<true>(p - T(0.5), choose(p < T(0.5), p, 1 - p));
  return choose((p >= 0) & (p <= 1), value, std::numeric_limits<T>::quiet_NaN());
}

template <Floating T>
ADJOINT_ALWAYS_INLINE T erfcx(T x) {
  const T size = std::fabs(x), bounded = at_most(size, T(1e8)), middle = T(3.75);
  const T series = chebyshev<tables::ERFCX>((bounded - middle) / (bounded + middle)) / (1 + 2 * bounded);
  const T right = series * (bounded / size);  // beyond the bound it is 1 / (sqrt(pi) x)
  const T value = choose(size <= T(1e8), series, right);
  const T left = 2 * exp(x * x) - value;
  return choose(x < 0, left, value);
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T log_ndtr(T x) {
  const T t = x * T(0.70710678118654752440);
  const T left = log(erfcx(-t) / 2) - t * t;
  const T right = log1p(erfc(t) / -2);
  return choose(x < -1, left, right);
}

// ---- The logarithm of the gamma function and its derivatives: asymptotic series from 8 on

/// B(2j), the Bernoulli numbers.
inline constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                        -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};

/// How many of them T needs.
template <class T>
inline constexpr size_t kBernoulliCount = sizeof(T) == sizeof(double) ? 10 : 5;

/// B(2) / f(1) + B(4) / f(2) x + B(6) / f(3) x^2 + ..., where f(j) is 1, or 2 j if `doubled`; from term J on.
template <bool doubled, size_t J, Floating T>
ADJOINT_ALWAYS_INLINE T bernoulli_series(T x) {
  constexpr T term = static_cast<T>(kBernoulli[J - 1] / (doubled ? 2.0 * J : 1.0));
  if constexpr (J == kBernoulliCount<T>) {
    return term;
  } else {
    return term + x * bernoulli_series<doubled, J + 1>(x);
  }
}

/// x^-1 + (x + 1)^-1 + ... + (x + 7)^-1, or of the squares.
template <bool squared, size_t K = 0, Floating T>
ADJOINT_ALWAYS_INLINE T shifted_inverses(T x) {
  if constexpr (K == 8) {
    return T(0);
  } else {
    const T shifted = x + static_cast<T>(K);
    return 1 / (squared ? shifted * shifted : shifted) + shifted_inverses<squared, K + 1>(x);
  }
}

template <Floating T>
ADJOINT_ALWAYS_INLINE T digamma(T x) {
  constexpr T pi = T(3.14159265358979323846);
  const T y = choose(x < 0, 1 - x, x), far = choose(y < 8, y + 8, y);
  const T inverse = 1 / far, square = inverse * inverse;
  const T series = square * bernoulli_series<true, 1>(square);
  const T value = log(far) - inverse / 2 - series - choose(y < 8, shifted_inverses<false>(y), T(0));
  const T fraction = x - std::rint(x);
  const T reflected = value - pi / tan(pi * fraction);
  const T zero_pole = std::copysign(std::numeric_limits<T>::infinity(), -x);
  const T pole = choose(x == 0, zero_pole, std::numeric_limits<T>::quiet_NaN());
  return choose(x > 0, value, choose((x < 0) & (fraction != 0), reflected, pole));
}
template <Floating T>
ADJOINT_ALWAYS_INLINE T trigamma(T x) {
  constexpr T pi = T(3.14159265358979323846);
  const T y = choose(x < 0, 1 - x, x), far = choose(y < 8, y + 8, y);
  const T inverse = 1 / far, square = inverse * inverse;
  const T series = inverse * square * bernoulli_series<false, 1>(square);
  const T value = inverse + square / 2 + series + choose(y < 8, shifted_inverses<true>(y), T(0));
  // At a pole the sine is what the type makes of pi, as in torch.
  const T fraction = x - std::rint(x), sine = sin(pi * choose(fraction == 0, x, fraction));
  const T reflected = pi * pi / (sine * sine) - value;
  return choose(x < 0, reflected, value);
}

/// In double precision: what cancels near the zeros at 1 and 2 does not matter to a float.
ADJOINT_ALWAYS_INLINE float lgamma(float x) {
  constexpr double pi = 3.14159265358979323846, half_log_two_pi = 0.91893853320467274178;
  const double exact = x, y = choose(exact < 0, 1 - exact, exact), far = choose(y < 8, y + 8, y);
  const double product = (y * (y + 1)) * ((y + 2) * (y + 3)) * ((y + 4) * (y + 5)) * ((y + 6) * (y + 7));
  const double inverse = 1 / far, square = inverse * inverse;
  const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  const double value = (far - 0.5) * log(far) - far + half_log_two_pi + series - log(choose(y < 8, product, 1.0));
  const double fraction = exact - std::rint(exact);
  const double reflected = log(pi / std::fabs(sin(pi * fraction))) - value;
  const float result = static_cast<float>(choose(exact < 0, reflected, value));
  return choose(isinf(x), std::numeric_limits<float>::infinity(), result);
}
