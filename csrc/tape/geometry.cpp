#include "tape/geometry.h"

#include <algorithm>
#include <cstring>

#include "core/deterministic.h"
#include "core/mode.h"
#include "core/relocation.h"
#include "core/sparse.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "tape/change.h"
#include "tape/history.h"

namespace adjoint {

namespace {

/// Stands for an op that has no derivative, until somebody asks for one.
class NotImplementedKind final : public NodeKind {
 public:
  NotImplementedKind() : NodeKind("NotImplemented") {}
  void apply(Node&, TensorPtr*, TensorPtr*, const ApplyContext&) const override {
    fail("derivative for set_ is not implemented; detach() the tensor before it gets other memory");
  }
};

const NotImplementedKind not_implemented_kind;

void set_shape(Tensor* tensor, Shape* shape) {
  retain(shape);
  release(std::exchange(tensor->shape, shape));
}

/// As if `tensor` had always had this memory: its versions go on.
void replace_storage(Tensor* tensor, StoragePtr storage, int64_t bytes_before) {
  storage->version = tensor->storage->version;
  tensor->data = storage->data + bytes_before;
  release(std::exchange(tensor->storage, storage.take()));
}

/// The base of a view, if it is on the same memory and nobody but the view holds it; else null.
Tensor* forsaken_base(const Tensor* tensor) {
  Tensor* base = view_base(tensor);
  return base && base->storage == tensor->storage && Py_REFCNT(base) == 1 ? base : nullptr;
}

void warn_of_resizing(const Tensor* out, const Tensor* result) {
  if (out->numel() == 0) return;
  std::string text = "An output with one or more elements was resized since it had shape " + to_string(out->sizes()) +
                     ", which does not match the required output shape " + to_string(result->sizes()) +
                     ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
                     "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                     "inplace, to zero elements with t.resize_(0).";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw Error(ErrorKind::Python, "");
}

}  // namespace

void take_geometry(Tensor* tensor, const Tensor* shown, const char* op, Node* node) {
  refuse_batched(tensor);
  set_shape(tensor, shown->shape);
  tensor->data = shown->data;
  forget_parked_accumulator(tensor);
  bump_version(tensor, op);
  if (!node) return;
  set_history(tensor, node, 0);
  if (view_base(tensor)) tensor->extra->seen_version = version_of(tensor);
}

void take_memory(Tensor* tensor, const Tensor* source) {
  if (!is_wrapped(tensor) || !is_wrapped(source)) {
    refuse_batched(tensor);
    refuse_batched(source);
  }
  if (source->storage != tensor->storage && !(tensor->extra && tensor->extra->version)) {
    uint32_t version = version_of(tensor);
    detach_version(tensor);
    tensor->extra->version->value = version;
  }
  retain(source->storage);
  release(std::exchange(tensor->storage, source->storage));
  set_shape(tensor, source->shape);
  tensor->data = source->data;
}

void grow(Tensor* tensor, size_t needed) {
  const size_t held_bytes = tensor->storage->nbytes;
  Tensor* const users[] = {tensor, forsaken_base(tensor)};
  const size_t count = users[1] ? 2 : 1;
  const auto before = tensor->data - tensor->storage->data;
  if (tensor->storage->refs == count && !tensor->storage->noted && !tensor->storage->is_foreign()) {
    // Nobody else knows the storage: another one may take its place.
    auto larger = StoragePtr::steal(allocate_storage(needed, tensor->device));
    const auto held = static_cast<int64_t>(held_bytes);
    const int64_t step = 1;
    auto bytes = [&](char* data) { return View{data, DType::UInt8, 1, &held, &step, tensor->device}; };
    on(tensor->device).memory.copy(bytes(tensor->storage->data), bytes(larger->data));
    if (Tensor* base = users[1]) replace_storage(base, larger, base->data - base->storage->data);
    replace_storage(tensor, std::move(larger), before);
  } else {
    resize_storage(tensor->storage, tensor->device, needed, {users, count});
  }
  if (!fills_memory()) return;
  const int64_t item = itemsize(tensor->dtype), step = 1;
  const int64_t held = static_cast<int64_t>(held_bytes) / item;
  const int64_t added = static_cast<int64_t>(needed) / item - held;
  on(tensor->device)
      .memory.fill_unset({tensor->storage->data + held * item, tensor->dtype, 1, &added, &step, tensor->device});
}

void resize(Tensor* tensor, ShapePtr shape) {
  refuse_batched(tensor);
  const size_t before = static_cast<size_t>(tensor->data - tensor->storage->data);
  const size_t needed = before + static_cast<size_t>(shape->numel) * itemsize(tensor->dtype);
  if (shape->numel > 0 && needed > tensor->storage->nbytes) grow(tensor, needed);
  set_shape(tensor, shape.get());
}

void set_source(Tensor* tensor, Tensor* source, Tensor* geometry) {
  bool recorded = recording() && is_differentiable(tensor->dtype) && (requires_grad(tensor) || requires_grad(source));
  check_inplace(tensor, "set_", recorded || requires_grad(tensor));
  NodePtr node;
  if (recorded) {
    node = make_node(not_implemented_kind, 1, 2, 0);
    set_edge(*node, 0, tensor);
    set_edge(*node, 1, source);
  }
  // Those who saved the tensor must see that it is not what it was.
  bump_version(tensor, "set_");
  take_memory(tensor, geometry);
  forget_parked_accumulator(tensor);
  if (node) rebase_history(tensor, node.get());
}

void write_out(const char* op, Tensor* out, Tensor* result) {
  check_inplace(out, op, false);
  if (is_batched(out) || is_batched(result))
    fail("Batching rule not implemented for aten::", op, ".out; the fallback path doesn't work on out= or view ops: ",
         "out= cannot be used under vmap; assign the result instead");
  if (is_sparse(out) || is_sparse(result)) {
    if (layout_of(out) != layout_of(result) || out->dtype != result->dtype)
      fail(op, "(): expected out= to have the layout and the type of the result, which is ",
           is_sparse(result) ? "sparse" : "dense", "; give another out=, or none");
    assign_sparse(out, result);
    return bump_version(out, op);
  }
  if (out->device != result->device)
    fail(op, "(): Expected out tensor to be on device ", device_name(result->device.type), ", but got ",
         device_name(out->device.type), "; give an out= on the device of the arguments");
  if (category(result->dtype) > category(out->dtype))
    fail("result type ", info(result->dtype).legacy_name, " can't be cast to the desired output type ",
         info(out->dtype).legacy_name, "; give an out= of the result's type");
  check_writable(out);
  if (same_sizes(out->shape, result->shape)) {
    copy_into(result, out);
  } else {
    warn_of_resizing(out, result);
    const bool shared = out->storage->refs > 1 || out->storage->noted;
    if (view_base(out) || (shared && is_resizable(out->storage))) {
      resize(out, make_shape(result->sizes()));
      copy_into(result, out);
    } else {
      TensorPtr fitting = cast(result, out->dtype);
      set_shape(out, fitting->shape);
      replace_storage(out, StoragePtr::borrow(fitting->storage), fitting->data - fitting->storage->data);
    }
    forget_parked_accumulator(out);
  }
  bump_version(out, op);
}

}  // namespace adjoint
