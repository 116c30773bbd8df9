#include "tape/saved_value.h"

#include <memory>
#include <vector>

#include "core/lock.h"
#include "core/mode.h"
#include "core/tangent.h"
#include "ops/memory.h"
#include "tape/change.h"
#include "tape/node.h"

namespace adjoint {
namespace {

[[noreturn]] void fail_python() { throw Error(ErrorKind::Python, ""); }

struct Hooks {
  Object pack, unpack;
};

/// A thread's hooks, innermost last, and why none may be pushed. On the heap and never freed by the end of a thread:
/// dropping Python objects then would need the interpreter lock.
struct ThreadHooks {
  std::vector<Hooks> stack;
  Object message;
};
thread_local ThreadHooks* thread_hooks = nullptr;

ThreadHooks& hooks_of_thread() {
  if (!thread_hooks) thread_hooks = new ThreadHooks;
  return *thread_hooks;
}

thread_local const Node* packing = nullptr;

/// What a pack hook made of a tensor, and how to undo it.
struct PackedTensor {
  Object object, unpack;
};

/// The entries of a saved sequence of tensors.
struct SavedList {
  size_t count;
  std::unique_ptr<SavedValue[]> items;
};

TensorPtr alias_with_tangents(const Tensor* tensor) {
  TensorPtr result = alias(tensor);
  copy_tangents(result.get(), tensor);
  return result;
}

}  // namespace

void SavedValue::save_tensor(Tensor* tensor, const Node& node) {
  clear();
  if (tensor->flags & kInferenceTensor)
    fail(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
        "and use it in "
        "autograd.");
  if ((mode_flags & kSavedTensorHooks) && thread_hooks && !thread_hooks->stack.empty()) [[unlikely]] {
    Hooks hooks = thread_hooks->stack.back();
    return save_packed(tensor, node, hooks.pack.get(), hooks.unpack.get());
  }
  tensor->storage->saved = true;
  version_ = version_of(tensor);
  dtype_ = tensor->dtype;
  device_ = tensor->device;
  shape_ = tensor->shape;
  retain(shape_);
  if (tensor->extra && (tensor->extra->version || tensor->extra->tangents)) {
    // Its counter is not the storage's, or there is more to it: keep the tensor, without history.
    kind_ = Kind::Whole;
    owner_ = alias_with_tangents(tensor).take();
    return;
  }
  kind_ = Kind::Pieces;
  retain(tensor->storage);
  owner_ = tensor->storage;
  place_ = tensor->data - tensor->storage->data;
}

void SavedValue::save_packed(Tensor* tensor, const Node& node, PyObject* pack, PyObject* unpack) {
  uint32_t before = version_of(tensor);
  Object packed;
  {
    GradModeGuard no_grad(false);
    const Node* outer = std::exchange(packing, &node);
    packed = Object::steal(call_python(pack, as_object(tensor)));
    packing = outer;
  }
  if (!packed) fail_python();
  if (version_of(tensor) != before)
    fail(
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
        "modified by in-place operations as this can lead to unexpected side-effects; change a clone() of it.");
  clear();
  kind_ = Kind::Packed;
  owner_ = new PackedTensor{std::move(packed), Object::borrow(unpack)};
  dtype_ = tensor->dtype;
  device_ = tensor->device;
  shape_ = tensor->shape;
  retain(shape_);
}

void SavedValue::pack(const Node& node, PyObject* pack, PyObject* unpack) {
  TensorPtr tensor = this->unpack(node);
  save_packed(tensor.get(), node, pack, unpack);
}

TensorPtr SavedValue::call_unpack() const {
  // Owned here: the hook may free the node that this value belongs to.
  PackedTensor packed = *static_cast<PackedTensor*>(owner_);
  Object answer = Object::steal(call_python(packed.unpack.get(), packed.object.get()));
  if (!answer) fail_python();
  if (!adjoint::is_tensor(answer.get()))
    fail(ErrorKind::Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
         Py_TYPE(answer.get())->tp_name);
  return alias_with_tangents(as_tensor(answer.get()));
}

PyObject* SavedValue::packed_object() const { return static_cast<PackedTensor*>(owner_)->object.get(); }
PyObject* SavedValue::unpack_hook() const { return static_cast<PackedTensor*>(owner_)->unpack.get(); }

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

void SavedValue::save_list(PyObject* tuple, const Node& node) {
  clear();
  auto* list = new SavedList;
  list->count = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
  list->items = std::make_unique<SavedValue[]>(list->count);
  owner_ = list;
  kind_ = Kind::List;
  for (size_t i = 0; i < list->count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (adjoint::is_tensor(item)) {
      list->items[i].save_tensor(as_tensor(item), node);
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
    case Kind::Packed: delete static_cast<PackedTensor*>(owner); break;
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

/// The leaf on this storage that a node got, as it is or through views; null when there is none.
static Tensor* leaf_on(const Storage* storage, const Node& node) {
  for (uint32_t i = 0; i < node.n_edges; ++i) {
    const Node* next = node.edges()[i].node;
    while (next && !accumulated_leaf(*next) && next->n_edges == 1) next = next->edges()[0].node;
    Tensor* leaf = next ? accumulated_leaf(*next) : nullptr;
    if (leaf && leaf->storage == storage) return leaf;
  }
  return nullptr;
}

/// What the running Python code calls a tensor, or "".
static std::string name_in_python(Tensor* tensor) {
  Object module = Object::steal(PyImport_ImportModule("adjoint.inspect.names"));
  Object name;
  if (module) name = Object::steal(PyObject_CallMethod(module.get(), "name_of", "O", as_object(tensor)));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

void SavedValue::fail_changed(const Node& node, uint32_t now) const {
  std::string where = source_line(node);
  // Calls into Python may free this value: what is needed of it is read before.
  StoragePtr storage = StoragePtr::borrow(this->storage());
  std::string what =
      std::string("[torch.") + info(dtype_).legacy_name + "Tensor " + to_string(shape_->size_span()) + "]";
  std::string change = last_change(storage.get());
  uint32_t expected = version_;
  std::string saved = "saved by " + node.kind->name() + (where.empty() ? "" : " (made at " + where + ")");
  const char* hint =
      "use the out-of-place form of the operation that changed it, or clone() the tensor before changing it.";
  if (Tensor* leaf = leaf_on(storage.get(), node)) {
    std::string name = name_in_python(leaf);
    what += name.empty() ? ", a leaf" : ", the leaf `" + name + "`";
    hint =
        "a leaf such as a parameter may be updated before the forward or after the last backward that uses its value, "
        "not between; run the forward again after the update.";
  }
  fail("one of the variables needed for gradient computation has been modified by an inplace operation: ", what, ", ",
       saved, ", is at version ", now, "; expected version ", expected, " instead. ",
       change.empty() ? "" : "It was last changed by " + change + ". ", "Hint: ", hint);
}

TensorPtr SavedValue::unpack(const Node& node) const {
  if (kind_ == Kind::Packed) return call_unpack();
  check_version(node);
  if (kind_ == Kind::Whole) return alias_with_tangents(static_cast<Tensor*>(owner_));
  return make_tensor(StoragePtr::borrow(static_cast<Storage*>(owner_)), first_element(), ShapePtr::borrow(shape_),
                     dtype_, device_);
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
SavedValue& SavedValue::list_item(size_t i) const { return static_cast<SavedList*>(owner_)->items[i]; }

int SavedValue::traverse(visitproc visit, void* arg) const {
  if (kind_ == Kind::Object || kind_ == Kind::Whole) Py_VISIT(static_cast<PyObject*>(owner_));
  if (kind_ == Kind::Packed) {
    Py_VISIT(packed_object());
    Py_VISIT(unpack_hook());
  }
  if (kind_ == Kind::List) {
    for (size_t i = 0; i < list_size(); ++i)
      if (int result = list_item(i).traverse(visit, arg)) return result;
  }
  return 0;
}

void push_saved_tensor_hooks(PyObject* pack, PyObject* unpack) {
  ThreadHooks& hooks = hooks_of_thread();
  if (hooks.message) {
    const char* text = PyUnicode_AsUTF8(hooks.message.get());
    if (!text) fail_python();
    fail(text);
  }
  hooks.stack.push_back({Object::borrow(pack), Object::borrow(unpack)});
  mode_flags |= kSavedTensorHooks;
}

const Node* packing_node() { return packing; }

void* saved_tensor_hooks() { return thread_hooks; }
void set_saved_tensor_hooks(void* hooks) { thread_hooks = static_cast<ThreadHooks*>(hooks); }

void pop_saved_tensor_hooks() {
  ThreadHooks& hooks = hooks_of_thread();
  if (hooks.stack.empty()) fail("saved_tensors_hooks: there are no hooks to take away in this thread");
  Hooks last = std::move(hooks.stack.back());
  hooks.stack.pop_back();
  if (hooks.stack.empty()) mode_flags &= ~kSavedTensorHooks;
}

Object set_saved_tensor_hooks_message(Object message) {
  ThreadHooks& hooks = hooks_of_thread();
  if (message && !hooks.stack.empty()) {
    const char* text = PyUnicode_AsUTF8(message.get());
    if (!text) fail_python();
    fail(text);
  }
  return std::exchange(hooks.message, std::move(message));
}

}  // namespace adjoint
