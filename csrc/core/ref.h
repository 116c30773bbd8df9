// An owning pointer to anything that counts references: tensors, nodes, Python objects, shapes, storages.
#pragma once

#include <Python.h>

#include <type_traits>
#include <utility>

namespace adjoint {

/// Whether freed memory is kept for the next object of its size. Not under the address sanitizer: it sees a stray
/// access only where every block has its exact size and is really freed.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kReuseMemory = false;
#else
inline constexpr bool kReuseMemory = true;
#endif

inline void retain(PyObject* object) { Py_INCREF(object); }
inline void release(PyObject* object) { Py_DECREF(object); }

/// Counts through `retain(T*)` and `release(T*)`, found by argument-dependent lookup. The interpreter lock must be
/// held.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& other) : pointer_(other.pointer_) {
    if (pointer_) retain(pointer_);
  }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  /// From a reference to a class that is derived from T.
  template <class U>
    requires std::is_base_of_v<T, U> && (!std::is_same_v<T, U>)
  Ref(Ref<U> other) : pointer_(other.take()) {}
  ~Ref() {
    if (pointer_) release(pointer_);
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }

  /// Takes over a reference that the caller owns.
  static Ref steal(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }
  /// Adds a reference to a pointer that somebody else owns.
  static Ref borrow(T* pointer) {
    if (pointer) retain(pointer);
    return steal(pointer);
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  /// Gives up ownership.
  T* take() { return std::exchange(pointer_, nullptr); }
  void reset() { *this = Ref(); }

 private:
  T* pointer_ = nullptr;
};

using Object = Ref<PyObject>;

/// A new object that begins with one reference.
template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::steal(new T(std::forward<Args>(args)...));
}

}  // namespace adjoint
