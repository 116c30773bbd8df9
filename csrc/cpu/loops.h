// What the generated loop files share: blocks, and the entry of a registration table.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include "cpu/elementwise.h"
#include "cpu/math.h"

namespace adjoint::fn {
inline namespace ADJOINT_ISA {

// Note [Blocks]. The vector functions of the C library round the last bit in another way than the scalar ones, and so
// do fused multiplications of complex numbers. A loop that the compiler splits into vectors and a scalar rest would
// give an element other bits at the end of an array than in its middle, hence other ones for another number of threads
// or another stride. Such a loop runs over a multiple of kUnrolled elements, which leaves no rest. What is left after
// it goes in blocks of a vector, the last of them filled up: every element takes the same path. Complex numbers go in
// blocks alone, because which multiplications are fused is chosen for each loop. Loops of exactly rounded operations
// need none of this.

/// At least as many elements as the compiler puts into one round of a vectorised loop.
inline constexpr int64_t kUnrolled = 64;
#if defined(__AVX512BW__)
inline constexpr int64_t kBlockBytes = 64;
#else
inline constexpr int64_t kBlockBytes = 32;
#endif

#if defined(__AVX512BW__)
/// The bits of the bytes of a vector that are among the first n behind it; n may be negative.
inline __mmask64 bytes_below(int64_t n) { return n >= 64 ? ~__mmask64{0} : n <= 0 ? 0 : (__mmask64{1} << n) - 1; }

/// A vector of copies of one element of 4, 8 or 16 bytes.
template <class Element>
inline __m512i repeated(const Element* element) {
  if constexpr (sizeof(Element) == 4) {
    int32_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return _mm512_set1_epi32(bits);
  } else {
    int64_t bits[2];
    std::memcpy(bits, element, 8);
    std::memcpy(bits + 1, reinterpret_cast<const char*>(element) + sizeof(Element) - 8, 8);
    return _mm512_set_epi64(bits[1], bits[0], bits[1], bits[0], bits[1], bits[0], bits[1], bits[0]);
  }
}
#endif

/// Copies the first n of `size` elements, and the first one into the places behind them. By vectors where there are
/// wide ones: reading a vector where single elements were just written has to wait for them.
template <int64_t size, class Element>
inline void fill_up(Element* to, const Element* from, int64_t n) {
#if defined(__AVX512BW__)
  if constexpr (size * sizeof(Element) % 64 == 0) {
    const __m512i first = repeated(from);
    for (int64_t at = 0; at < size; at += 64 / sizeof(Element)) {
      const __mmask64 mask = bytes_below((n - at) * static_cast<int64_t>(sizeof(Element)));
      _mm512_store_si512(to + at, _mm512_mask_loadu_epi8(first, mask, from + at));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < size; ++i) to[i] = from[i < n ? i : 0];
}

/// Copies the first n of `size` elements.
template <int64_t size, class Element>
inline void copy_first(Element* to, const Element* from, int64_t n) {
#if defined(__AVX512BW__)
  if constexpr (size * sizeof(Element) % 64 == 0) {
    for (int64_t at = 0; at < size; at += 64 / sizeof(Element)) {
      const __mmask64 mask = bytes_below((n - at) * static_cast<int64_t>(sizeof(Element)));
      _mm512_mask_storeu_epi8(to + at, mask, _mm512_load_si512(from + at));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// element(result, inputs..., i) for the elements from `done` on, in blocks of a vector. A function of its own:
/// constants that two loops share would be kept on the stack for both of them, and read from there.
template <class Lane, class Result, class Stored, class Function, size_t... k>
[[gnu::noinline]] void in_whole_blocks(Result* result, const Stored* const* inputs, int64_t done, int64_t n,
                                       Function element, std::index_sequence<k...>) {
  constexpr int64_t size = kBlockBytes / sizeof(Lane);
  alignas(kBlockBytes) Result last_result[size];
  alignas(kBlockBytes) Stored last_inputs[sizeof...(k)][size];
  for (; done < n; done += size) {
    const int64_t left = n - done;
    Result* to = result + done;
    const Stored* from[] = {inputs[k] + done...};
    if (left < size) {
      (fill_up<size>(last_inputs[k], from[k], left), ...);
      ((from[k] = last_inputs[k]), ...);
      to = last_result;
    }
    ADJOINT_INDEPENDENT
    for (int64_t i = 0; i < size; ++i) element(to, from[k]..., i);
    if (left < size) copy_first<size>(result + done, last_result, left);
  }
}

/// element(result, inputs..., i) for each of n elements. Array 0 is the result; those of `indices` are the inputs.
/// `Lane` is the number that a lane of a vector computes with.
template <bool in_blocks, class Lane, class Result, class Stored, int... indices, class Function>
inline void each_element(char* const* arrays, int64_t n, Function element) {
  Result* result = reinterpret_cast<Result*>(arrays[0]);
  const Stored* inputs[] = {reinterpret_cast<const Stored*>(arrays[indices])...};
  [&]<size_t... k>(std::index_sequence<k...> numbers) {
    const int64_t straight = !in_blocks ? n : is_complex_v<Stored> ? 0 : n / kUnrolled * kUnrolled;
    ADJOINT_INDEPENDENT
    for (int64_t i = 0; i < straight; ++i) element(result, inputs[k]..., i);
    if constexpr (in_blocks) {
      if (straight < n) in_whole_blocks<Lane>(result, inputs, straight, n, element, numbers);
    }
  }(std::make_index_sequence<sizeof...(indices)>{});
}

}  // namespace ADJOINT_ISA
}  // namespace adjoint::fn

namespace adjoint {

/// The arguments of register_loop, so that registration is a loop over a table.
struct LoopEntry {
  const char* name;
  ResultKind result;
  uint8_t inputs;
  uint8_t params;
  DType compute;
  Loop loop;

  void add() const { register_loop(name, result, inputs, params, compute, loop); }
};

}  // namespace adjoint
