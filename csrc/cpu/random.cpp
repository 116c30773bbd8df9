// The distributions made from the draws of a Mersenne Twister.
//
// Note [Torch's streams]
// How torch turns draws into numbers, found by experiment with torch 2.13 and tested against it:
// - A float is made from the low 24 bits of one 32-bit draw, a double from the low 53 bits of a 64-bit draw. The half
//   types are made as floats and rounded; a uniform number that rounds to the upper bound becomes the lower bound.
// - Whole numbers are a draw modulo the length of the range: 32 bits up to length 2 ** 28 - 1, 64 bits from there.
// - All other distributions draw doubles, whatever the type, but for a tensor of probabilities that are not doubles.
// - Compared on an AMD CPU. A torch that takes bernoulli_(p) or exponential_ from MKL has another stream for them, with
//   the same distribution.
#include "cpu/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>

#include "core/error.h"
#include "core/whole_range.h"
#include "cpu/half_rows.h"
#include "cpu/parallel.h"
#include "cpu/random_draws.h"
#include "cpu/random_isa.h"

namespace adjoint {
namespace {

/// Draws are taken this many at a time, so that what is made of them stays in the first-level cache.
constexpr int64_t kChunk = 512;
constexpr int64_t kBlock = cpu::kNormalBlock;

const cpu::RandomLoops& loops = chosen<cpu::RandomLoops>;

// The loops by type.
void stretch(float* values, int64_t n, float low, float high) { loops.stretch_floats(values, n, low, high); }
void stretch(double* values, int64_t n, double low, double high) { loops.stretch_doubles(values, n, low, high); }
void normal_blocks(float* values, int64_t blocks, float mean, float std) {
  loops.normal_blocks(values, blocks, mean, std);
}

// ---- Drawing in chunks and storing as any type -------------------------------------------------------------------

/// Calls body(start, words, count) for each chunk of n 32-bit draws.
template <class Body>
void draw32(Generator& generator, int64_t n, Body body) {
  uint32_t words[kChunk];
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = std::min(kChunk, n - start);
    draw_words(generator, words, count);
    body(start, words, count);
  }
}

/// Calls body(start, bits, count) for each chunk of n 64-bit draws.
template <class Body>
void draw64(Generator& generator, int64_t n, Body body) {
  uint32_t words[2 * kChunk];
  uint64_t bits[kChunk];
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = std::min(kChunk, n - start);
    draw_words(generator, words, 2 * count);
    loops.pair_words(words, bits, count);
    body(start, bits, count);
  }
}

void fill_unit(Generator& generator, float* out, int64_t n) {
  draw32(generator, n,
         [=](int64_t start, const uint32_t* words, int64_t count) { loops.unit_floats(words, out + start, count); });
}

void fill_unit(Generator& generator, double* out, int64_t n) {
  draw64(generator, n,
         [=](int64_t start, const uint64_t* bits, int64_t count) { loops.unit_doubles(bits, out + start, count); });
}

/// Writes `values` as elements [start, start + n) of `data`. The type must not be complex.
template <class From>
void store(DType dtype, void* data, int64_t start, const From* values, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, Half>) {
      float floats[kChunk];
      for (int64_t done = 0; done < n; done += kChunk) {
        int64_t count = std::min(kChunk, n - done);
        for (int64_t i = 0; i < count; ++i) floats[i] = static_cast<float>(values[done + i]);
        cpu::narrow_row(floats, static_cast<Half*>(data) + start + done, count);
      }
    } else if constexpr (!is_complex_v<T>) {
      T* out = static_cast<T*>(data) + start;
      for (int64_t i = 0; i < n; ++i) out[i] = convert<T>(values[i]);
    }
  });
}

// ---- Argument checks ---------------------------------------------------------------------------------------------

void check_kernel(bool supported, const char* kernel, DType dtype, const char* advice) {
  if (supported) return;
  fail(ErrorKind::NotImplemented, '"', kernel, "\" not implemented for '", info(dtype).legacy_name, "'; ", advice);
}

