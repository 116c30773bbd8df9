// A value that a node keeps for its rule: holds it without a reference cycle, and notices when it was changed since.
#pragma once

#include "core/tensor.h"

namespace adjoint {

struct Edge;

/// Throws torch's error about a second backward through a graph that was freed.
[[noreturn]] void fail_released(const Node& node);

/// Note [Versions]: a tensor, its views and its detach()es share one counter, which every in-place change bumps. A
/// saved value remembers the count it saw; a different count at unpacking means that the rule would see wrong numbers.
/// A saved tensor is kept as its pieces (storage, shape, first element), not as the tensor object: the object would
/// hold its own grad_fn, which for a saved result is the node itself.
class SavedValue {
 public:
  enum class Kind : uint8_t { Empty, Pieces, Whole, Object, Meta, List };

  SavedValue() = default;
  ~SavedValue() { clear(); }
  SavedValue(const SavedValue&) = delete;
  SavedValue& operator=(const SavedValue&) = delete;

  void save_tensor(Tensor* tensor);
  void save_meta(const Tensor* tensor);
  void save_object(PyObject* object);
  /// A sequence (tuple) of tensors; None entries are kept as they are.
  void save_list(PyObject* tuple);
  void clear() {
    if (kind_ != Kind::Empty) drop();
  }

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::Pieces || kind_ == Kind::Whole; }
  DType dtype() const { return dtype_; }
  Shape* shape() const { return shape_; }

  /// The first element, after the version check. Only for tensors.
  char* checked_data(const Node& node) const {
    check_version(node);
    return data_;
  }
  /// The storage that is held, or null.
  Storage* storage() const;
  /// A new tensor object on the saved memory, after the version check; without history.
  TensorPtr unpack(const Node& node) const;
  /// The same, tied to the graph again through the edge that its tensor had (null: none).
  TensorPtr unpack_with_edge(const Node& node, const Edge* edge) const;
  /// For Object: the object (borrowed).
  PyObject* object() const { return static_cast<PyObject*>(owner_); }
  size_t list_size() const;
  /// Entry i of a List: a SavedValue of its own.
  const SavedValue& list_item(size_t i) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  void drop();
  void check_version(const Node& node) const {
    uint32_t now =
        kind_ == Kind::Pieces ? static_cast<Storage*>(owner_)->version : version_of(static_cast<Tensor*>(owner_));
    if (now != version_) fail_changed(node, now);
  }
  [[noreturn]] void fail_changed(const Node& node, uint32_t version) const;

  void* owner_ = nullptr;  ///< Storage (Pieces), Tensor (Whole), PyObject (Object) or SavedList (List)
  Shape* shape_ = nullptr;
  char* data_ = nullptr;
  uint32_t version_ = 0;
  Kind kind_ = Kind::Empty;
  DType dtype_ = DType::Float32;
  DeviceType device_ = DeviceType::Cpu;
};

}  // namespace adjoint
