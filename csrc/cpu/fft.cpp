// Plans of Fourier transforms, kept for the next call, and groups of lines over the threads.
#include "cpu/fft.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <numbers>
#include <utility>

#include "core/lock.h"
#include "cpu/allocator.h"
#include "cpu/fft_isa.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {
namespace {

/// From this length on, vectors run along a line of neighbouring values. The first pass of odd ones has no vectors.
constexpr int64_t kLongLine = 512;
constexpr int64_t kLongOddLine = 8192;
/// Values from which work is split over threads.
constexpr int64_t kParallelValues = 1 << 14;

// ---- Plans

/// exp(-2 pi i k / n). The angle is folded into an eighth of the circle while it is still exact.
std::pair<double, double> root(int64_t k, int64_t n) {
  int64_t eighths = k % n * 8;
  const bool upper = eighths > 4 * n;
  if (upper) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle = std::numbers::pi / 4 * static_cast<double>(eighths) / static_cast<double>(n);
  double re = std::cos(angle), im = std::sin(angle);
  if (steep) std::swap(re, im);
  return {left ? -re : re, upper ? im : -im};
}

/// Factors for the passes, or none where a prime is too large. Eights come first: the short passes want them.
std::vector<int> factors_of(int64_t n) {
  std::vector<int> factors;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos >= 5 || twos == 3; twos -= 3) factors.push_back(8);
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (int prime : {7, 5, 3}) {
    for (; n % prime == 0; n /= prime) factors.push_back(prime);
  }
  if (n > 1) factors.clear();
  return factors;
}

/// The least length of this many values at least that has small factors only.
int64_t convenient_length(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5}) {
    int64_t length = odd;
    while (length < least) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

template <class T>
void add_chirp(FftPlan<T>& plan);

template <class T>
std::unique_ptr<FftPlan<T>> make_plan(int64_t n, bool turns) {
  auto plan = std::make_unique<FftPlan<T>>();
  plan->n = n;
  plan->factors = factors_of(n);
  if (n > 1 && plan->factors.empty()) add_chirp(*plan);
  int64_t length = n;
  for (int radix : plan->factors) {
    const int64_t m = length / radix;
    const size_t start = plan->twiddles.size();
    plan->twiddles.resize(start + 2 * (radix - 1) * m);
    T* out = plan->twiddles.data() + start;
    for (int j = 1; j < radix; ++j) {
      for (int64_t p = 0; p < m; ++p) {
        const auto [re, im] = root(j * p, length);
        out[(2 * j - 2) * m + p] = static_cast<T>(re);
        out[(2 * j - 1) * m + p] = static_cast<T>(im);
      }
    }
    length = m;
  }
  if (turns) {
    plan->turns.resize(2 * n);
    for (int64_t k = 0; k < n; ++k) {
      const auto [re, im] = root(k, 2 * n);
      plan->turns[k] = static_cast<T>(re);
      plan->turns[n + k] = static_cast<T>(im);
    }
  }
  return plan;
}

/// The plan of a length, made at its first use. Few are kept, and no more than some megabytes of them.
template <class T>
std::shared_ptr<const FftPlan<T>> plan_of(int64_t n, bool turns) {
  constexpr size_t most = 16;
  constexpr int64_t most_values = 1 << 22;
  static std::mutex mutex;
  static std::list<std::shared_ptr<const FftPlan<T>>>& kept = *new std::list<std::shared_ptr<const FftPlan<T>>>;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      if ((*it)->n == n && (!turns || !(*it)->turns.empty())) {
        kept.splice(kept.begin(), kept, it);
        return kept.front();
      }
    }
  }
  std::shared_ptr<const FftPlan<T>> plan = make_plan<T>(n, turns);
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_front(plan);
  int64_t values = 0;
  for (const auto& one : kept) values += one->n;
  while (kept.size() > 1 && (kept.size() > most || values > most_values)) {
    values -= kept.back()->n;
    kept.pop_back();
  }
  return plan;
}

template <class T>
void add_chirp(FftPlan<T>& plan) {
  const int64_t n = plan.n, size = convenient_length(2 * n - 1);
  plan.convolution = make_plan<double>(size, false);
  plan.chirp.resize(2 * n);
  std::vector<double> wrapped(2 * size);
  int64_t square = 0;  // of k, modulo 2n
  for (int64_t k = 0; k < n; ++k) {
    const auto [re, im] = root(square, 2 * n);
    plan.chirp[k] = re;
    plan.chirp[n + k] = im;
    for (int64_t at : {k, (size - k) % size}) {
      wrapped[2 * at] = re;
      wrapped[2 * at + 1] = -im;
    }
    square = (square + 2 * k + 1) % (2 * n);
  }
  Fft<double> fft(FftKind::Complex, false, size, 1, 1, 1.0 / static_cast<double>(size), wrapped.data(), wrapped.data());
  std::vector<double> scratch(fft.scratch());
  fft.run(scratch.data());
  plan.filter.resize(2 * size);
  for (int64_t k = 0; k < size; ++k) {
    plan.filter[k] = wrapped[2 * k];
    plan.filter[size + k] = wrapped[2 * k + 1];
  }
}

}  // namespace

template <class T>
Fft<T>::Fft(FftKind kind, bool inverse, int64_t n, int64_t outer, int64_t inner, double scale, const T* in, T* out)
    : kind(kind), inverse(inverse), n(n), outer(outer), inner(inner), scale(static_cast<T>(scale)), in(in), out(out) {
  const int64_t length = halved() ? n / 2 : n;
  plan = plan_of<T>(length, halved());
  const bool odd = length % 2 != 0 && !plan->convolution;
  lanes = lines() == 1 || (inner == 1 && n >= (odd ? kLongOddLine : kLongLine)) ? 1 : kLanes<T>;
  const int64_t worthwhile = 1 + n * lines() / kParallelValues;
  pieces = std::min({(lines() + lanes - 1) / lanes, worthwhile, int64_t{2} * num_threads()});
}

template <class T>
int64_t Fft<T>::piece_scratch() const {
  const int64_t convolution = plan->convolution ? 4 * plan->convolution->n * lanes : 0;
  return 4 * buffer_room(*this) + convolution * static_cast<int64_t>(sizeof(double) / sizeof(T));
}

template <class T>
void Fft<T>::run(T* scratch) const {
  const int64_t groups = (lines() + lanes - 1) / lanes;
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      for (int64_t group = groups * piece / pieces; group < groups * (piece + 1) / pieces; ++group) {
        chosen<FftLoops<T>>.transform_group(*this, group * lanes, scratch + piece * piece_scratch());
      }
    }
  });
}

template struct Fft<float>;
template struct Fft<double>;

template <class T>
static void transform(const View& in, const View& out, const kernels::FftLines& lines) {
  const Fft<T> fft(lines.kind, lines.inverse, lines.n, lines.outer, lines.inner, lines.scale, in.as<T>(), out.as<T>());
  // Large lines want large scratch memory, which the allocator keeps from call to call.
  const auto scratch = StoragePtr::steal(allocate(static_cast<size_t>(fft.scratch()) * sizeof(T), Device()));
  WithoutLock unlocked(lines.n * fft.lines() * 8);
  fft.run(reinterpret_cast<T*>(scratch->data));
}

void fft(const View& in, const View& out, const kernels::FftLines& lines) {
  dispatch_real(in.dtype, [&](auto tag) { transform<decltype(tag)>(in, out, lines); });
}

}  // namespace adjoint::cpu