void check_continuous(const char* distribution, DType dtype) {
  if (is_float(dtype)) return;
  fail(distribution, " distribution is a continuous probability distribution. dtype must be a floating point but you ",
       "specified ", info(dtype).legacy_name, "; fill a floating point tensor and convert it");
}

void check_uniform(DType dtype, double low, double high) {
  double limit = float_limits(dtype).greatest;
  auto check = [&](const char* name, double bound) {
    if (bound >= -limit && bound <= limit) return;
    fail("uniform_: ", name, " is out of bounds for ", info(dtype).name, "; got ", name, "=", bound,
         "; pass a finite value of at most ", limit, " in magnitude");
  };
  check("from", low);
  check("to", high);
  if (low > high) {
    fail("uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high, "; swap the bounds");
  }
  if (high - low > limit) {
    fail("uniform_ expects to-from <= std::numeric_limits<", info(dtype).legacy_name, ">::max(), but found to=", high,
         " and from=", low, " which result in to-from to exceed the limit; narrow the range");
  }
}

// ---- The bodies shared by several distributions ------------------------------------------------------------------

void fill_range32(Generator& generator, DType dtype, void* data, int64_t n, WholeRange range) {
  // The remainder as the upper half of a product with the fractional part of word / length: exact for 32 bits.
  uint64_t reciprocal = ~uint64_t{0} / range.length + 1;
  draw32(generator, n, [=](int64_t start, const uint32_t* words, int64_t count) {
    int64_t values[kChunk];
    for (int64_t i = 0; i < count; ++i) {
      uint64_t fraction = reciprocal * words[i];
      values[i] = range.low + static_cast<int64_t>((static_cast<unsigned __int128>(fraction) * range.length) >> 64);
    }
    store(dtype, data, start, values, count);
  });
}

void fill_range64(Generator& generator, DType dtype, void* data, int64_t n, WholeRange range) {
  // Powers of two, 2 ** 64 with its length of 0 among them, need no division.
  bool masked = (range.length & (range.length - 1)) == 0;
  draw64(generator, n, [=](int64_t start, const uint64_t* bits, int64_t count) {
    int64_t values[kChunk];
    for (int64_t i = 0; i < count; ++i) {
      uint64_t remainder = masked ? bits[i] & (range.length - 1) : bits[i] % range.length;
      values[i] = static_cast<int64_t>(static_cast<uint64_t>(range.low) + remainder);
    }
    store(dtype, data, start, values, count);
  });
}

void fill_range(Generator& generator, DType dtype, void* data, int64_t n, WholeRange range) {
  std::lock_guard lock(generator.mutex());
  bool small = range.length != 0 && range.length < (uint64_t{1} << 28);
  (small ? fill_range32 : fill_range64)(generator, dtype, data, n, range);
}

template <class Real>
void fill_uniform_real(Generator& generator, Real* out, int64_t n, double low, double high) {
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = std::min(kChunk, n - start);
    fill_unit(generator, out + start, count);
    if (low != 0 || high != 1) stretch(out + start, count, static_cast<Real>(low), static_cast<Real>(high));
  }
}

/// Fills with f(u), u uniform in [0, 1) as a double.
template <class F>
void fill_mapped(Generator& generator, DType dtype, void* data, int64_t n, F f) {
  std::lock_guard lock(generator.mutex());
  auto map_and_store = [=](double* uniform, int64_t start, int64_t count) {
    for (int64_t i = 0; i < count; ++i) uniform[i] = f(uniform[i]);
    store(dtype, data, start, uniform, count);
  };
  if (n <= kChunk) {
    double uniform[kChunk];
    fill_unit(generator, uniform, n);
    map_and_store(uniform, 0, n);
    return;
  }
  // The draws are serial; the logarithms, which take longer, are not.
  constexpr int64_t batch = 1 << 16;
  std::vector<double> uniform(static_cast<size_t>(std::min(n, batch)));
  for (int64_t start = 0; start < n; start += batch) {
    int64_t count = std::min(batch, n - start);
    fill_unit(generator, uniform.data(), count);
    parallel_for(count, 4096, [&](int64_t begin, int64_t end) {
      map_and_store(uniform.data() + begin, start + begin, end - begin);
    });
  }
}

