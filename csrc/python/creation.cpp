// Tensors made from sizes: zeros, ones, empty, full, their *_like and new_* forms, eye.
#include "python/creation.h"

#include <algorithm>
#include <cstring>

#include "core/deterministic.h"
#include "core/lock.h"
#include "core/mode.h"
#include "cpu/copy.h"
#include "ops/memory.h"
#include "python/interop.h"
#include "python/tensor_type.h"
#include "tape/geometry.h"
#include "tape/history.h"

namespace adjoint::python {
namespace {

/// What a function fills its new tensor with.
enum class Content { Nothing, Zeros, Ones };

void fill_content(Tensor* tensor, Content content) {
  if (content == Content::Nothing) return mark_unset(tensor);
  if (tensor->device == DeviceType::Meta) return;
  constexpr int64_t kSmall = 4096;
  int64_t nbytes = tensor->numel() * itemsize(tensor->dtype);
  if (content == Content::Zeros && nbytes <= kSmall) {
    std::memset(tensor->data, 0, static_cast<size_t>(nbytes));  // new tensors are dense
  } else {
    fill_value(tensor, Scalar::of(int64_t{content == Content::Ones}));
  }
}

/// zeros, ones, empty: slots size, out, and memory_format for empty.
PyObject* make_sized(const Signature& signature, Content content, PyObject* const* args, Py_ssize_t nargs,
                     PyObject* kwnames) {
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 1, options);
    DType dtype = options.dtype.value_or(default_dtype());
    check_requires_grad(dtype, options.requires_grad);
    ShapePtr shape = shape_in_format(call.sizes(0), call.memory_format(2).value_or(MemoryFormat::Contiguous));
    TensorPtr result = empty(std::move(shape), dtype, options.place());
    fill_content(result.get(), content);
    return (out ? into_out(call.name(), out, result.get(), options) : finish(std::move(result), options)).take();
  });
}

PyObject* make_ones(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("ones", {"*size"}, 1, {"out", nullptr}, kAllOptions);
  return make_sized(signature, Content::Ones, args, nargs, kwnames);
}
PyObject* make_empty(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("empty", {"*size"}, 1, {"out", "memory_format"}, kAllOptions);
  return make_sized(signature, Content::Nothing, args, nargs, kwnames);
}

/// The type that a number has as a tensor: full() infers it from its value.
DType natural_type(PyObject* object, const Scalar& scalar) {
  if (PyLong_Check(object) && !PyBool_Check(object)) return DType::Int64;
  switch (scalar.category) {
    case Category::Bool: return PyBool_Check(object) ? DType::Bool : default_dtype();  // NumPy's are floats to torch
    case Category::Integer: return DType::Int64;
    case Category::Float: return default_dtype();
    case Category::Complex: return complex_type(default_dtype());
  }
  return default_dtype();
}

PyObject* make_full(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("full", {"size", "fill_value"}, 2, {"out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 2, options);
    Ints sizes = call.sizes(0);
    Scalar value = call.number(1);
    DType dtype = options.dtype.value_or(natural_type(call[1], value));
    check_requires_grad(dtype, options.requires_grad);
    TensorPtr result = empty(make_shape(sizes), dtype, options.place());
    fill_value(result.get(), value);
    return (out ? into_out(call.name(), out, result.get(), options) : finish(std::move(result), options)).take();
  });
}

PyObject* make_scalar(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("scalar_tensor", {"s"}, 1, {}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    DType dtype = options.dtype.value_or(default_dtype());
    check_requires_grad(dtype, options.requires_grad);
    TensorPtr result = empty(scalar_shape(), dtype, options.place());
    fill_value(result.get(), call.number(0));
    return finish(std::move(result), options).take();
  });
}

// ---- As another tensor

/// Slots: input, memory_format.
PyObject* make_like(const Signature& signature, Content content, PyObject* const* args, Py_ssize_t nargs,
                    PyObject* kwnames) {
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Tensor* input = call.tensor(0);
    Options options = call.options();
    DType dtype = options.dtype.value_or(input->dtype);
    check_requires_grad(dtype, options.requires_grad);
    Device device = options.place(input);
    TensorPtr result = empty(shape_like(input, call.memory_format(1)), dtype, device);
    fill_content(result.get(), content);
    return finish(std::move(result), options).take();
  });
}

