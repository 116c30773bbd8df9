// Elementwise ops on tensors and numbers: type promotion, broadcasting, the result's memory, then the kernel.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/elementwise.h"
#include "kernels/operand.h"

namespace adjoint::ops {

using adjoint::Operand;

/// The type in which tensors and numbers meet: dimensioned tensors outrank 0-d ones, which outrank numbers, unless the
/// lesser is of a higher category.
DType result_type(const Operand* operands, int n);

/// Shape of the result: sizes by broadcasting; the order of dimensions in memory that of the operands, as torch has it.
/// `compute`: the type in which they meet.
ShapePtr result_shape(const Operand* operands, int n, DType compute);

/// What the last operand must not be when integers are computed with.
enum class IntegerCheck : uint8_t { None, Divisor, Exponent };

/// Types that an op refuses before it looks for a loop, and what it says of them.
struct Refusal {
  enum class Of : uint8_t { Result, Any, All };
  Of of = Of::Result;      ///< the type in which the op computes, that of any operand, or those of all `operands`
  uint8_t categories = 0;  ///< bit set of the categories that are refused
  uint32_t operands = 0;   ///< bit set
  ErrorKind kind = ErrorKind::Runtime;
  std::string text;
};

/// What only errors need.
struct ElementwiseWords {
  std::vector<std::string> arguments;  ///< their names
  std::vector<Refusal> refusals;       ///< in the order in which they are looked at
  std::string loop;                    ///< what torch calls the loop, of a type that is not implemented
  std::string mixed;                   ///< what is said of tensors of several types where there must be one
};

struct ElementwiseOptions {
  const char* name;    ///< for messages
  bool promote_float;  ///< integers compute in the default float type
  IntegerCheck check = IntegerCheck::None;
  bool one_type = false;  ///< tensors that have dimensions must all have the type of the first operand
  uint32_t rounded = 0;   ///< bit set of the operands, then the params, that half types round if they are numbers
  uint32_t factors = 0;   ///< bit set of the params that multiply an operand: they may not raise the type
  uint32_t stored = 0;    ///< bit set of the stored types that are taken; see Note [Stored types] in core/dtype.h
  const ElementwiseWords* words = nullptr;  ///< of an op; the loop of a rule has none
};

/// Refuses parameters that do not fit in the type in which the op computes.
void check_params(const ElementwiseOptions& options, const Operand* operands, int n, const Scalar* params, int count);
/// What `elementwise` refuses in operands that have one shape; returns the type in which they are computed with.
DType check_alike(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n);
/// kernel(operands...) in a fresh tensor.
TensorPtr elementwise(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n,
                      const Scalar* params);
/// Refuses an in-place operation whose result has other sizes than `out`, or a type that cannot be cast to its type.
void check_in_place_result(const Tensor* out, Sizes sizes, DType dtype);
/// The same into `out`, whose sizes must be those of the result; its type may differ if the result can be cast to it.
void elementwise_into(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n,
                      const Scalar* params, Tensor* out);

}  // namespace adjoint::ops

namespace adjoint {

/// target += other (broadcast), without recording or bumping the version.
void add_in_place(Tensor* target, const Tensor* other);

}  // namespace adjoint