/// Fills with f(z), z standard normal, element by element.
template <class F>
void fill_from_normal(Generator& generator, DType dtype, void* data, int64_t n, F f) {
  double values[kChunk];
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = std::min(kChunk, n - start);
    for (int64_t i = 0; i < count; ++i) values[i] = f(draw_normal(generator));
    store(dtype, data, start, values, count);
  }
}

// Doubles use the scalar functions, as torch does: their results agree to the last bit or nearly.
void normal_blocks(double* values, int64_t blocks, double mean, double std) {
  constexpr double two_pi = 2 * std::numbers::pi;
  for (int64_t b = 0; b < blocks; ++b, values += kBlock) {
    for (int64_t i = 0; i < kBlock / 2; ++i) {
      double radius = std::sqrt(-2 * std::log(1 - values[i]));
      double angle = two_pi * values[i + kBlock / 2];
      values[i] = std::fma(radius * std::cos(angle), std, mean);
      values[i + kBlock / 2] = std::fma(radius * std::sin(angle), std, mean);
    }
  }
}

/// n >= 16 numbers. What is left over after whole blocks is covered by a fresh block that ends at the last element.
template <class T>
void fill_normal_blocks(Generator& generator, T* out, int64_t n, double mean, double std) {
  T real_mean = static_cast<T>(mean), real_std = static_cast<T>(std);
  constexpr int64_t grain = 512;
  fill_unit(generator, out, n);
  auto transform = [=](int64_t begin, int64_t end) {
    normal_blocks(out + begin * kBlock, end - begin, real_mean, real_std);
  };
  if (n / kBlock <= grain) {
    transform(0, n / kBlock);
  } else {
    parallel_for(n / kBlock, grain, transform);
  }
  if (n % kBlock != 0) {
    fill_unit(generator, out + n - kBlock, kBlock);
    normal_blocks(out + n - kBlock, 1, real_mean, real_std);
  }
}

/// The same for the half types, which draw nothing for the elements beyond the last whole block.
void fill_normal_blocks_half(Generator& generator, DType dtype, void* data, int64_t n, double mean, double std) {
  float values[kChunk];
  auto fill = [&](int64_t start, int64_t count) {
    fill_unit(generator, values, count);
    normal_blocks(values, count / kBlock, static_cast<float>(mean), static_cast<float>(std));
    store(dtype, data, start, values, count);
  };
  int64_t whole = n / kBlock * kBlock;
  for (int64_t start = 0; start < whole; start += kChunk) fill(start, std::min(kChunk, whole - start));
  if (n != whole) fill(n - kBlock, kBlock);
}

}  // namespace

// ---- The fills ---------------------------------------------------------------------------------------------------

void fill_uniform(Generator& generator, DType dtype, void* data, int64_t n, double low, double high) {
  if (is_complex(dtype)) return fill_uniform(generator, real_type(dtype), data, 2 * n, low, high);
  check_kernel(is_float(dtype), "check_uniform_bounds", dtype, "fill a floating point tensor and convert it");
  check_uniform(dtype, low, high);
  std::lock_guard lock(generator.mutex());
  if (dtype == DType::Float32) return fill_uniform_real(generator, static_cast<float*>(data), n, low, high);
  if (dtype == DType::Float64) return fill_uniform_real(generator, static_cast<double*>(data), n, low, high);
  float values[kChunk], ends[2] = {static_cast<float>(low), static_cast<float>(high)};
  uint16_t half_ends[2];
  store(dtype, half_ends, 0, ends, 2);
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = std::min(kChunk, n - start);
    fill_uniform_real(generator, values, count, low, high);
    store(dtype, data, start, values, count);
    uint16_t* out = static_cast<uint16_t*>(data) + start;
    for (int64_t i = 0; i < count; ++i) {
      // Equal as numbers: the same bits, or a zero of either sign.
      bool at_high = out[i] == half_ends[1] || ((out[i] | half_ends[1]) & 0x7fff) == 0;
      out[i] = at_high ? half_ends[0] : out[i];
    }
  }
}