PyObject* make_zeros_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("zeros_like", {"input"}, 1, {"memory_format"}, kAllOptions);
  return make_like(signature, Content::Zeros, args, nargs, kwnames);
}
PyObject* make_ones_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("ones_like", {"input"}, 1, {"memory_format"}, kAllOptions);
  return make_like(signature, Content::Ones, args, nargs, kwnames);
}
PyObject* make_empty_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("empty_like", {"input"}, 1, {"memory_format"}, kAllOptions);
  return make_like(signature, Content::Nothing, args, nargs, kwnames);
}
PyObject* make_full_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("full_like", {"input", "fill_value"}, 2, {"memory_format"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Tensor* input = call.tensor(0);
    Options options = call.options();
    DType dtype = options.dtype.value_or(input->dtype);
    check_requires_grad(dtype, options.requires_grad);
    Device device = options.place(input);
    TensorPtr result = empty(shape_like(input, call.memory_format(2)), dtype, device);
    fill_value(result.get(), call.number(1));
    return finish(std::move(result), options).take();
  });
}

// ---- Methods: of the type and device of self

PyObject* new_sized(const Signature& signature, Content content, PyObject* self, PyObject* const* args,
                    Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    DType dtype = options.dtype.value_or(as_tensor(self)->dtype);
    check_requires_grad(dtype, options.requires_grad);
    Device device = options.place(as_tensor(self));
    TensorPtr result = empty(make_shape(call.sizes(0)), dtype, device);
    fill_content(result.get(), content);
    return finish(std::move(result), options).take();
  });
}

PyObject* new_zeros(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_zeros", {"*size"}, 1, {}, kAllOptions);
  return new_sized(signature, Content::Zeros, self, args, nargs, kwnames);
}
PyObject* new_ones(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_ones", {"*size"}, 1, {}, kAllOptions);
  return new_sized(signature, Content::Ones, self, args, nargs, kwnames);
}
PyObject* new_empty(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_empty", {"*size"}, 1, {}, kAllOptions);
  return new_sized(signature, Content::Nothing, self, args, nargs, kwnames);
}
PyObject* new_full(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_full", {"size", "fill_value"}, 2, {}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    DType dtype = options.dtype.value_or(as_tensor(self)->dtype);
    check_requires_grad(dtype, options.requires_grad);
    TensorPtr result = empty(make_shape(call.sizes(0)), dtype, options.place(as_tensor(self)));
    fill_value(result.get(), call.number(1));
    return finish(std::move(result), options).take();
  });
}

PyObject* new_legacy(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] { return wrap(legacy_new(args, keywords, as_tensor(self)->dtype, as_tensor(self))).take(); });
}

// ---- Strided, and the identity

/// Negative strides of dimensions that are never stepped along become those of packed ones, as in torch.
void replace_negative_strides(Sizes sizes, int64_t* strides) {
  const auto last = static_cast<int>(sizes.size()) - 1;
  for (int i = last; i >= 0; --i) {
    if (strides[i] >= 0) continue;
    const auto inner = i == last ? 1 : static_cast<uint64_t>(strides[i + 1]) * std::max<int64_t>(sizes[i + 1], 1);
    strides[i] = static_cast<int64_t>(inner);
  }
}

