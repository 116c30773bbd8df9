#include "cpu/isa.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace adjoint {
namespace {

#ifdef ADJOINT_X86_DISPATCH
// Whether the processor has what CMakeLists.txt compiles for.
bool has_f16c() {
#if defined(__clang__)
  return true;  // Clang 16 has no name for it; every processor with AVX2 has it
#else
  return __builtin_cpu_supports("f16c");
#endif
}
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() &&
         __builtin_cpu_supports("bmi2");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

Isa best_isa() {
#ifdef ADJOINT_X86_DISPATCH
  __builtin_cpu_init();  // this runs before main()
  if (has_avx512()) return Isa::avx512;
  if (has_avx2()) return Isa::avx2;
#endif
  return Isa::baseline;
}

/// The variable may lower the choice, never raise it.
Isa choose() {
  const Isa best = best_isa();
  const char* wish = std::getenv("ADJOINT_ISA");
  for (Isa isa : {Isa::baseline, Isa::avx2}) {
    if (wish && isa < best && !std::strcmp(wish, isa_name(isa))) return isa;
  }
  return best;
}

}  // namespace

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

}  // namespace adjoint
