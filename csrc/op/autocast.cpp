#include "op/autocast.h"

#include <unordered_map>
#include "core/batched.h"

#include "core/help.h"
#include "op/recorded.h"
#include "types/types.h"

namespace adjoint {
namespace {

/// A parameter in the type of the mode. The parameter is kept: an address is only good while its object lives.
struct CachedCast {
  TensorPtr source;
  TensorPtr result;
  uint32_t version;  ///< of the source: one that was changed is cast again
};
// One for all threads, under the interpreter lock. Never destroyed: the interpreter is gone by the time that static
// destructors run.
auto& cache = *new std::unordered_map<const Tensor*, CachedCast>;

void clear_cache() {
  // What dies may run Python code, which may ask for another cast.
  auto dying = std::move(cache);
  cache.clear();
}

/// Autocast on GPUs, beside the CPU's: the mode's flag is up where it is on for either.
struct OnGpu {
  bool enabled = false;
  bool cpu_off = false;  ///< the flag is up for GPUs alone
  DType dtype = DType::Float16;
};
thread_local constinit OnGpu on_gpu;

bool is_on_gpu(const Tensor* tensor) { return place_of(tensor->device).type == DeviceType::Cuda; }
DType lower_type(bool gpu) { return gpu ? on_gpu.dtype : autocast_state.dtype; }

bool is_castable(PyObject* object, bool gpu) {
  if (!is_tensor(object)) return false;
  const Tensor* tensor = as_tensor(object);
  const DeviceType place = place_of(tensor->device).type;
  return is_float(tensor->dtype) && tensor->dtype != DType::Float64 &&
         place == (gpu ? DeviceType::Cuda : DeviceType::Cpu);
}

/// Whether a tensor of a GPU is among the arguments.
bool any_on_gpu(PyObject* const* args, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (is_tensor(args[i]) && is_on_gpu(as_tensor(args[i]))) return true;
    if (!PyTuple_CheckExact(args[i]) && !PyList_CheckExact(args[i])) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]); ++k)
      if (PyObject* item = PySequence_Fast_GET_ITEM(args[i], k); is_tensor(item) && is_on_gpu(as_tensor(item)))
        return true;
  }
  return false;
}

bool is_sequence(PyObject* object) { return PyTuple_CheckExact(object) || PyList_CheckExact(object); }

/// Parameters are cast once for all their uses, and their gradients meet before the cast back.
bool is_cacheable(Tensor* tensor, DType dtype) {
  return autocast_state.cache_enabled && dtype == lower_type(is_on_gpu(tensor)) && tensor->dtype == DType::Float32 &&
         (tensor->flags & kRequiresGrad) && !tensor->grad_fn && !(tensor->extra && tensor->extra->base) && recording();
}

TensorPtr cast_tensor(Tensor* tensor, DType dtype) {
  if (!is_cacheable(tensor, dtype)) return cast_recorded(tensor, dtype);
  auto place = cache.find(tensor);
  if (place != cache.end() && place->second.version == version_of(tensor) && place->second.result->dtype == dtype)
    return place->second.result;
  TensorPtr result = cast_recorded(tensor, dtype);
  cache.insert_or_assign(tensor, CachedCast{TensorPtr::borrow(tensor), result, version_of(tensor)});
  return result;
}

/// Tensors, and those of a list or tuple of tensors, in this type; everything else as it is.
Object cast_argument(PyObject* object, DType dtype, bool gpu) {
  if (is_castable(object, gpu) && as_tensor(object)->dtype != dtype)
    return Object::steal(as_object(cast_tensor(as_tensor(object), dtype).take()));
  if (!is_sequence(object)) return Object::borrow(object);
  Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  Object tuple = checked(PyTuple_New(count));
  bool changed = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    Object result = is_tensor(item) ? cast_argument(item, dtype, gpu) : Object::borrow(item);
    changed |= result.get() != item;
    PyTuple_SET_ITEM(tuple.get(), i, result.take());
  }
  return changed ? std::move(tuple) : Object::borrow(object);
}

