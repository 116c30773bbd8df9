// Elementwise kernels: generated contiguous loops, found by name, and the driver that runs them over strided views.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/scalar.h"
#include "kernels/view.h"

namespace adjoint {

/// What a kernel writes, given its compute type.
enum class ResultKind : uint8_t { Same, Bool, Real };

/// One generated loop over contiguous arrays of one type: `arrays` is the output, then the inputs.
using Loop = void (*)(char* const* arrays, int64_t n, const Scalar* params);

/// A generated elementwise computation. "mul" is the forward of mul, "mul.other" the fused rule of its argument
/// `other`.
struct Kernel {
  const char* name;
  ResultKind result;
  uint8_t inputs;                ///< array inputs
  uint8_t params;                ///< Scalar parameters
  Loop loops[kDTypeCount] = {};  ///< by compute type; null where the op is not defined
};

/// The kernel of this name, or nullptr. Loops are those of the best instruction set of this machine.
const Kernel* find_kernel(const char* name);

/// Adds a loop to the registry; called by generated code. Later calls for the same (name, dtype) replace earlier ones.
void register_loop(const char* name, ResultKind result, int inputs, int params, DType compute, Loop loop);

/// The instruction set chosen at run time: "avx512", "avx2" or "baseline".
const char* instruction_set();

namespace cpu {

/// The most inputs an elementwise kernel may have.
inline constexpr int kMaxInputs = 8;
/// The most scalar parameters.
inline constexpr int kMaxParams = 8;

/// out = kernel(inputs...). All views have `out`'s sizes (stride 0 where broadcast). Each input is converted to
/// `compute` in cache-sized chunks; the output is converted from the kernel's result type. float16 and bfloat16 compute
/// in float32; a kernel may have a loop that converts as it goes.
void elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params);

}  // namespace cpu
}  // namespace adjoint
