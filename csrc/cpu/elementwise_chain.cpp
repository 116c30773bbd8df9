// Several elementwise kernels over the same elements, block by block, so that what they hand on stays in the cache.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "cpu/elementwise.h"
#include "cpu/parallel.h"

namespace adjoint::cpu {

using kernels::ChainStep;
using kernels::kMaxChain;

namespace {

/// Memory for blocks of what has none of its own: it leaves some of the first-level cache to what has.
constexpr int64_t kRoom = 24576;
/// The most elements of a block, and what all but the last are a multiple of: there, loops leave no rest.
constexpr int64_t kLongest = 1024, kMultiple = 64;
/// As many elements of one step are worth a thread of their own: what threads take from each other costs more than most
/// steps.
constexpr int64_t kGrain = 131072;

/// The most places: of a result and of all inputs of each step.
constexpr int kMaxPlaces = kMaxChain * (1 + ChainStep::kMaxInputs);

/// The places that results and numbers have in the room, block after block.
template <class T>
struct Plan {
  int16_t results[kMaxChain];                        ///< by step; -1: it has memory of its own
  int16_t inputs[kMaxChain][ChainStep::kMaxInputs];  ///< of numbers
  T numbers[kMaxChain * ChainStep::kMaxInputs];      ///< by place: the first ones are theirs
  int n_numbers = 0, count = 0;

  explicit Plan(std::span<const ChainStep> steps) {
    const int n = static_cast<int>(steps.size());
    int last_use[kMaxChain] = {};
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < steps[i].count; ++k) {
        const ChainStep::Input& input = steps[i].inputs[k];
        if (input.data) continue;
        if (input.step >= 0) {
          last_use[input.step] = i;
        } else {
          inputs[i][k] = static_cast<int16_t>(place_of(input.number.to<T>()));
        }
      }
    }
    count = n_numbers;
    int16_t free[kMaxChain];
    int n_free = 0;
    for (int i = 0; i < n; ++i) {
      // A loop may write where it reads: what is used here for the last time makes room for the result.
      for (int k = 0; k < steps[i].count; ++k) {
        const int step = steps[i].inputs[k].data ? -1 : steps[i].inputs[k].step;
        if (step < 0 || results[step] < 0 || last_use[step] != i) continue;
        last_use[step] = -1;  // once, though it may be two of the inputs
        free[n_free++] = results[step];
      }
      results[i] = steps[i].out ? -1 : n_free ? free[--n_free] : static_cast<int16_t>(count++);
    }
  }

  int place_of(T number) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    for (int k = 0; k < n_numbers; ++k)
      if (std::bit_cast<Bits>(numbers[k]) == std::bit_cast<Bits>(number)) return k;
    numbers[n_numbers] = number;
    return n_numbers++;
  }
};

template <class T>
void run(std::span<const ChainStep> steps, int64_t n) {
  const Plan<T> plan(steps);
  const int64_t fitting = kRoom / static_cast<int64_t>(sizeof(T)) / std::max(plan.count, 1);
  const int64_t block = std::clamp(fitting / kMultiple * kMultiple, kMultiple, kLongest);
  const int64_t grain = std::max<int64_t>(1, kGrain / static_cast<int64_t>(steps.size()) / block);
  parallel_for((n + block - 1) / block, grain, [&](int64_t begin, int64_t end) {
    alignas(64) T room[std::max<int64_t>(kRoom / sizeof(T), kMaxPlaces * kMultiple)];
    auto place = [&](int number) { return reinterpret_cast<char*>(room + number * block); };
    for (int k = 0; k < plan.n_numbers; ++k) std::fill_n(room + k * block, std::min(block, n), plan.numbers[k]);
    for (int64_t at = begin * block; at < std::min(n, end * block); at += block) {
      const int64_t length = std::min(block, n - at);
      char* outs[kMaxChain];
      for (size_t i = 0; i < steps.size(); ++i) {
        const ChainStep& step = steps[i];
        char* arrays[ChainStep::kMaxInputs + 1];
        arrays[0] = outs[i] = step.out ? step.out + at * sizeof(T) : place(plan.results[i]);
        for (int k = 0; k < step.count; ++k) {
          const ChainStep::Input& input = step.inputs[k];
          arrays[k + 1] = input.data        ? input.data + at * sizeof(T)
                          : input.step >= 0 ? outs[input.step]
                                            : place(plan.inputs[i][k]);
        }
        step.loop(arrays, length, step.params);
      }
    }
  });
}

}  // namespace

void elementwise_chain(std::span<const ChainStep> steps, DType compute, int64_t n) {
  if (compute == DType::Float32) {
    run<float>(steps, n);
  } else {
    run<double>(steps, n);
  }
}

}  // namespace adjoint::cpu
