// One bound argument of an op, converted to whatever C++ type the op's function takes.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/generator.h"
#include "core/guard.h"
#include "core/ints.h"
#include "core/memory_format.h"
#include "core/number.h"
#include "core/value.h"

namespace adjoint {

/// Converts on demand: `ops::sum(Arg{...}, Arg{...})` lets the parameter types of `sum` say what is expected.
struct Arg {
  PyObject* object;  ///< borrowed
  const char* op;    ///< as errors call it
  const char* name;
  int position = 0;  ///< as errors count it, from 1; 0: they do not say

  operator Tensor*() const;
  operator std::optional<Tensor*>() const;
  operator int64_t() const;
  operator std::optional<int64_t>() const;
  operator bool() const;
  operator double() const;
  operator std::optional<bool>() const;
  operator std::optional<double>() const;
  operator Scalar() const;
  operator std::optional<Scalar>() const;
  operator Value() const;
  operator std::optional<Value>() const;
  operator DType() const;
  operator std::optional<DType>() const;
  /// An int counts as a list of one.
  operator Ints() const;
  operator std::optional<Ints>() const;
  /// The same, of any length.
  operator std::vector<int64_t>() const;
  operator SizeList() const;
  operator std::optional<SizeList>() const;
  operator SizeArgs() const;
  operator Number() const;
  operator std::optional<Number>() const;
  operator TensorOrNumber() const;
  operator TensorOrReal() const;
  operator std::optional<TensorOrReal>() const;
  /// Null for None: the default one of the device in question.
  operator Generator*() const;
  operator Device() const;
  operator std::optional<MemoryFormat>() const;
  operator std::string() const;
  operator std::optional<std::string>() const;
  operator std::vector<Tensor*>() const;
  operator std::vector<std::optional<Tensor*>>() const;
  operator PyObject*() const { return object; }

  /// "zeros(): argument 'size' (position 1)".
  std::string described() const;
  [[noreturn]] void wrong_type(const char* expected) const;
};

/// A Python number (bool, int, float, complex or NumPy scalar) as a Scalar; false when it is none.
bool to_scalar(PyObject* object, Scalar* scalar);
/// An index-like object as an integer; throws Python's error.
int64_t to_int(PyObject* object, const char* op, const char* name);

/// Results of the ops' C++ functions as Python objects.
Object wrap(TensorPtr tensor);
Object wrap(std::vector<TensorPtr> tensors);
Object wrap(std::variant<TensorPtr, std::vector<TensorPtr>> one_or_more);
Object wrap(std::pair<TensorPtr, TensorPtr> tensors);
Object wrap(std::tuple<TensorPtr, TensorPtr, TensorPtr> tensors);
Object wrap(bool value);
Object wrap(int64_t value);
Object wrap(double value);
inline Object wrap(Object object) { return object; }

}  // namespace adjoint
