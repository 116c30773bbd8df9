// What ties tensors to the tape: leaves and their accumulators, views, and the rewriting of history by in-place ops.
#pragma once

#include <optional>

#include "tape/change.h"
#include "tape/node.h"

namespace adjoint {

/// Makes `result` a view of `source` (of its base, when it is a view itself). `origin`: Recorded or MultiOutput; the
/// thread's modes and the origin of `source` may say more.
void mark_view(Tensor* result, Tensor* source, ViewOrigin origin);
Tensor* view_base(const Tensor* tensor);
/// Where a view begins in its base, in elements of the view.
int64_t offset_in_base(const Tensor* view);
/// The tensor is a result of its own from now on, on memory that it happens to share.
void forget_base(Tensor* tensor);

/// Throws torch's error when `tensor` may not be changed in place while recording. `recorded`: would the change be
/// recorded?
void check_inplace(Tensor* tensor, const char* op, bool recorded);
/// Refuses to write through a tensor whose elements share memory with each other.
void check_writable(const Tensor* tensor);
/// Where the gradient of an op's input goes; nowhere for one that does not require grad, and for views without history.
/// See Note [Views that require grad].
Edge input_edge(Tensor* tensor);
/// After an in-place op recorded as `node`: `tensor`, and its base when it is a view, become results of it.
void rebase_history(Tensor* tensor, Node* node);

/// The AccumulateGrad node of a leaf, made if need be.
NodePtr grad_accumulator(Tensor* leaf);
/// Adds `grad` to the leaf's .grad as torch does: in place, stolen or copied.
void accumulate_grad(Tensor* leaf, TensorPtr grad, bool create_graph);
/// The type that gradients of a leaf are cast to; none: they stay as they come.
std::optional<DType> grad_dtype_of(const Tensor* leaf);
void set_grad_dtype(Tensor* leaf, std::optional<DType> dtype);
/// Whether .grad gets the strides of its leaf even where a gradient of others could be kept: for this thread.
extern thread_local bool grad_layout_enforced;
/// Makes each of two tensors what the other one is. Graphs that hold them as leaves can no longer accumulate.
void exchange_tensors(Tensor* first, Tensor* second);
/// Removes history: the tensor becomes a leaf that does not require grad.
void detach_in_place(Tensor* tensor);

/// Lets the leaf keep its dying AccumulateGrad node for the next graph; false for other nodes and dying leaves.
bool park_accumulator(Node& node);
/// A leaf has got another geometry: its next graph needs a new accumulator. One that a graph holds stays in it.
void forget_parked_accumulator(Tensor* leaf);
/// The same, also when a graph holds it: that graph goes on accumulating what fits the leaf as it was.
void renew_accumulator(Tensor* leaf);
/// Forgets the leaf's pointer to its dying AccumulateGrad node (other nodes: nothing).
void forget_accumulator(Node& node);

}  // namespace adjoint
