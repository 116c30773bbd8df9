#include "cpu/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace adjoint::cpu {

bool has_amx_fp16() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 21 & 1);
#else
  return false;
#endif
}

}  // namespace adjoint::cpu