/// Memory for sizes and strides given by the caller; the strides may overlap but not go backwards.
TensorPtr strided(Sizes sizes, Sizes strides, DType dtype, Device device) {
  if (sizes.size() != strides.size())
    fail("dimensionality of sizes (", sizes.size(), ") must match dimensionality of strides (", strides.size(), ")");
  auto overflow = [&] {
    fail("Storage size calculation overflowed with sizes=", to_string(sizes), " and strides=", to_string(strides));
  };
  int64_t elements = checked_numel(sizes) == 0 ? 0 : 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    if (elements == 0) continue;
    if (strides[i] < 0 && sizes[i] > 1) overflow();
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(elements, reach, &elements))
      overflow();
  }
  if (elements > (INT64_MAX >> 4)) overflow();
  int64_t taken[kMaxDims];
  std::copy(strides.begin(), strides.end(), taken);
  replace_negative_strides(sizes, taken);
  ShapePtr shape = make_shape(sizes, {taken, sizes.size()});
  if (device == DeviceType::Meta) return empty(std::move(shape), dtype, device);
  auto storage = StoragePtr::steal(allocate_storage(static_cast<size_t>(elements * itemsize(dtype)), device));
  char* data = storage->data;
  return make_tensor(std::move(storage), data, std::move(shape), dtype);
}

PyObject* empty_strided(const Signature& signature, DType fallback, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    DType dtype = options.dtype.value_or(fallback);
    check_requires_grad(dtype, options.requires_grad);
    TensorPtr result = strided(call.sizes(0), call.sizes(1), dtype, options.place());
    mark_unset(result.get());
    return finish(std::move(result), options).take();
  });
}
PyObject* make_empty_strided(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("empty_strided", {"size", "stride"}, 2, {}, kAllOptions);
  return empty_strided(signature, default_dtype(), args, nargs, kwnames);
}
PyObject* new_empty_strided(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("new_empty_strided", {"size", "stride"}, 2, {}, kAllOptions);
  return empty_strided(signature, as_tensor(self)->dtype, args, nargs, kwnames);
}

PyObject* make_empty_permuted(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("empty_permuted", {"size", "physical_layout"}, 2, {}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    DType dtype = options.dtype.value_or(default_dtype());
    check_requires_grad(dtype, options.requires_grad);
    Ints sizes = call.sizes(0), layout = call.sizes(1);
    if (sizes.size() != layout.size())
      fail("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ",
           sizes.size(), " is not equal to len(physical_layout) = ", layout.size());
    checked_numel(sizes);
    // The layout names the dimensions from the outermost to the innermost.
    int64_t strides[kMaxDims], stride = 1;
    uint64_t seen = 0;
    for (size_t i = layout.size(); i-- > 0;) {
      int64_t dim = layout[i];
      if (dim < 0 || dim >= static_cast<int64_t>(sizes.size()))
        fail("Dimension out of range (expected to be between 0 and ", sizes.size() - 1, ", but got ", dim, " at index ",
             i, ").  NB: negative dims not currently supported; count from the front.");
      if (seen >> dim & 1) fail("Duplicate dim not allowed");
      seen |= uint64_t{1} << dim;
      strides[dim] = stride;
      stride *= std::max<int64_t>(sizes[dim], 1);
    }
    TensorPtr result = strided(sizes, {strides, sizes.size()}, dtype, options.place());
    mark_unset(result.get());
    return finish(std::move(result), options).take();
  });
}

PyObject* make_eye(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("eye", {"n", "m"}, 1, {"out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 2, options);
    int64_t n = call.integer(0);
    int64_t m = call[1] ? call.integer(1) : n;
    if (n < 0) fail("n must be greater or equal to 0, got ", n);
    if (m < 0) fail("m must be greater or equal to 0, got ", m);
    DType dtype = options.dtype.value_or(default_dtype());
    check_requires_grad(dtype, options.requires_grad);
    int64_t sizes[2] = {n, m};
    TensorPtr result = empty(make_shape(sizes), dtype, options.place());
    fill_content(result.get(), Content::Zeros);
    if (result->device == DeviceType::Cpu && result->numel() > 0) {
      int64_t length = std::min(n, m), step = m + 1;
      dispatch(dtype, [&](auto tag) {
        using T = decltype(tag);
        T one = convert<T>(int64_t{1});
        cpu::fill({result->data, dtype, 1, &length, &step}, &one);
      });
    }
    return (out ? into_out(call.name(), out, result.get(), options) : finish(std::move(result), options)).take();
  });
}

}  // namespace

void check_requires_grad(DType dtype, bool requires_grad) {
  if (requires_grad) ops::check_differentiable(dtype);
}