DType wider(DType dtype, PyObject* object, bool gpu) {
  if (is_sequence(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (PyObject* item = PySequence_Fast_GET_ITEM(object, i); is_tensor(item)) dtype = wider(dtype, item, gpu);
    return dtype;
  }
  if (!is_castable(object, gpu)) return dtype;
  DType other = as_tensor(object)->dtype;
  if (other == DType::Float32) return other;
  if (other != lower_type(gpu))
    fail("Unexpected floating ScalarType in at::autocast::prioritize: expected torch.float32 or torch.",
         info(lower_type(gpu)).name, ", the type of autocast; got torch.", info(other).name, "; convert it with to()");
  return dtype;
}

PyObject* py_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong((mode_flags & (kAutocast | kAutocastPaused)) && !on_gpu.cpu_off);
}
PyObject* py_set_enabled(PyObject*, PyObject* value) {
  mode_flags &= ~(kAutocast | kAutocastPaused);
  if (value == Py_True || on_gpu.enabled) mode_flags |= kAutocast;
  on_gpu.cpu_off = value != Py_True && on_gpu.enabled;
  Py_RETURN_NONE;
}
PyObject* py_gpu_enabled(PyObject*, PyObject*) { return PyBool_FromLong(on_gpu.enabled); }
PyObject* py_set_gpu_enabled(PyObject*, PyObject* value) {
  const bool on_cpu = (mode_flags & (kAutocast | kAutocastPaused)) && !on_gpu.cpu_off;
  on_gpu.enabled = value == Py_True;
  on_gpu.cpu_off = on_gpu.enabled && !on_cpu;
  mode_flags &= ~(kAutocast | kAutocastPaused);
  if (on_cpu || on_gpu.enabled) mode_flags |= kAutocast;
  Py_RETURN_NONE;
}
PyObject* py_gpu_dtype(PyObject*, PyObject*) { return Py_NewRef(dtype_object(on_gpu.dtype)); }
PyObject* py_set_gpu_dtype(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    on_gpu.dtype = to_dtype(value);
    Py_RETURN_NONE;
  });
}
PyObject* py_dtype(PyObject*, PyObject*) { return Py_NewRef(dtype_object(autocast_state.dtype)); }
PyObject* py_set_dtype(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    autocast_state.dtype = to_dtype(value);
    Py_RETURN_NONE;
  });
}
PyObject* py_cache_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast_state.cache_enabled); }
PyObject* py_set_cache_enabled(PyObject*, PyObject* value) {
  if (!PyBool_Check(value))
    return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(value)->tp_name);
  autocast_state.cache_enabled = value == Py_True;
  Py_RETURN_NONE;
}
PyObject* py_increment(PyObject*, PyObject*) { return PyLong_FromLong(++autocast_state.nesting); }
PyObject* py_decrement(PyObject*, PyObject*) { return PyLong_FromLong(--autocast_state.nesting); }
PyObject* py_clear_cache(PyObject*, PyObject*) {
  clear_cache();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_autocast_enabled", py_enabled, METH_NOARGS, "Whether autocast is on in this thread, on the CPU."},
    {"_set_autocast_enabled", py_set_enabled, METH_O, "Turns autocast on the CPU on or off in this thread."},
    {"_autocast_dtype", py_dtype, METH_NOARGS, "The lower type of autocast in this thread, on the CPU."},
    {"_set_autocast_dtype", py_set_dtype, METH_O, "Sets the lower type of autocast in this thread, on the CPU."},
    {"_autocast_gpu_enabled", py_gpu_enabled, METH_NOARGS, "Whether autocast is on in this thread, on GPUs."},
    {"_set_autocast_gpu_enabled", py_set_gpu_enabled, METH_O, "Turns autocast on GPUs on or off in this thread."},
    {"_autocast_gpu_dtype", py_gpu_dtype, METH_NOARGS, "The lower type of autocast in this thread, on GPUs."},
    {"_set_autocast_gpu_dtype", py_set_gpu_dtype, METH_O, "Sets the lower type of autocast in this thread, on GPUs."},
    {"is_autocast_cache_enabled", py_cache_enabled, METH_NOARGS, help::kIsAutocastCacheEnabled},
    {"set_autocast_cache_enabled", py_set_cache_enabled, METH_O, help::kSetAutocastCacheEnabled},
    {"autocast_increment_nesting", py_increment, METH_NOARGS, help::kAutocastIncrementNesting},
    {"autocast_decrement_nesting", py_decrement, METH_NOARGS, help::kAutocastDecrementNesting},
    {"clear_autocast_cache", py_clear_cache, METH_NOARGS, help::kClearAutocastCache},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Autocast to_autocast(PyObject* name) {
  if (name == Py_None) return Autocast::None;
  const char* text = PyUnicode_AsUTF8(name);
  check(text != nullptr);
  auto policy = [](std::string_view word) {
    return word == "none"      ? Autocast::None
           : word == "lower"   ? Autocast::Lower
           : word == "float32" ? Autocast::Float32
           : word == "promote" ? Autocast::Promote
                               : Autocast::Off;
  };
  const std::string_view words = text;
  const size_t comma = words.find(", ");
  if (comma == words.npos) return pair_of(policy(words), policy(words));
  return pair_of(policy(words.substr(0, comma)), policy(words.substr(comma + 2)));
}

AutocastCall::AutocastCall(Autocast pair, PyObject* const* args, size_t count) {
  const bool gpu = on_gpu.enabled && any_on_gpu(args, count);
  const Autocast policy = policy_on(pair, gpu);
  none_ = policy == Autocast::None;
  const bool leaves = policy == Autocast::Off || policy == Autocast::None || (!gpu && on_gpu.cpu_off);
  DType dtype = policy == Autocast::Float32 ? DType::Float32 : lower_type(gpu);
  if (policy == Autocast::Promote && !leaves)
    for (size_t i = 0; i < count; ++i) dtype = wider(dtype, args[i], gpu);
  owned_.reserve(count);
  args_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    owned_.push_back(leaves ? Object::borrow(args[i]) : cast_argument(args[i], dtype, gpu));
    args_.push_back(owned_.back().get());
  }
}

void init_autocast(PyObject* module) {
  check(PyModule_AddFunctions(module, functions) == 0);
  check(PyModule_AddIntConstant(module, "_AUTOCAST", kAutocast | kAutocastPaused) == 0);
}

}  // namespace adjoint