void fill_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean, double std,
                 NormalStream stream) {
  if (!(std >= 0)) fail("normal expects std >= 0.0, but found std ", std, "; pass the standard deviation");
  if (is_complex(dtype)) {
    return fill_normal(generator, real_type(dtype), data, 2 * n, mean, std / std::numbers::sqrt2, stream);
  }
  check_kernel(is_float(dtype), "normal_kernel_cpu", dtype, "fill a floating point tensor and convert it");
  std::lock_guard lock(generator.mutex());
  if (n < kBlock || stream == NormalStream::Elementwise) {
    fill_from_normal(generator, dtype, data, n, [=](double z) { return std::fma(z, std, mean); });
  } else if (dtype == DType::Float32) {
    fill_normal_blocks(generator, static_cast<float*>(data), n, mean, std);
  } else if (dtype == DType::Float64) {
    fill_normal_blocks(generator, static_cast<double*>(data), n, mean, std);
  } else {
    fill_normal_blocks_half(generator, dtype, data, n, mean, std);
  }
}

void fill_randint(Generator& generator, DType dtype, void* data, int64_t n, int64_t low, int64_t high) {
  fill_range(generator, dtype, data, n, bounded_range(dtype, low, high));
}

void fill_random_from(Generator& generator, DType dtype, void* data, int64_t n, int64_t low) {
  fill_range(generator, dtype, data, n, half_open_range(dtype, low));
}

void fill_random_full(Generator& generator, DType dtype, void* data, int64_t n) {
  check_kernel(!is_complex(dtype), "random_kernel_cpu", dtype, "fill a real tensor and convert it");
  WholeRange range = half_open_range(dtype, 0);
  std::lock_guard lock(generator.mutex());
  // Here the type decides, not the length: int32 has 2 ** 31 values, from 32 bits.
  if (itemsize(dtype) == 8) {
    fill_range64(generator, dtype, data, n, range);
  } else {
    fill_range32(generator, dtype, data, n, range);
  }
}

void randperm(Generator& generator, int64_t* data, int64_t n) {
  if (n < 0) fail("randperm: n must be non-negative; got n=", n, "; pass the number of elements to permute");
  std::lock_guard lock(generator.mutex());
  if (n < static_cast<int64_t>(std::numeric_limits<uint32_t>::max() / 20)) {
    std::iota(data, data + n, int64_t{0});
    draw32(generator, n - 1, [=](int64_t start, const uint32_t* words, int64_t count) {
      uint32_t other[kChunk];
      // Where the swaps go is known ahead of them, and so the memory can be on its way.
      for (int64_t i = 0; i < count; ++i) {
        uint32_t here = static_cast<uint32_t>(start + i);
        other[i] = here + words[i] % (static_cast<uint32_t>(n) - here);
        __builtin_prefetch(data + other[i], 1);
      }
      for (int64_t i = 0; i < count; ++i) std::swap(data[start + i], data[other[i]]);
    });
    return;
  }
  // From here on 32 bits would be visibly uneven: 64 of them, and torch builds the permutation from its front.
  draw64(generator, n, [=](int64_t start, const uint64_t* bits, int64_t count) {
    for (int64_t i = start; i < start + count; ++i) {
      int64_t other = static_cast<int64_t>(bits[i - start] % static_cast<uint64_t>(i + 1));
      data[i] = i;
      std::swap(data[i], data[other]);
    }
  });
}

