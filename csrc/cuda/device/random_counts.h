// Numbers for which an element draws until something is accepted, orders, and what belongs to them.
#pragma once

#include "random.h"

namespace adjoint::cuda {

/// The draws of one element. See Note [Counters] in philox.h.
class Draws {
 public:
  Draws(const FillArgs& args, int64_t element) : args_(args), element_(static_cast<uint64_t>(element)) {}

  /// From [0, 1).
  double uniform() { return unit<double>(words_, next()); }
  /// From (0, 1].
  double positive() { return positive_unit<double>(words_, next()); }
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(positive())), angle = 2 * uniform();
    spare_ = radius * ::sinpi(angle);
    has_spare_ = true;
    return radius * ::cospi(angle);
  }

 private:
  int next() {
    if (used_ == 2) {
      words_ = args_.key.words(element_ | ++counters_ << kPrivateBits);
      used_ = 0;
    }
    return used_++;
  }

  const FillArgs& args_;
  const uint64_t element_;
  uint64_t counters_ = 0;
  Words words_ = {};
  int used_ = 2;
  bool has_spare_ = false;
  double spare_ = 0;
};

/// From so many expected events on, candidates are drawn and rejected (W. Hörmann, 1993).
inline constexpr double kMany = 10;

inline double poisson(Draws& draws, double rate) {
  if (rate == 0 || rate == std::numeric_limits<double>::infinity()) return rate;
  if (rate < kMany) {
    const double limit = std::exp(-rate);
    double product = draws.uniform(), count = 0;
    for (; product > limit; product *= draws.uniform()) ++count;
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), always = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = draws.uniform() - 0.5, v = draws.uniform(), distance = 0.5 - std::fabs(u);
    const double count = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= always) return count;
    if (count < 0 || (distance < 0.013 && v > distance)) continue;
    const double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b);
    if (height <= count * log_rate - rate - std::lgamma(count + 1)) return count;
  }
}

