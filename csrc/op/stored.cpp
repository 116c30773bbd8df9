#include "op/stored.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "op/recorded.h"
#include "types/struct_sequence.h"
#include "types/types.h"

namespace adjoint {
namespace {

constexpr uint32_t bit(DType dtype) { return 1u << static_cast<int>(dtype); }

/// A bit set from a tuple of words: names of types, or "unsigned", "float8" and "all".
uint32_t read_types(PyObject* words) {
  uint32_t types = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(words); ++i) {
    const std::string_view word = PyUnicode_AsUTF8(PyTuple_GET_ITEM(words, i));
    for (int at = kComputedTypes; at < kDTypeCount; ++at) {
      const auto dtype = static_cast<DType>(at);
      if (word == "all" || word == info(dtype).name || (word == "unsigned" && is_unsigned(dtype)) ||
          (word == "float8" && is_float8(dtype)))
        types |= bit(dtype);
    }
  }
  return types;
}

/// Whether no tensor of a stored type has an element.
bool all_empty(const Op& op, PyObject* const* slots) {
  return std::none_of(slots, slots + op.arguments.size(), [](PyObject* object) {
    return is_sequence(object) ||
           (is_tensor(object) && is_stored(as_tensor(object)->dtype) && as_tensor(object)->numel());
  });
}

/// Calls f for each stored type among the arguments, given as a type or as that of a tensor.
template <class F>
void each_stored(const Op& op, PyObject* const* slots, F f) {
  auto look = [&](PyObject* object) {
    if (is_tensor(object) ? is_stored(as_tensor(object)->dtype) : is_dtype(object) && is_stored(to_dtype(object)))
      f(is_tensor(object) ? as_tensor(object)->dtype : to_dtype(object));
  };
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    look(slots[i]);
    for (Py_ssize_t k = 0; is_sequence(slots[i]) && k < PySequence_Fast_GET_SIZE(slots[i]); ++k)
      look(PySequence_Fast_GET_ITEM(slots[i], k));
  }
}

/// The type that dtype= asks for, if that is one to compute in.
std::optional<DType> asked_type(const Op& op, PyObject* const* slots) {
  for (size_t i = 0; i < op.arguments.size(); ++i)
    if (is_dtype(slots[i]) && !is_stored(to_dtype(slots[i]))) return to_dtype(slots[i]);
  return std::nullopt;
}

/// uint64 as int64 in the same order, and back: with the upper bit turned over.
TensorPtr turned(Tensor* tensor) {
  static Op& op = require_op("bitwise_xor");
  Object bit = checked(PyLong_FromLongLong(INT64_MIN));
  PyObject* slots[] = {as_object(tensor), bit.get()};
  return TensorPtr::borrow(as_tensor(op.call(slots).get()));
}

TensorPtr widened(Tensor* tensor, const StoredTypes& types, std::optional<DType> asked) {
  TensorPtr wide = cast_recorded(tensor, asked.value_or(compute_type(tensor->dtype)));
  return types.ordered && tensor->dtype == DType::UInt64 ? turned(wide.get()) : wide;
}

/// Lets the op refuse integers or complex numbers in words of its own: asked with tensors that hold no values.
void refuse_in_words(Op& op, PyObject* const* slots) {
  PyObject* args[kMaxArguments];
  Object owned[kMaxArguments];
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    if (is_dtype(slots[i]) || is_sequence(slots[i])) return;
    owned[i] = Object::borrow(slots[i]);
    if (is_tensor(slots[i]))
      owned[i] = wrap(meta_tensor(as_tensor(slots[i])->shape, compute_type(as_tensor(slots[i])->dtype)));
    args[i] = owned[i].get();
  }
  try {
    op.call(args);
  } catch (const Error& error) {
    // Not what is said of a loop, nor of the missing values.
    if (error.kind() == ErrorKind::Runtime && std::string_view(error.what()).find("meta") == std::string_view::npos)
      throw;
  }
}

/// A result in the type that its arguments had.
TensorPtr narrowed(Tensor* tensor, DType stored, const StoredTypes& types, bool first) {
  DType dtype = tensor->dtype;
  if ((types.back || types.ordered) && first && is_unsigned(stored) && dtype == DType::Int64)
    return cast_recorded(types.ordered && stored == DType::UInt64 ? turned(tensor).get() : tensor, stored);
  if (is_float8(stored) && dtype == DType::Float32) dtype = stored;
  if (stored == DType::Complex32 && dtype == DType::Complex64) dtype = stored;
  if (stored == DType::Complex32 && dtype == DType::Float32) dtype = DType::Float16;
  return dtype == tensor->dtype ? TensorPtr::borrow(tensor) : cast_recorded(tensor, dtype);
}

}  // namespace

StoredTypes read_stored(PyObject* declaration) {
  auto read = [&](const char* name) { return read_types(checked(PyObject_GetAttrString(declaration, name)).get()); };
  Object words = checked(PyObject_GetAttrString(declaration, "widened"));
  auto says = [&](const char* word) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(words.get()); ++i)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(words.get(), i), word) == 0) return true;
    return false;
  };
  return {read("stored"), read("widened"), says("back"), says("ordered")};
}

void check_stored(const Op& op, PyObject* const* slots) {
  each_stored(op, slots, [&](DType dtype) {
    if (!(op.stored().taken & bit(dtype))) op.refuse_type(dtype);
  });
}

Object call_widened(Op& op, PyObject* const* slots) {
  StoredTypes types = op.stored();
  if (all_empty(op, slots)) types = {types.taken, ~0u, true, false};  // as in torch: there is nothing to compute
  uint32_t others = 0;
  std::optional<DType> narrow;
  each_stored(op, slots, [&](DType dtype) {
    if (types.taken & bit(dtype)) return;
    others |= bit(dtype);
    narrow = dtype;
  });
  if (!others) return {};
  const std::optional<DType> asked = asked_type(op, slots);
  if (!asked && (others & ~types.widened)) {
    if (!is_float8(*narrow)) refuse_in_words(op, slots);
    op.refuse_type(*narrow);
  }
  PyObject* args[kMaxArguments];
  Object owned[kMaxArguments];
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    args[i] = slots[i];
    if (is_dtype(slots[i]) && is_stored(to_dtype(slots[i]))) op.refuse_type(to_dtype(slots[i]));
    auto wide = [&](PyObject* object) {
      if (!is_tensor(object) || !(others & bit(as_tensor(object)->dtype))) return Object::borrow(object);
      return wrap(widened(as_tensor(object), types, asked));
    };
    if (is_sequence(slots[i])) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(slots[i]);
      owned[i] = checked(PyTuple_New(n));
      for (Py_ssize_t k = 0; k < n; ++k)
        PyTuple_SET_ITEM(owned[i].get(), k, wide(PySequence_Fast_GET_ITEM(slots[i], k)).take());
    } else {
      owned[i] = wide(slots[i]);
    }
    args[i] = owned[i].get();
  }
  Object result = op.call(args);
  if (asked) return result;
  if (is_tensor(result.get())) return wrap(narrowed(as_tensor(result.get()), *narrow, types, types.back));
  if (!PyTuple_Check(result.get())) return result;
  const Py_ssize_t n = PyTuple_GET_SIZE(result.get());
  Object results = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(result.get(), i);
    Object one = is_tensor(item) ? wrap(narrowed(as_tensor(item), *narrow, types, i == 0)) : Object::borrow(item);
    PyTuple_SET_ITEM(results.get(), i, one.take());
  }
  return op.result_type ? struct_sequence_of(op.result_type.get(), results.get()) : results;
}

}  // namespace adjoint
