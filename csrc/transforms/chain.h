// Elementwise ops under vmap that wait for one another, to run as one loop over blocks of elements.
#pragma once

#include <vector>

#include "core/batched.h"
#include "op/op.h"

namespace adjoint {

/// Note [Chains]: what a function under vmap computes of single numbers, it computes of a whole batch, and each op
/// writes a result to memory that the next one reads again. Nobody but the level can look at a value under vmap, so
/// that such ops can wait: the result of one gets its memory at once, and its numbers together with those of the ops
/// that follow, block by block, as soon as anybody else asks for its value (`batched_value`). What nobody holds any
/// more by then is never written.
///
/// This is not seen, because a step reads nothing but
///
///   - values that wait themselves;
///   - values that nobody has seen: the level has them from an op, and holds the only reference to tensor and memory;
///   - copies. The inputs of the vmap are not the level's: the program may write there without an op, by NumPy for
///     instance. An op that reads nothing but them is computed at once; one that reads what waits, too, gets a copy,
///     which costs less than to settle here.
///
/// Whoever asks for a value settles all that waits, what reads the value included, and it counts as seen from then on.
/// Types, sizes and refusals are found when an op is called, where its memory is allocated, too; to settle cannot fail.
/// Gradients inside of the level are recorded as ever. With transforms outside of it, which must see ops, with history,
/// tangents or memory of others in the values, nothing waits.
class Chain final : public Deferred {
 public:
  Chain();
  ~Chain() override;
  /// Takes in a result that the level has from an op, if nobody else has it.
  void adopt(Tensor* batched);
  /// The result of an elementwise op, put off; null where it is to be computed now. `op` is what was chosen.
  TensorPtr call(Op& op, PyObject* const* slots, uint64_t level);
  void settle() override;
  void forget(const BatchStorage& storage) override;

 private:
  struct Input {
    int step = -1;         ///< one that waits, or ...
    StoragePtr memory;     ///< ... what keeps ...
    char* data = nullptr;  ///< ... these numbers, or ...
    Scalar number;         ///< ... one for all
  };
  static constexpr int kMaxParams = 2;
  struct Step {
    Loop loop;
    BatchStorage* owner;  ///< null: nobody wants it but later steps
    int count;
    Input inputs[kernels::ChainStep::kMaxInputs];
    Scalar params[kMaxParams];
  };
  /// Reads a batched tensor as an operand; false if it is none that a step may read.
  bool read(const Tensor* tensor, uint64_t level, Input& input, Operand& operand) const;
  /// Reads a copy of a value that others may have seen; false where no step waits.
  bool copy(const Tensor* value, Input& input) const;
  /// Reads all arguments; returns the first tensor, or null where one is not for a step.
  const Tensor* read_all(const Op& op, PyObject* const* slots, uint64_t level, Step& step) const;

  std::vector<Step> steps_;
  static std::vector<Step>& spare_;  ///< room that the last chain has left, for the next: it is asked for in every vmap
  DType dtype_ = DType::Float32;     ///< of all steps
  int64_t numel_ = 0;
};

}  // namespace adjoint
