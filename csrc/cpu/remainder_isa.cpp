// The loops of fmod and remainder of real numbers, which take the place of the generated ones: fmod of the C library
// takes one number at a time, and quotients are small nearly always. See Note [Instruction sets] in cpu/isa.h.
#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/isa.h"

namespace adjoint {
namespace {

constexpr int64_t kBlock = 512;

/// a - trunc(a / b) b, exact while the quotient is below 2^28: doubles hold all of its products with a float.
/// Without a whole quotient all of a is left; 0 times an infinite b would not be a number.
inline bool quick_rest(float a, float b, float& rest) {
  const double quotient = std::trunc(static_cast<double>(a) / b);
  rest = std::fabs(a) < std::fabs(b) ? a : static_cast<float>(a - quotient * b);
  return std::fabs(quotient) < 268435456.0;
}
/// The same while the quotient is below 2^52. Rounded up, it is one too large; the rest has the wrong sign then.
inline bool quick_rest(double a, double b, double& rest) {
  const double quotient = std::trunc(a / b);
  const double first = __builtin_fma(-quotient, b, a);
  const bool beyond = (a < 0 ? -first : first) < 0;
  const double last = beyond ? first + std::copysign(b, a) : first;
  rest = quotient == 0 ? a : last;
  return std::fabs(quotient) < 4503599627370496.0;
}

/// rests[i] = fmod(a[i], b[i]) for a block; false where a quotient was too large (or none).
template <class T>
bool quick_rests(const T* a, const T* b, T* rests, int64_t n) {
  int slow = 0;
  for (int64_t i = 0; i < n; ++i) {
    T rest;
    slow |= !quick_rest(a[i], b[i], rest);
    rests[i] = std::copysign(rest, a[i]);
  }
  return slow == 0;
}

/// The sign of a remainder is that of b.
template <class T>
void shift_rests(const T* b, T* rests, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool shift = (rests[i] != 0) & ((rests[i] < 0) != (b[i] < 0));
    rests[i] = shift ? rests[i] + b[i] : rests[i];
  }
}

template <bool remainder, class T>
void loop(char* const* arrays, int64_t n, const Scalar*) {
  T* result = reinterpret_cast<T*>(arrays[0]);
  const T* a = reinterpret_cast<const T*>(arrays[1]);
  const T* b = reinterpret_cast<const T*>(arrays[2]);
  T rests[kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t m = n - done < kBlock ? n - done : kBlock;
    if (!quick_rests(a + done, b + done, rests, m)) {
      for (int64_t i = 0; i < m; ++i) rests[i] = std::fmod(a[done + i], b[done + i]);
    }
    if (remainder) shift_rests(b + done, rests, m);
    for (int64_t i = 0; i < m; ++i) result[done + i] = rests[i];
  }
}

template <bool remainder>
void add(const char* name) {
  register_loop(name, ResultKind::Same, 2, 0, DType::Float32, loop<remainder, float>);
  register_loop(name, ResultKind::Same, 2, 0, DType::Float64, loop<remainder, double>);
}

}  // namespace

template <Isa>
void register_remainder_loops() {
  add<false>("fmod");
  add<true>("remainder");
}
template void register_remainder_loops<kIsa>();

}  // namespace adjoint
