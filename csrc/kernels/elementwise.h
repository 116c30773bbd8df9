// Elementwise computations of the op table: what is known of each, and running it over views.
#pragma once

#include <span>

#include "core/dtype.h"
#include "core/scalar.h"
#include "core/view.h"

namespace adjoint {

struct Operand;
struct Tensor;

/// What a kernel writes, given its compute type.
enum class ResultKind : uint8_t { Same, Bool, Real };

/// One generated loop over contiguous arrays of one type in the program's memory: `arrays` is the output, then the
/// inputs.
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

namespace kernels {

/// The most inputs an elementwise kernel may have.
inline constexpr int kMaxInputs = 8;
/// For how many elements, and for how many operands, `packed` takes numbers.
inline constexpr int64_t kMaxSpread = 32;
inline constexpr int kMaxNumbers = 2;
/// The most scalar parameters.
inline constexpr int kMaxParams = 8;

/// One of several computations over as many contiguous elements of one type, each of the results of those before it.
struct ChainStep {
  /// An array, the result of an earlier step, or a number for all elements.
  struct Input {
    char* data;  ///< null: ...
    int step;    ///< ... a step, or -1: a number
    Scalar number;
  };
  static constexpr int kMaxInputs = 3;
  Loop loop;
  const Scalar* params;
  char* out;  ///< null: for later steps alone
  int count;  ///< of the inputs
  Input inputs[kMaxInputs];
};
/// The most steps of a chain.
inline constexpr int kMaxChain = 32;
/// The most tensors that `add_all` adds.
inline constexpr int kMaxSums = 16;

struct Elementwise {
  /// The kernel of this name, or null. Ops know their kernels as the CPU has them, which has them all.
  const Kernel* (*kernel)(const char* name);
  /// out = kernel(inputs...). All views have `out`'s sizes (stride 0 where broadcast). Each input is converted to
  /// `compute` in cache-sized chunks; the output is converted from the kernel's result type. float16 and bfloat16
  /// compute in float32; a kernel may have a loop that converts as it goes.
  void (*run)(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params);
  /// The same where all operands are contiguous and of one type, or numbers: for few elements, on the calling thread.
  /// Numbers are for kMaxSpread elements at most, and two at most. (A view of `out` would cost what the loop does.)
  void (*packed)(const Kernel& kernel, DType compute, const Tensor& out, const Operand* operands, int n,
                 const Scalar* params);
  /// Steps over n elements, a block of them after another: what is for later steps alone stays in the cache.
  void (*chain)(std::span<const ChainStep> steps, DType compute, int64_t n);
  /// out += each of the others, one after the other: at most kMaxSums of them, packed and of one type with real or
  /// complex parts of 32 bits or more.
  void (*add_all)(const View& out, std::span<const View> others);
  /// Fails with these words, which live as long as the program, if an element is zero. A device that works behind the
  /// program lets whoever waits for it fail.
  void (*refuse_zeros)(const View& in, const char* words);
  /// Between gather(true) and gather(false) no call of `run` or `packed` of this thread reads what another one writes,
  /// and what they read and write lives on: a device may compute them together.
  void (*gather)(bool begin);
};

}  // namespace kernels
}  // namespace adjoint
