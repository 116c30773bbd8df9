// The loops of copies over packed elements. See Note [Instruction sets] in cpu/isa.h.
#pragma once

#include "core/dtype.h"
#include "cpu/isa.h"

namespace adjoint::cpu {

/// True when a conversion leaves every byte as it is: among integers of one size, to which bool may be converted.
constexpr bool same_bytes(DType from, DType to) {
  const DTypeInfo &source = kDTypes[static_cast<int>(from)], &target = kDTypes[static_cast<int>(to)];
  return from == to ||
         (source.size == target.size && source.category <= Category::Integer && target.category == Category::Integer);
}

struct CopyLoops {
  using Convert = void (*)(const void* src, void* dst, int64_t n);
  /// From the first type to the second, in arrays that do not overlap. Null where bytes stay the same, and for stored
  /// types; float16 is converted to and from float32 alone.
  Convert convert[kDTypeCount][kDTypeCount];
  /// The same eight bytes, again and again.
  void (*fill_words)(char* dst, uint64_t word, int64_t words);

  template <Isa>
  static CopyLoops compiled();
};

}  // namespace adjoint::cpu
