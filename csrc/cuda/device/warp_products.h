// Products of small matrices by a warp, on its tensor cores, and copies into shared memory that are waited for later.
// Needs sm_80.
//
// A warp has a 16 x 8 tile of sums: lane i has columns 2 (i % 4) and the next of row i / 4, then of the row 8 further.
// What it multiplies it loads as 8 x 8 tiles of 16 bits, or 8 x 4 tiles of 32: of such a tile lane i has the word i % 4
// of row i / 4.
#pragma once

#include "core/dtype.h"

namespace adjoint::cuda {

/// A float of which a product takes the first 10 bits behind the point.
struct Tf32 {
  float value;
};

// A program that has no such hardware brings functions of these names.
#ifndef ADJOINT_WARP_PRODUCTS

inline unsigned shared_address(const void* place) { return static_cast<unsigned>(__cvta_generic_to_shared(place)); }

/// Four tiles; `row` is that of this lane: lane i has row i % 8 of tile i / 8.
inline void load_tiles(uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(shared_address(row)));
}
/// The same, each tile (of 16 bits) transposed.
inline void load_turned_tiles(uint32_t (&tiles)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
               : "r"(shared_address(row)));
}

/// sums += left @ right, of 16 x 16 and 16 x 8 numbers; of 16 x 8 and 8 x 8 with Tf32.
#define ADJOINT_MULTIPLY_TILES(Type, shape, word)                                                             \
  inline void multiply_tiles(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2], Type) { \
    asm("mma.sync.aligned." shape ".row.col.f32." word "." word                                               \
        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                          \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));              \
  }
ADJOINT_MULTIPLY_TILES(Half, "m16n8k16", "f16")
ADJOINT_MULTIPLY_TILES(BFloat16, "m16n8k16", "bf16")
ADJOINT_MULTIPLY_TILES(Tf32, "m16n8k8", "tf32")
#undef ADJOINT_MULTIPLY_TILES

/// Two numbers as a word, the first below.
inline uint32_t packed(float first, float second, Half) {
  uint32_t word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}
inline uint32_t packed(float first, float second, BFloat16) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}
inline uint32_t rounded(float value) {
  uint32_t word;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  return word;
}
inline float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// 16 bytes to shared memory, zeros where they are not there. Both lie at multiples of 16.
inline void begin_copy(void* shared, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(from),
               "r"(there ? 16 : 0));
}
/// What has begun is one group.
inline void close_group() { asm volatile("cp.async.commit_group;"); }
/// Waits until all groups but the last `open` are there.
template <int open>
inline void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(open));
}

#endif

/// How numbers of T are multiplied: lefts of 16 x kDepth numbers and rights of kDepth x 8, from rows in shared memory.
template <class T>
struct Product {
  static constexpr bool kTf32 = std::is_same_v<T, float>;
  using Kind = std::conditional_t<kTf32, Tf32, T>;
  static constexpr int kDepth = 32 / sizeof(T), kVector = 16 / sizeof(T);
  using Left = uint32_t[4];
  using Right = uint32_t[2];

  static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  static void round_all(uint32_t (&words)[4]) {
    if constexpr (kTf32) {
#pragma unroll
      for (uint32_t& word : words) word = rounded(std::bit_cast<float>(word));
    }
  }

  /// Of 16 rows, `step` elements apart.
  static void load_left(Left& left, const T* rows, int step) {
    const int i = lane();
    load_tiles(left, rows + (i % 16) * step + i / 16 * kVector);
    round_all(left);
  }
  /// Two rights, whose columns are these rows: 16 of them.
  static void load_rights(Right (&rights)[2], const T* rows, int step) {
    uint32_t tiles[4];
    const int i = lane();
    load_tiles(tiles, rows + (i % 8 + i / 16 * 8) * step + i / 8 % 2 * kVector);
    round_all(tiles);
    rights[0][0] = tiles[0], rights[0][1] = tiles[1], rights[1][0] = tiles[2], rights[1][1] = tiles[3];
  }
  /// Two rights, which are kDepth rows of 16 columns, for a left that was made of sums.
  static void load_turned_rights(Right (&rights)[2], const T* rows, int step) {
    const int i = lane();
    if constexpr (kTf32) {
      // In the order of `left_of`.
      const T* mine = rows + 2 * (i % 4) * step + i / 4;
      rights[0][0] = rounded(mine[0]), rights[0][1] = rounded(mine[step]);
      rights[1][0] = rounded(mine[8]), rights[1][1] = rounded(mine[step + 8]);
    } else {
      uint32_t tiles[4];
      load_turned_tiles(tiles, rows + (i % 16) * step + i / 16 * kVector);
      rights[0][0] = tiles[0], rights[0][1] = tiles[1], rights[1][0] = tiles[2], rights[1][1] = tiles[3];
    }
  }
  /// The sums of kDepth columns as a left. With Tf32, column 2 i stands in place i, and 2 i + 1 in place i + 4: in a
  /// product, order does not matter.
  static void left_of(Left& left, const float (*sums)[4]) {
    if constexpr (kTf32) {
      left[0] = rounded(sums[0][0]), left[1] = rounded(sums[0][2]);
      left[2] = rounded(sums[0][1]), left[3] = rounded(sums[0][3]);
    } else {
      left[0] = packed(sums[0][0], sums[0][1], T()), left[1] = packed(sums[0][2], sums[0][3], T());
      left[2] = packed(sums[1][0], sums[1][1], T()), left[3] = packed(sums[1][2], sums[1][3], T());
    }
  }
  static void add(float (&sums)[4], const Left& left, const Right& right) { multiply_tiles(sums, left, right, Kind()); }
};

}  // namespace adjoint::cuda
