// Tensors that get another geometry or other memory while they live: transpose_(), resize_(), set_(), .data =, out=.
#pragma once

#include "tape/node.h"

namespace adjoint {

/// Gives `tensor` the geometry of `shown`, which lies on the same storage: a change in place by `op`. `node`: its
/// record, or null.
void take_geometry(Tensor* tensor, const Tensor* shown, const char* op, Node* node);
/// Gives `tensor` the memory and the geometry of `source`. It counts its own changes on, whoever else has the memory.
void take_memory(Tensor* tensor, const Tensor* source);
/// Gives `tensor` another dense shape, growing its memory if need be, for all tensors on it.
void resize(Tensor* tensor, ShapePtr shape);
/// Gives the storage of `tensor` this many bytes, more than it has.
void grow(Tensor* tensor, size_t needed);

/// x.set_(source): as take_memory, recorded as a change that has no derivative. An empty source: no elements.
void set_source(Tensor* tensor, Tensor* source, Tensor* geometry);
/// Gives `out` the values of `result`; resizes it, with a warning, when the sizes differ. For out= arguments.
void write_out(const char* op, Tensor* out, Tensor* result);

}  // namespace adjoint