namespace {

/// The bit pattern of one.
uint64_t one_bits(DType dtype) {
  alignas(8) char bytes[8] = {};
  double one = 1;
  store(dtype, bytes, 0, &one, 1);
  uint64_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

}  // namespace

void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, double p) {
  if (!(p >= 0 && p <= 1)) {
    fail("bernoulli_ expects p to be in [0, 1], but got p=", p, "; pass a probability");
  }
  check_kernel(!is_complex(dtype), "bernoulli_scalar_cpu_", dtype, "fill a real tensor and convert it");
  std::lock_guard lock(generator.mutex());
  uint64_t one = one_bits(dtype), threshold = static_cast<uint64_t>(std::ceil(p * 0x1p53));
  draw64(generator, n, [=](int64_t start, const uint64_t* bits, int64_t count) {
    char* out = static_cast<char*>(data) + start * itemsize(dtype);
    loops.mark_below(bits, threshold, one, itemsize(dtype), out, count);
  });
}

void fill_bernoulli(Generator& generator, DType dtype, void* data, int64_t n, DType p_dtype, const void* p) {
  check_kernel(!is_complex(dtype), "bernoulli_tensor_cpu_self_", dtype, "fill a real tensor and convert it");
  check_kernel(is_float(p_dtype), "bernoulli_tensor_cpu_p_", p_dtype, "pass the probabilities in a floating type");
  dispatch(p_dtype, [&](auto tag) {
    using P = decltype(tag);
    if constexpr (std::is_floating_point_v<P> || is_half_v<P>) {
      using Real = std::conditional_t<std::is_same_v<P, double>, double, float>;
      const P* chances = static_cast<const P*>(p);
      int64_t bad = 0;
      for (int64_t i = 0; i < n; ++i) {
        Real chance = convert<Real>(chances[i]);
        bad += !(chance >= 0 && chance <= 1);
      }
      if (bad != 0) {
        fail("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false; ", bad, " of ", n,
             " probabilities lie outside of [0, 1] or are nan; pass probabilities");
      }
      std::lock_guard lock(generator.mutex());
      Real uniform[kChunk];
      for (int64_t start = 0; start < n; start += kChunk) {
        int64_t count = std::min(kChunk, n - start);
        fill_unit(generator, uniform, count);
        for (int64_t i = 0; i < count; ++i) uniform[i] = uniform[i] < convert<Real>(chances[start + i]);
        store(dtype, data, start, uniform, count);
      }
    }
  });
}

void fill_exponential(Generator& generator, DType dtype, void* data, int64_t n, double lambda) {
  check_continuous("Exponential", dtype);
  if (!(lambda > 0)) {
    fail("exponential_ expects lambda > 0.0, but found lambda=", lambda, "; pass the rate, one over the mean");
  }
  double scale = -1 / lambda;
  fill_mapped(generator, dtype, data, n, [=](double u) { return scale * std::log1p(-u); });
}

void fill_geometric(Generator& generator, DType dtype, void* data, int64_t n, double p) {
  check_kernel(!is_complex(dtype) && dtype != DType::Bool, "geometric_cpu", dtype, "use an integer or floating type");
  if (!(p > 0 && p < 1)) fail("geometric_ expects p to be in (0, 1), but got p=", p, "; pass a probability");
  double log_failure = std::log1p(-p);
  fill_mapped(generator, dtype, data, n, [=](double u) { return std::ceil(std::log(u) / log_failure); });
}

void fill_cauchy(Generator& generator, DType dtype, void* data, int64_t n, double median, double sigma) {
  check_continuous("Cauchy", dtype);
  if (!(sigma > 0)) fail("cauchy_ expects sigma > 0.0, but found sigma=", sigma, "; pass the half width");
  fill_mapped(generator, dtype, data, n,
              [=](double u) { return std::fma(sigma, std::tan(std::numbers::pi * (u - 0.5)), median); });
}

void fill_log_normal(Generator& generator, DType dtype, void* data, int64_t n, double mean, double std) {
  check_kernel(is_float(dtype), "log_normal_cpu", dtype, "fill a floating point tensor and convert it");
  if (!(std > 0)) {
    fail("log_normal_ expects std > 0.0, but found std=", std, "; pass the standard deviation of the logarithm");
  }
  std::lock_guard lock(generator.mutex());
  fill_from_normal(generator, dtype, data, n, [=](double z) { return std::exp(std::fma(z, std, mean)); });
}

}  // namespace adjoint
