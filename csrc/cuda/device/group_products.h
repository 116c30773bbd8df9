// Products of matrices by a group of four warps, on the tensor cores of sm_90a, which read shared memory by themselves.
//
// A group has 64 rows of sums, 64 columns: warp w has rows 16 w and on, as warp_products.h says of 16 rows. What is
// multiplied lies in shared memory as panels: rows of 64 halves, whose 8 pieces of 16 bytes are exchanged so that 8
// rows have a column of pieces in 8 different places of 128 bytes: piece p of row r lies at p ^ (r % 8). A panel begins
// at a multiple of 1024 bytes.
#pragma once

#include "warp_products.h"

namespace adjoint::cuda {

using GroupSums = float[8][4];

#ifndef ADJOINT_WARP_PRODUCTS

/// Where a product finds an operand: the address; 1024 bytes from 8 rows to the next 8; pieces exchanged in 128 bytes.
/// (Bits 16 to 29, a step between panels, are for operands of more than one.)
struct PanelPlace {
  uint64_t bits;
  explicit PanelPlace(const void* place)
      : bits((shared_address(place) & 0x3ffffu) >> 4 | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 |
             uint64_t(1) << 62) {}
  /// So many bytes further.
  uint64_t operator+(int bytes) const { return bits + static_cast<unsigned>(bytes >> 4); }
};
using PanelPart = uint64_t;

/// Makes copies that were waited for visible to products.
inline void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Before products: what was written to the registers that they use is there.
inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

#define ADJOINT_SUMS_8(how, n)                                                                                  \
  how(sums[n][0]), how(sums[n][1]), how(sums[n][2]), how(sums[n][3]), how(sums[n + 1][0]), how(sums[n + 1][1]), \
      how(sums[n + 1][2]), how(sums[n + 1][3])
#define ADJOINT_SUMS(how) ADJOINT_SUMS_8(how, 0), ADJOINT_SUMS_8(how, 2), ADJOINT_SUMS_8(how, 4), ADJOINT_SUMS_8(how, 6)
#define ADJOINT_SUMS_NAMES                                                                                          \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31}"

/// Waits until all but the last `open` that were closed are done; `sums` are of one that is.
template <int open>
inline void wait_for_products(GroupSums& sums) {
  asm volatile("wgmma.wait_group.sync.aligned %32;" : ADJOINT_SUMS("+f") : "n"(open) : "memory");
}

#define ADJOINT_GROUP_PRODUCTS(Type, word)                                                                        \
  /** sums = left @ right': 16 columns of 64 rows and of 64 rows. */                                              \
  inline void multiply_panels(GroupSums& sums, PanelPart left, PanelPart right, Type) {                           \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." word "." word \
                 " " ADJOINT_SUMS_NAMES ", %32, %33, p, 1, 1, 0, 0; }"                                            \
                 : ADJOINT_SUMS("=f")                                                                             \
                 : "l"(left), "l"(right));                                                                        \
  }                                                                                                               \
  /** The same, added to sums. */                                                                                 \
  inline void add_panels(GroupSums& sums, PanelPart left, PanelPart right, Type) {                                \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." word "." word \
                 " " ADJOINT_SUMS_NAMES ", %32, %33, p, 1, 1, 0, 0; }"                                            \
                 : ADJOINT_SUMS("+f")                                                                             \
                 : "l"(left), "l"(right));                                                                        \
  }                                                                                                               \
  /** sums += left @ right: 16 columns of 64 rows, as the warps hold them, and 16 rows of 64 columns. */          \
  inline void add_held(GroupSums& sums, const uint32_t (&left)[4], PanelPart right, Type) {                       \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." word "." word \
                 " " ADJOINT_SUMS_NAMES ", {%32, %33, %34, %35}, %36, p, 1, 1, 1; }"                              \
                 : ADJOINT_SUMS("+f")                                                                             \
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));                           \
  }
ADJOINT_GROUP_PRODUCTS(Half, "f16")
ADJOINT_GROUP_PRODUCTS(BFloat16, "bf16")
#undef ADJOINT_GROUP_PRODUCTS
#undef ADJOINT_SUMS_NAMES
#undef ADJOINT_SUMS
#undef ADJOINT_SUMS_8

#endif

}  // namespace adjoint::cuda
