// The tensor: one Python object that is also the native tensor, with nothing behind it.
#pragma once

#include <cstddef>

#include "core/ref.h"
#include "core/shape.h"
#include "core/storage.h"
#include "core/view.h"

namespace adjoint {

struct Node;
struct Tangent;
struct Tensor;

/// A version counter apart from the storage's: `.data` has one, so that changes through it go unseen by saved values.
struct OwnVersion {
  uint32_t refs;
  uint32_t value;
};

/// How a view came to be; decides whether changing it in place can be recorded.
enum class ViewOrigin : uint8_t { Recorded, NoGrad, MultiOutput, Inference, Function };

/// Which types a tensor's .grad may have: its own, any, or one that was asked for.
enum class GradType : uint8_t { Own, Any, Given };

/// What few tensors need: allocated when first used.
struct TensorExtra {
  Tensor* grad;             ///< .grad (owned), or null
  Tensor* base;             ///< the tensor that this one is a view of (owned), or null
  Node* accumulator;        ///< the leaf's AccumulateGrad node; see Note [Parked accumulators] in tape/history.cpp
  bool accumulator_parked;  ///< the leaf owns the node, for lack of a graph that does
  OwnVersion* version;      ///< null: the storage's counter
  PyObject* hooks;          ///< dict id -> callable, run on the gradient; owned
  PyObject* post_hooks;     ///< dict id -> callable, run after accumulation; owned
  Node* changed_by;         ///< the record of a view's last change, until its grad_fn is asked for; owned
  Tangent* tangents;        ///< of forward mode, owned; see core/tangent.h
  uint32_t seen_version;    ///< the version of the base for which a view's grad_fn holds
  ViewOrigin origin;
  GradType grad_type;
  DType grad_dtype;  ///< with GradType::Given
};

enum TensorFlags : uint8_t {
  kRequiresGrad = 1,  ///< set by the user on a leaf
  kRetainsGrad = 2,   ///< retain_grad() on a non-leaf
  kInferenceTensor = 8,
  kLent = 16,  ///< holds memory for an exported buffer, which must stay where it is
};

struct Tensor {
  PyObject_HEAD
  PyObject* dict;
  PyObject* weakrefs;
  Storage* storage;
  char* data;  ///< the first element
  Shape* shape;
  DType dtype;
  Device device;
  uint8_t flags;
  uint32_t output_nr;  ///< which output of grad_fn this tensor is
  Node* grad_fn;
  TensorExtra* extra;

  int ndim() const { return shape->ndim; }
  int64_t numel() const { return shape->numel; }
  int64_t size(int dim) const { return shape->sizes()[dim]; }
  int64_t stride(int dim) const { return shape->strides()[dim]; }
  Sizes sizes() const { return shape->size_span(); }
  Sizes strides() const { return shape->stride_span(); }
  bool contiguous() const { return shape->contiguous; }
  int64_t offset() const { return (data - storage->data) / itemsize(dtype); }
  View view() const { return {data, dtype, shape->ndim, shape->sizes(), shape->strides(), device}; }
  /// The same memory as another geometry, which the caller keeps.
  View view(int its_ndim, const int64_t* its_sizes, const int64_t* its_strides) const {
    return {data, dtype, its_ndim, its_sizes, its_strides, device};
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// Whether a tensor is not on the CPU or of a stored type: in one comparison, because every call asks.
inline bool is_special(const Tensor* tensor) {
  static_assert(offsetof(Tensor, device) == offsetof(Tensor, dtype) + 1 && offsetof(Device, type) == 0);
  static_assert(std::endian::native == std::endian::little && static_cast<int>(DeviceType::Cpu) == 0);
  uint16_t both;
  std::memcpy(&both, &tensor->dtype, sizeof(both));
  return both >= kComputedTypes;
}

inline void retain(Tensor* tensor) { Py_INCREF(reinterpret_cast<PyObject*>(tensor)); }
inline void release(Tensor* tensor) { Py_DECREF(reinterpret_cast<PyObject*>(tensor)); }
using TensorPtr = Ref<Tensor>;

/// The Python type, made by python/tensor_type.cpp at import.
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
inline PyObject* as_object(Tensor* tensor) { return reinterpret_cast<PyObject*>(tensor); }
inline Tensor* as_tensor(PyObject* object) { return reinterpret_cast<Tensor*>(object); }

/// A tensor of this geometry over part of a storage; no history. The caller checks the bounds.
TensorPtr make_tensor(StoragePtr storage, char* data, ShapePtr shape, DType dtype, Device device = {});
/// Uninitialised memory for a dense shape.
TensorPtr empty(ShapePtr shape, DType dtype, Device device);
TensorPtr empty(Sizes sizes, DType dtype, Device device);
/// The same of the program's memory that a GPU reads and writes by itself; fails where there is none.
TensorPtr empty_pinned(ShapePtr shape, DType dtype);
/// A second tensor on the same memory and version counter, of another geometry, without history or view relation.
TensorPtr alias(const Tensor* tensor, ShapePtr shape, int64_t offset_from_tensor = 0);
inline TensorPtr alias(const Tensor* tensor) { return alias(tensor, ShapePtr::borrow(tensor->shape)); }
/// A 0-d tensor in the program's memory.
template <class T>
TensorPtr scalar_tensor(T value, DType dtype = DTypeOf<T>::value) {
  TensorPtr result = empty(scalar_shape(), dtype, DeviceType::Cpu);
  dispatch_any(dtype, [&](auto tag) { *result->as<decltype(tag)>() = convert<decltype(tag)>(value); });
  return result;
}

TensorExtra& extra_of(Tensor* tensor);
/// .grad, or null (borrowed).
inline Tensor* grad_of(const Tensor* tensor) { return tensor->extra ? tensor->extra->grad : nullptr; }
/// Sets .grad; an empty pointer removes it.
void set_grad(Tensor* tensor, TensorPtr grad);
inline uint32_t& version_of(const Tensor* tensor) {
  return tensor->extra && tensor->extra->version ? tensor->extra->version->value : tensor->storage->version;
}
/// Gives `tensor` a version counter of its own (`.data`).
void detach_version(Tensor* tensor);
/// Lets `tensor` count with another one that has a version counter of its own.
void share_version(Tensor* tensor, const Tensor* with);
/// Inference tensors count no changes, but for those that detach() has taken out of inference mode.
inline bool tracks_version(const Tensor* tensor) {
  return !(tensor->flags & kInferenceTensor) || (tensor->extra && tensor->extra->version);
}

/// Keeps a dead tensor object for reuse; false when it must be freed instead.
bool recycle_tensor(Tensor* tensor);
/// Drops the extras' references; part of the type's dealloc and clear.
void destroy_extra(Tensor* tensor);

DType default_dtype();
void set_default_dtype(DType dtype);

/// Refuses memory that is not aligned for elements of a type: it is part of a buffer or of another storage.
void check_alignment(const Storage* storage, DType dtype);
/// Raises for a tensor that is not where the others of a call are.
[[noreturn]] void refuse_devices(const char* op, Device device, Device expected);
/// "Float" and so on, for torch's "not implemented for" messages.
[[noreturn]] void fail_not_implemented(const char* op, DType dtype);

}  // namespace adjoint
