// A value that a node keeps for its rule: holds it without a reference cycle, and notices when it was changed since.
#pragma once

#include "core/tensor.h"

namespace adjoint {

struct Edge;

/// Throws torch's error about a second backward through a graph that was freed.
[[noreturn]] void fail_released(const Node& node);

/// Note [Versions]: a tensor, its views and its detach()es share one counter, which every in-place change bumps. A
/// saved value remembers the count it saw; a different count at unpacking means that the rule would see wrong numbers.
/// A saved tensor is kept as its pieces (storage, shape, place in it), not as the tensor object: the object would hold
/// its own grad_fn, which for a saved result is the node itself. The place is a distance, because storages can move.
class SavedValue {
 public:
  enum class Kind : uint8_t { Empty, Pieces, Whole, Packed, Object, Meta, List };

  SavedValue() = default;
  ~SavedValue() { clear(); }
  SavedValue(const SavedValue&) = delete;
  SavedValue& operator=(const SavedValue&) = delete;

  /// The node is the one that the value belongs to.
  void save_tensor(Tensor* tensor, const Node& node);
  void save_meta(const Tensor* tensor);
  void save_object(PyObject* object);
  /// A sequence (tuple) of tensors; None entries are kept as they are.
  void save_list(PyObject* tuple, const Node& node);
  void clear() {
    if (kind_ != Kind::Empty) drop();
  }

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::Pieces || kind_ == Kind::Whole || kind_ == Kind::Packed; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Shape* shape() const { return shape_; }

  /// The first element, after the version check. Only for tensors that are not packed.
  char* checked_data(const Node& node) const {
    check_version(node);
    return kind_ == Kind::Pieces ? first_element() : static_cast<Tensor*>(owner_)->data;
  }
  /// The storage that is held, or null.
  Storage* storage() const;
  /// A new tensor object on the saved memory, after the version check; without history.
  TensorPtr unpack(const Node& node) const;
  /// The same, tied to the graph again through the edge that its tensor had (null: none).
  TensorPtr unpack_with_edge(const Node& node, const Edge* edge) const;
  /// Gives a saved tensor to a pack hook and keeps what it returns instead; `unpack` gets the tensor back.
  void pack(const Node& node, PyObject* pack, PyObject* unpack);
  /// For Packed: what the pack hook returned, and the unpack hook (borrowed).
  PyObject* packed_object() const;
  PyObject* unpack_hook() const;
  /// For Object: the object (borrowed).
  PyObject* object() const { return static_cast<PyObject*>(owner_); }
  size_t list_size() const;
  /// Entry i of a List: a SavedValue of its own.
  SavedValue& list_item(size_t i) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  void drop();
  char* first_element() const { return static_cast<Storage*>(owner_)->data + place_; }
  /// Becomes Packed with what pack(tensor) returns.
  void save_packed(Tensor* tensor, const Node& node, PyObject* pack, PyObject* unpack);
  TensorPtr call_unpack() const;
  void check_version(const Node& node) const {
    if (kind_ == Kind::Packed) return;  // the hooks answer for the values
    uint32_t now =
        kind_ == Kind::Pieces ? static_cast<Storage*>(owner_)->version : version_of(static_cast<Tensor*>(owner_));
    if (now != version_) fail_changed(node, now);
  }
  [[noreturn]] void fail_changed(const Node& node, uint32_t version) const;

  void* owner_ =
      nullptr;  ///< Storage (Pieces), Tensor (Whole), PackedTensor (Packed), PyObject (Object), SavedList (List)
  Shape* shape_ = nullptr;
  int64_t place_ = 0;  ///< of the first element: bytes from the start of the storage (Pieces)
  uint32_t version_ = 0;
  Kind kind_ = Kind::Empty;
  DType dtype_ = DType::Float32;
  Device device_;
};

/// Note [Saved tensor hooks]: while a pair of hooks is pushed in a thread, each tensor that a node saves is given to
/// `pack`, the node keeps what it returns, and `unpack` makes a tensor of it when a rule asks. The innermost pair
/// counts.
void push_saved_tensor_hooks(PyObject* pack, PyObject* unpack);
void pop_saved_tensor_hooks();
/// The node whose tensor is being given to a pack hook in this thread, or null.
const Node* packing_node();
/// The hooks of this thread, for another one that goes on with its work while it waits.
void* saved_tensor_hooks();
void set_saved_tensor_hooks(void* hooks);
/// While a message is set in a thread, hooks may not be pushed (null: they may). Returns the message before.
Object set_saved_tensor_hooks_message(Object message);

}  // namespace adjoint