/// log(k!) beyond Stirling's formula.
inline double stirling_rest(double k) {
  if (k <= 9) {
    const double root = std::sqrt(k + 1);
    return std::lgamma(k + 1) - ((k + 1) * std::log(k + 1) - (k + 1) - std::log(root) + 0.918938533204672742);
  }
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/// The successes of n trials from the gaps between them, which are geometric.
inline double binomial_by_gaps(Draws& draws, double n, double p) {
  const double log_failure = std::log1p(-p);
  double trials = 0;
  for (double count = 0;; ++count) {
    trials += std::max(std::ceil(std::log(draws.positive()) / log_failure), 1.0);
    if (trials > n) return count;
  }
}

inline double binomial_by_rejection(Draws& draws, double n, double p) {
  const double deviation = std::sqrt(n * p * (1 - p)), odds = p / (1 - p), mode = std::floor((n + 1) * p);
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, center = n * p + 0.5;
  const double always = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  while (true) {
    const double u = draws.uniform() - 0.5, v = draws.uniform(), distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + center);
    if (distance >= 0.07 && v <= always) return k;
    if (k < 0 || k > n) continue;
    const double height = std::log(v * alpha / (a / (distance * distance) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
    if (height <= bound) return k;
  }
}

inline double binomial(Draws& draws, double n, double p) {
  if (p != p) return p;
  if (!(n > 0) || p <= 0) return 0;
  if (n == std::numeric_limits<double>::infinity() || p >= 1) return n;
  const double rarer = p <= 0.5 ? p : 1 - p;
  const double count = n * rarer >= kMany ? binomial_by_rejection(draws, n, rarer) : binomial_by_gaps(draws, n, rarer);
  return p <= 0.5 ? count : n - count;
}

/// G. Marsaglia and W. W. Tsang, 2000.
template <class T>
inline T gamma_number(Draws& draws, T given) {
  const T least = std::numeric_limits<T>::min();
  if (!(given > 0)) return least;
  double scale = 1, shape = given;
  if (shape < 1) {  // one of shape + 1, made smaller
    scale = std::pow(draws.positive(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3.0, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = draws.normal(), root = 1 + c * x;
    while (root <= 0) {
      x = draws.normal();
      root = 1 + c * x;
    }
    const double v = root * root * root, u = draws.positive(), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return std::max(static_cast<T>(scale * d * v), least);
  }
}

// ---- Kernels

inline void poisson_fill(const FillArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  double* rates = reinterpret_cast<double*>(args.data);
  Draws draws(args, i);
  const bool good = check(rates[i] >= 0, args.faults, FaultKind::Rate, 0, 0, 0);
  rates[i] = good ? poisson(draws, rates[i]) : 0;
}

inline void binomial_fill(const FillArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  double* counts = reinterpret_cast<double*>(args.data);
  Draws draws(args, i);
  counts[i] = binomial(draws, counts[i], reinterpret_cast<const double*>(args.given)[i]);
}

template <class T>
inline void gamma_fill(const FillArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  T* shapes = reinterpret_cast<T*>(args.data);
  Draws draws(args, i);
  shapes[i] = gamma_number(draws, shapes[i]);
}

/// A block orders few elements by random keys: each goes to the number of keys below its own.
inline void ranked(const ShuffleArgs& args) {
  __shared__ uint64_t keys[kMostRanked];
  const int n = static_cast<int>(args.n), mine = static_cast<int>(threadIdx.x);
  if (mine < n) keys[mine] = args.key.words(static_cast<uint64_t>(mine)).pair(0);
  __syncthreads();
  if (mine >= n) return;
  int rank = 0;
  for (int i = 0; i < n; ++i) rank += keys[i] < keys[mine] || (keys[i] == keys[mine] && i < mine);
  args.data[rank] = mine;
}

/// Many elements are sent to their places by rounds that change one half of a number's bits by the other half (a
/// Feistel network): every number goes to another one. One that is beyond the elements goes on from there.
inline uint64_t shuffled(const ShuffleArgs& args, const uint32_t* keys, uint64_t number) {
  const uint64_t left_mask = (uint64_t(1) << args.left_bits) - 1, right_mask = (uint64_t(1) << args.right_bits) - 1;
  auto mixed = [](uint64_t half, uint32_t key) {
    uint64_t product = static_cast<uint64_t>(kPhiloxFirst) * (static_cast<uint32_t>(half) ^ key);
    const uint32_t folded = static_cast<uint32_t>(product >> 32) ^ static_cast<uint32_t>(product);
    product = static_cast<uint64_t>(kPhiloxSecond) * (folded + key);
    return product >> 32 ^ product;
  };
  uint64_t left = number >> args.right_bits, right = number & right_mask;
#pragma unroll
  for (int round = 0; round < kShuffleRounds; round += 2) {
    left ^= mixed(right, keys[round]) & left_mask;
    right ^= mixed(left, keys[round + 1]) & right_mask;
  }
  return left << args.right_bits | right;
}

inline void shuffle(const ShuffleArgs& args) {
  const int64_t i = thread_number<int64_t>();
  if (i >= args.n) return;
  uint32_t keys[kShuffleRounds];
#pragma unroll
  for (int round = 0; round < kShuffleRounds; round += 4) {
    const Words words = args.key.words(static_cast<uint64_t>(round / 4));
    for (int k = 0; k < 4; ++k) keys[round + k] = words.at[k];
  }
  uint64_t place = shuffled(args, keys, static_cast<uint64_t>(i));
  while (place >= static_cast<uint64_t>(args.n)) place = shuffled(args, keys, place);
  args.data[i] = static_cast<int64_t>(place);
}

/// A warp has a row.
template <class T>
inline void share(const SharesArgs& args) {
  const int64_t row = thread_number<int64_t>() / 32;
  if (row >= args.rows) return;  // whole warps
  const int lane = static_cast<int>(threadIdx.x % 32);
  double* numbers = args.data + row * args.length;
  double total = 0;
  for (int64_t i = lane; i < args.length; i += 32) total += numbers[i];
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
  constexpr T least = std::numeric_limits<T>::min(), most = 1 - std::numeric_limits<T>::epsilon() / 2;
  for (int64_t i = lane; i < args.length; i += 32)
    numbers[i] = std::max(least, std::min(static_cast<T>(numbers[i] / total), most));
}

template <class T>
inline void find_negative(const NegativeArgs& args) {
  const T* values = reinterpret_cast<const T*>(args.data);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  bool found = false;
  for (int64_t i = thread_number<int64_t>(); i < args.n; i += step) found |= convert<double>(values[i]) < 0;
  if (found) atomicOr(args.found, 1);
}

}  // namespace adjoint::cuda