Object finish(TensorPtr tensor, const Options& options) {
  if (mode_flags & kInferenceMode) tensor->flags |= kInferenceTensor;
  if (options.requires_grad) {
    check_requires_grad(tensor->dtype, true);
    tensor->flags |= kRequiresGrad;
  }
  return wrap(std::move(tensor));
}

Tensor* read_out(const Call& call, int slot, Options& options) {
  if (!call.has(slot)) return nullptr;
  Tensor* out = call.tensor(slot);
  if (options.dtype && *options.dtype != out->dtype)
    fail("dtype ", info(*options.dtype).legacy_name, " does not match dtype of out parameter (",
         info(out->dtype).legacy_name, ")");
  if (out->device == DeviceType::Meta) fail(call.name(), "(): out= is on the meta device, which holds no values");
  if (recording() && requires_grad(out))
    fail(call.name(),
         "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
         "requires grad.");
  options.dtype = out->dtype;
  return out;
}

Object into_out(const char* op, Tensor* out, Tensor* result, const Options& options) {
  write_out(op, out, result);
  if (options.requires_grad) set_requires_grad(out, true);
  return Object::borrow(as_object(out));
}

PyMethodDef size_functions[] = {
    {"ones", keyword_function(make_ones), kKeywordCall,
     "ones(*size, dtype=None, requires_grad=False): a tensor of ones."},
    {"empty", keyword_function(make_empty), kKeywordCall,
     "empty(*size, dtype=None, requires_grad=False): a tensor of whatever its memory held."},
    {"full", keyword_function(make_full), kKeywordCall, "full(size, fill_value, dtype=None): a tensor of one value."},
    {"scalar_tensor", keyword_function(make_scalar), kKeywordCall,
     "scalar_tensor(s, dtype=None): a number as a 0-d tensor."},
    {"zeros_like", keyword_function(make_zeros_like), kKeywordCall,
     "zeros_like(input): zeros of the input's shape and type."},
    {"ones_like", keyword_function(make_ones_like), kKeywordCall,
     "ones_like(input): ones of the input's shape and type."},
    {"empty_like", keyword_function(make_empty_like), kKeywordCall,
     "empty_like(input): new memory of the input's shape and type."},
    {"full_like", keyword_function(make_full_like), kKeywordCall,
     "full_like(input, fill_value): one value in the input's shape and type."},
    {"empty_strided", keyword_function(make_empty_strided), kKeywordCall,
     "empty_strided(size, stride): new memory with these strides."},
    {"empty_permuted", keyword_function(make_empty_permuted), kKeywordCall,
     "empty_permuted(size, physical_layout): new memory with the dimensions in this order."},
    {"eye", keyword_function(make_eye), kKeywordCall, "eye(n, m=None): ones on the diagonal, zeros elsewhere."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef creation_methods[] = {
    {"new", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(new_legacy)), METH_VARARGS | METH_KEYWORDS,
     "new(*size) or new(data): torch.Tensor(...) in this tensor's type."},
    {"new_tensor", keyword_function(new_tensor), kKeywordCall,
     "new_tensor(data): torch.tensor(data) in this tensor's type."},
    {"new_zeros", keyword_function(new_zeros), kKeywordCall, "new_zeros(*size): zeros in this tensor's type."},
    {"new_ones", keyword_function(new_ones), kKeywordCall, "new_ones(*size): ones in this tensor's type."},
    {"new_empty", keyword_function(new_empty), kKeywordCall, "new_empty(*size): new memory in this tensor's type."},
    {"new_full", keyword_function(new_full), kKeywordCall,
     "new_full(size, fill_value): one value in this tensor's type."},
    {"new_empty_strided", keyword_function(new_empty_strided), kKeywordCall,
     "new_empty_strided(size, stride): new memory with these strides."},
    {nullptr, nullptr, 0, nullptr},
};

void init_creation(PyObject* module) {
  init_formats(module);
  for (PyMethodDef* table : {size_functions, range_functions, data_functions, legacy_functions})
    check(PyModule_AddFunctions(module, table) == 0);
}

}  // namespace adjoint::python
