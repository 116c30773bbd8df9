#include "tape/saved_value.h"

#include <memory>

#include "tape/node.h"

namespace adjoint {
namespace {

/// The entries of a saved sequence of tensors.
struct SavedList {
  size_t count;
  std::unique_ptr<SavedValue[]> items;
};

}  // namespace

void SavedValue::save_tensor(Tensor* tensor) {
  clear();
  if (tensor->flags & kInferenceTensor)
    fail(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
        "and use it in "
        "autograd.");
  version_ = version_of(tensor);
  dtype_ = tensor->dtype;
  device_ = tensor->device;
  shape_ = tensor->shape;
  retain(shape_);
  if (tensor->extra && tensor->extra->version) {
    // Its counter is not the storage's: keep the tensor, without history, to keep the counter.
    kind_ = Kind::Whole;
    owner_ = alias(tensor).take();
    data_ = tensor->data;
    return;
  }
  kind_ = Kind::Pieces;
  retain(tensor->storage);
  owner_ = tensor->storage;
  data_ = tensor->data;
}

void SavedValue::save_meta(const Tensor* tensor) {
  clear();
  kind_ = Kind::Meta;
  dtype_ = tensor->dtype;
  device_ = tensor->device;
  shape_ = tensor->shape;
  retain(shape_);
}

void SavedValue::save_object(PyObject* object) {
  clear();
  kind_ = Kind::Object;
  Py_INCREF(object);
  owner_ = object;
}

void SavedValue::save_list(PyObject* tuple) {
  clear();
  auto* list = new SavedList;
  list->count = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
  list->items = std::make_unique<SavedValue[]>(list->count);
  owner_ = list;
  kind_ = Kind::List;
  for (size_t i = 0; i < list->count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (adjoint::is_tensor(item)) {
      list->items[i].save_tensor(as_tensor(item));
    } else {
      list->items[i].save_object(item);
    }
  }
}

void SavedValue::drop() {
  void* owner = std::exchange(owner_, nullptr);
  Shape* shape = std::exchange(shape_, nullptr);
  switch (std::exchange(kind_, Kind::Empty)) {
    case Kind::Pieces: release(static_cast<Storage*>(owner)); break;
    case Kind::Whole: release(static_cast<Tensor*>(owner)); break;
    case Kind::Object: Py_DECREF(static_cast<PyObject*>(owner)); break;
    case Kind::List: delete static_cast<SavedList*>(owner); break;
    case Kind::Meta:
    case Kind::Empty: break;
  }
  if (shape) release(shape);
}

Storage* SavedValue::storage() const {
  if (kind_ == Kind::Pieces) return static_cast<Storage*>(owner_);
  if (kind_ == Kind::Whole) return static_cast<Tensor*>(owner_)->storage;
  return nullptr;
}

void SavedValue::fail_changed(const Node& node, uint32_t now) const {
  std::string where = source_line(node);
  fail("one of the variables needed for gradient computation has been modified by an inplace operation: [torch.",
       info(dtype_).legacy_name, "Tensor ", to_string(shape_->size_span()), "], saved by ", node.kind->name(),
       where.empty() ? "" : " (made at " + where + ")", ", is at version ", now, "; expected version ", version_,
       " instead. Hint: use the out-of-place form of the operation that changed it, or clone() the tensor before "
       "changing it.");
}

TensorPtr SavedValue::unpack(const Node& node) const {
  check_version(node);
  if (kind_ == Kind::Whole) return alias(static_cast<Tensor*>(owner_));
  return make_tensor(StoragePtr::borrow(static_cast<Storage*>(owner_)), data_, ShapePtr::borrow(shape_), dtype_,
                     device_);
}

TensorPtr SavedValue::unpack_with_edge(const Node& node, const Edge* edge) const {
  TensorPtr tensor = unpack(node);
  if (!edge || !edge->node) return tensor;
  Tensor* leaf = accumulated_leaf(*edge->node);
  if (leaf && leaf->data == tensor->data && leaf->shape == tensor->shape) return TensorPtr::borrow(leaf);
  retain(edge->node);
  tensor->grad_fn = edge->node;
  tensor->output_nr = edge->index;
  return tensor;
}

void fail_released(const Node& node) {
  std::string where = source_line(node);
  fail(
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been freed). "
      "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if "
      "you need to backward through the graph a second time or if you need to access saved tensors after calling "
      "backward. (The "
      "freed node is ",
      node.kind->name(), where.empty() ? "" : ", made at " + where, ".)");
}

size_t SavedValue::list_size() const { return static_cast<SavedList*>(owner_)->count; }
const SavedValue& SavedValue::list_item(size_t i) const { return static_cast<SavedList*>(owner_)->items[i]; }

int SavedValue::traverse(visitproc visit, void* arg) const {
  if (kind_ == Kind::Object || kind_ == Kind::Whole) Py_VISIT(static_cast<PyObject*>(owner_));
  if (kind_ == Kind::List) {
    for (size_t i = 0; i < list_size(); ++i)
      if (int result = list_item(i).traverse(visit, arg)) return result;
  }
  return 0;
}

}  // namespace adjoint
