// A stand-in for cuFFT, as csrc/cuda/fft.cpp calls it: sums over all values, when the driver's work is done.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "driver.h"

namespace {

using Size = long long;
using Complex = std::complex<double>;

constexpr int kSuccess = 0, kInvalidPlan = 1, kInvalidValue = 4;

struct Plan {
  int type = 0;
  Size n = 0, in_stride = 0, in_distance = 0, out_stride = 0, out_distance = 0, lines = 0;
  void* work = nullptr;
};
std::map<int, Plan> plans;
int made = 0;

/// values[k] = the sum of values[j] * exp(sign * 2 pi i j k / n)
std::vector<Complex> transformed(const std::vector<Complex>& values, int sign) {
  const auto n = static_cast<Size>(values.size());
  std::vector<Complex> roots(values.size()), result(values.size());
  for (Size k = 0; k < n; ++k)
    roots[static_cast<size_t>(k)] = std::polar(1.0, sign * 2 * M_PI * static_cast<double>(k) / static_cast<double>(n));
  for (Size k = 0; k < n; ++k)
    for (Size j = 0; j < n; ++j)
      result[static_cast<size_t>(k)] += values[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * k % n)];
  return result;
}

/// Elements In to elements Out of type T, real or complex.
template <class In, class Out>
int queue_lines(int number, int type, void* in, void* out, int sign) {
  if (const int code = standin::begin_call("cufftExec")) return code;
  constexpr size_t kAligned = 2 * std::min(sizeof(In), sizeof(Out)) / (sizeof(In) == sizeof(Out) ? 2 : 1);
  if ((reinterpret_cast<uintptr_t>(in) | reinterpret_cast<uintptr_t>(out)) % kAligned != 0) return kInvalidValue;
  const auto entry = plans.find(number);
  if (entry == plans.end() || entry->second.type != type || !entry->second.work) return kInvalidPlan;
  standin::enqueue([plan = entry->second, in, out, sign] {
    constexpr bool to_real = std::is_floating_point_v<Out>;
    const Size half = plan.n / 2 + 1, taken = to_real ? half : plan.n;
    const Size kept = std::is_floating_point_v<In> ? half : plan.n;
    for (Size line = 0; line < plan.lines; ++line) {
      auto* from = static_cast<In*>(in) + line * plan.in_distance;
      auto* to = static_cast<Out*>(out) + line * plan.out_distance;
      std::vector<Complex> values(static_cast<size_t>(plan.n));
      for (Size i = 0; i < taken; ++i) values[static_cast<size_t>(i)] = Complex(from[i * plan.in_stride]);
      for (Size i = half; to_real && i < plan.n; ++i)
        values[static_cast<size_t>(i)] = std::conj(values[static_cast<size_t>(plan.n - i)]);
      const auto result = transformed(values, sign);
      for (Size i = 0; to_real && i < half; ++i) from[i * plan.in_stride] = In(-77);  // as cuFFT may spoil it
      for (Size i = 0; i < kept; ++i) {
        if constexpr (to_real) {
          to[i * plan.out_stride] = static_cast<Out>(result[static_cast<size_t>(i)].real());
        } else {
          to[i * plan.out_stride] = Out(result[static_cast<size_t>(i)]);
        }
      }
    }
  });
  return kSuccess;
}

}  // namespace

extern "C" {

int cufftCreate(int* plan) {
  *plan = ++made;
  plans[made] = {};
  return kSuccess;
}
int cufftDestroy(int plan) {
  plans.erase(plan);
  return kSuccess;
}
int cufftSetAutoAllocation(int, int) { return kSuccess; }
int cufftMakePlanMany64(int plan, int rank, Size* n, Size* in_sizes, Size in_stride, Size in_distance, Size* out_sizes,
                        Size out_stride, Size out_distance, int type, Size lines, size_t* work) {
  if (rank != 1 || *n < 1 || lines < 1 || !in_sizes || !out_sizes) return kInvalidValue;
  plans[plan] = {type, *n, in_stride, in_distance, out_stride, out_distance, lines, nullptr};
  *work = 1024;
  return kSuccess;
}
int cufftSetWorkArea(int plan, void* work) {
  plans[plan].work = work;
  return kSuccess;
}
int cufftSetStream(int, void*) { return kSuccess; }
int cufftExecC2C(int plan, void* in, void* out, int sign) {
  return queue_lines<std::complex<float>, std::complex<float>>(plan, 0x29, in, out, sign);
}
int cufftExecZ2Z(int plan, void* in, void* out, int sign) {
  return queue_lines<Complex, Complex>(plan, 0x69, in, out, sign);
}
int cufftExecR2C(int plan, void* in, void* out) {
  return queue_lines<float, std::complex<float>>(plan, 0x2a, in, out, -1);
}
int cufftExecD2Z(int plan, void* in, void* out) { return queue_lines<double, Complex>(plan, 0x6a, in, out, -1); }
int cufftExecC2R(int plan, void* in, void* out) {
  return queue_lines<std::complex<float>, float>(plan, 0x2c, in, out, 1);
}
int cufftExecZ2D(int plan, void* in, void* out) { return queue_lines<Complex, double>(plan, 0x6c, in, out, 1); }

}  // extern "C"
