// The loops of copies over packed elements. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include "core/dtype.h"
#include "cpu/isa.h"

namespace adjoint::cpu {

/// True when a conversion leaves every byte as it is.
constexpr bool same_bytes(DType from, DType to) {
  return from == to || ((to == DType::Int8 || to == DType::UInt8) && kDTypes[static_cast<int>(from)].size == 1);
}

struct CopyLoops {
  using Convert = void (*)(const void* src, void* dst, int64_t n);
  /// From the first type to the second, in arrays that do not overlap. Null where bytes stay the same; float16 is
  /// converted to and from float32 alone.
  Convert convert[kDTypeCount][kDTypeCount];
  /// The same eight bytes, again and again.
  void (*fill_words)(char* dst, uint64_t word, int64_t words);

  template <Isa>
  static CopyLoops compiled();
};

}  // namespace adjoint::cpu
