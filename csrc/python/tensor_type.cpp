// The tensor's Python type: memory management, attributes and the plain methods. Operators are in tensor_operators.cpp.
#include "python/tensor_type.h"
#include "core/help.h"
#include "python/running.h"

#include <structmember.h>

#include "core/mode.h"
#include "core/sparse.h"
#include "core/tangent.h"
#include "cpu/copy.h"
#include "op/meta.h"
#include "op/object.h"
#include "op/transform.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/indexing.h"
#include "python/interop.h"
#include "python/overridable.h"
#include "python/tensor_operators.h"
#include "tape/geometry.h"
#include "tape/history.h"
#include "tape/hooks.h"
#include "transforms/batch.h"
#include "transforms/wrapped.h"
#include "types/formats.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

Tensor* tensor_of(PyObject* self) { return as_tensor(self); }

/// Has the tensor a history? Asked without making one for a view whose base has changed, which may be refused.
bool is_computed(const Tensor* tensor) { return tensor->grad_fn || (tensor->extra && tensor->extra->changed_by); }

// ---- Life and death

void drop_references(Tensor* tensor) {
  destroy_extra(tensor);
  if (Node* node = std::exchange(tensor->grad_fn, nullptr)) release(node);
  Py_CLEAR(tensor->dict);
}

void destroy_tensor(Tensor* tensor) {
  PyObject* self = as_object(tensor);
  drop_references(tensor);
  if (Storage* storage = std::exchange(tensor->storage, nullptr)) release(storage);
  if (Shape* shape = std::exchange(tensor->shape, nullptr)) release(shape);
  PyTypeObject* type = Py_TYPE(self);
  if (!recycle_tensor(tensor)) type->tp_free(self);
  Py_DECREF(type);
}

/// Note [Chains of tensors]: a tensor may own another one by its .grad, its base, what a hook or an attribute refers
/// to, or the owner of its memory. Beyond kMaxNesting the next one waits in a list, which the outermost destruction
/// works through, so that a chain of any length needs little stack. Nodes do the same; see Note [Iterative teardown].
constexpr int kMaxNesting = 25;
struct Dying {
  int nesting;
  Tensor* waiting;  ///< linked by their `weakrefs`, which they no longer need
};
thread_local ADJOINT_FAST_TLS constinit Dying dying{};

void tensor_dealloc(PyObject* self) {
  Tensor* tensor = tensor_of(self);
  PyObject_GC_UnTrack(self);
  if (tensor->weakrefs) in_python([&] { PyObject_ClearWeakRefs(self); });
  if (dying.nesting == kMaxNesting) {
    tensor->weakrefs = as_object(std::exchange(dying.waiting, tensor));
    return;
  }
  ++dying.nesting;
  for (;;) {
    in_python([&] { destroy_tensor(tensor); });
    if (dying.nesting > 1 || !dying.waiting) [[likely]]
      break;
    tensor = dying.waiting;
    dying.waiting = as_tensor(std::exchange(tensor->weakrefs, nullptr));
  }
  --dying.nesting;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Tensor* tensor = tensor_of(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(tensor->dict);
  if (tensor->grad_fn) Py_VISIT(as_object(tensor->grad_fn));
  if (tensor->extra) {
    Py_VISIT(as_object(tensor->extra->grad));
    Py_VISIT(as_object(tensor->extra->base));
    if (tensor->extra->accumulator_parked) Py_VISIT(as_object(tensor->extra->accumulator));
    if (tensor->extra->changed_by) Py_VISIT(as_object(tensor->extra->changed_by));
    Py_VISIT(tensor->extra->hooks);
    Py_VISIT(tensor->extra->post_hooks);
    for (const Tangent* tangent = tensor->extra->tangents; tangent; tangent = tangent->next)
      Py_VISIT(as_object(tangent->value));
  }
  return 0;
}

int tensor_clear(PyObject* self) {
  drop_references(tensor_of(self));
  return 0;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    TensorPtr tensor = legacy_new(args, kwargs);
    if (type == tensor_type) return as_object(tensor.take());
    return make_subclass(type, tensor.get(), false).take();
  });
}

/// A subclass whose __init__ takes other arguments than __new__ did must not fail in object.__init__.
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

// ---- Attributes

PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return make_size(tensor_of(self)->sizes()).take(); });
}
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(dtype_object(tensor_of(self)->dtype)); }
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(device_object(place_of(tensor_of(self)->device))); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self)->ndim()); }
PyObject* get_requires_grad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(requires_grad(tensor_of(self))); });
}
int put_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        if (!value || !PyBool_Check(value))
          fail("requires_grad must be a bool, not ", value ? Py_TYPE(value)->tp_name : "deleted");
        if (value == Py_True && is_computed(tensor_of(self)))
          fail(
              "you can only change requires_grad flags of leaf variables. This one was computed and requires grad "
              "already.");
        if (value == Py_True && !is_differentiable(tensor_of(self)->dtype))
          fail("only Tensors of floating point and complex dtype can require gradients; got ",
               info(tensor_of(self)->dtype).name, ": convert it first, for example with float()");
        set_requires_grad(tensor_of(self), value == Py_True);
        return 0;
      },
      -1);
}
PyObject* get_is_leaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(is_leaf(tensor_of(self))); });
}
PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Node* node = current_grad_fn(tensor_of(self));
    return Py_NewRef(node ? as_object(node) : Py_None);
  });
}
PyObject* get_output_nr(PyObject* self, void*) { return PyLong_FromUnsignedLong(tensor_of(self)->output_nr); }
PyObject* get_retains_grad(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self)->flags & kRetainsGrad); }

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Tensor* tensor = tensor_of(self);
    if (Tensor* grad = grad_of(tensor)) return Py_NewRef(as_object(grad));
    if (is_computed(tensor) && !(tensor->flags & kRetainsGrad)) {
      int failed = PyErr_WarnEx(
          PyExc_UserWarning,
          "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
          "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
          "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
          "mistake, make sure you access the leaf Tensor instead.",
          1);
      check(failed == 0);
    }
    Py_RETURN_NONE;
  });
}
int put_grad(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        Tensor* tensor = tensor_of(self);
        if (!value || value == Py_None) {
          set_grad(tensor, {});
          return 0;
        }
        if (!is_tensor(value))
          fail(ErrorKind::Type, "assigned grad expected to be a Tensor or None but got grad of type ",
               Py_TYPE(value)->tp_name);
        Tensor* grad = as_tensor(value);
        if (grad == tensor) fail("can't assign Variable as its own grad; assign a clone() of its values");
        if (std::optional<DType> wanted = grad_dtype_of(tensor); wanted && grad->dtype != *wanted)
          fail("attempting to assign a gradient with dtype '", info(grad->dtype).c_name,
               "' to a tensor with grad_dtype '", info(*wanted).legacy_name,
               "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype): convert it with "
               "to(), or set grad_dtype, to None for any type.");
        if (place_of(grad->device) != place_of(tensor->device))
          fail("attempting to assign a gradient with device type '", device_name(place_of(grad->device).type),
               "' to a tensor with device type '", device_name(place_of(tensor->device).type),
               "'. Please ensure that the gradient and the tensor are on the same device");
        if (!same_sizes(grad->shape, tensor->shape))
          fail("attempting to assign a gradient of size '", to_string(grad->sizes()), "' to a tensor of size '",
               to_string(tensor->sizes()), "'. Please ensure that the gradient and the tensor are the same size");
        set_grad(tensor, TensorPtr::borrow(grad));
        return 0;
      },
      -1);
}

PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    if (running == Running::Vmap)
      fail("accessing `data` under vmap transform is not allowed; use detach(), or the tensor itself");
    TensorPtr data = alias(tensor_of(self));
    if (!(data->flags & kInferenceTensor) || !(mode_flags & kInferenceMode)) detach_version(data.get());
    if (is_batched(data.get())) return shown(std::move(data)).take();
    return as_object(data.take());
  });
}
/// A wrapped tensor has those of its new memory, and what else it had.
void take_attributes(Tensor* tensor) {
  PyObject* attributes = batched_value(tensor)->dict;
  if (tensor->dict) check(PyDict_Merge(attributes, tensor->dict, 0) == 0);
  Py_XSETREF(tensor->dict, Py_NewRef(attributes));
}
int put_data(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        Tensor* tensor = tensor_of(self);
        if (running != Running::Nothing)
          fail("mutating directly with `.data` ",
               running == Running::Vmap ? "under vmap transform" : "inside functorch transform",
               " is not allowed. Make a new tensor, or change this one with copy_()");
        if (!value) fail("Deleting tensor data is not allowed. Delete tensor instead!");
        if (!is_tensor(value))
          fail(ErrorKind::Type, "Variable data has to be a tensor, but got ", Py_TYPE(value)->tp_name);
        Tensor* source = as_tensor(value);
        if (source->device != tensor->device && !has_no_shape(self))
          fail(
              "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
              "type: they are on different devices; make a new tensor instead");
        if (requires_grad(tensor) && !is_differentiable(source->dtype))
          fail("data set to a tensor that requires gradients must be floating point or complex dtype; got ",
               info(source->dtype).name);
        bool same_meta = tensor->dtype == source->dtype && same_sizes(tensor->shape, source->shape);
        take_memory(tensor, source);
        if (is_wrapped(tensor)) take_attributes(tensor);
        tensor->dtype = source->dtype;
        tensor->device = source->device;
        tensor->flags = static_cast<uint8_t>((tensor->flags & ~kInferenceTensor) | (source->flags & kInferenceTensor));
        if (!same_meta) renew_accumulator(tensor);
        return 0;
      },
      -1);
}
PyObject* get_version(PyObject* self, void*) {
  return guarded([&] {
    if (!tracks_version(tensor_of(self))) fail("Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(version_of(tensor_of(self)));
  });
}
PyObject* get_base(PyObject* self, void*) {
  Tensor* base = view_base(tensor_of(self));
  return Py_NewRef(base ? as_object(base) : Py_None);
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLongLong(itemsize(tensor_of(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) {
  if (is_sparse(tensor_of(self)))
    return guarded([]() -> PyObject* {
      fail(
          "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes "
          "of "
          "the indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by "
          "element_size()");
    });
  return PyLong_FromLongLong(tensor_of(self)->numel() * itemsize(tensor_of(self)->dtype));
}
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_none(PyObject*, void*) { Py_RETURN_NONE; }
PyObject* get_is_cpu(PyObject* self, void*) {
  return PyBool_FromLong(place_of(tensor_of(self)->device) == DeviceType::Cpu);
}
PyObject* get_is_meta(PyObject* self, void*) {
  return PyBool_FromLong(place_of(tensor_of(self)->device) == DeviceType::Meta);
}
PyObject* get_is_cuda(PyObject* self, void*) {
  return PyBool_FromLong(place_of(tensor_of(self)->device).type == DeviceType::Cuda);
}
PyObject* get_layout(PyObject* self, void*) { return Py_NewRef(layout_object(layout_of(tensor_of(self)))); }
PyObject* get_is_sparse(PyObject* self, void*) {
  return PyBool_FromLong(layout_of(tensor_of(self)) == Layout::SparseCoo);
}
PyObject* get_is_sparse_csr(PyObject* self, void*) {
  return PyBool_FromLong(layout_of(tensor_of(self)) == Layout::SparseCsr);
}
PyObject* get_hooks(PyObject* self, void*) {
  return guarded([&] {
    Tensor* tensor = tensor_of(self);
    if (!requires_grad(tensor))
      fail("cannot register a hook on a tensor that doesn't require gradient; call requires_grad_() first");
    return Py_NewRef(tensor_hook_dict(tensor));
  });
}
PyObject* get_post_hooks(PyObject* self, void*) {
  return guarded([&] {
    Tensor* tensor = tensor_of(self);
    if (!requires_grad(tensor))
      fail("cannot register a hook on a tensor that doesn't require gradient; call requires_grad_() first");
    if (!is_leaf(tensor))
      fail("post accumulate grad hooks cannot be registered on non-leaf tensors; use register_hook()");
    TensorExtra& extra = extra_of(tensor);
    if (!extra.post_hooks) {
      extra.post_hooks = new_hook_table();
      // The engine looks at the hooks of nodes that have extras.
      extra_of(*grad_accumulator(tensor));
    }
    return Py_NewRef(extra.post_hooks);
  });
}

/// The hooks as they are, without asking for any: null counts as None.
PyObject* get_backward_hooks(PyObject* self, void*) {
  return guarded([&] {
    Tensor* tensor = tensor_of(self);
    current_grad_fn(tensor);
    return Py_NewRef(tensor->extra && tensor->extra->hooks ? tensor->extra->hooks : Py_None);
  });
}
int put_backward_hooks(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        if (value && value != Py_None && !PyDict_Check(value))
          fail(ErrorKind::Type, "_backward_hooks must be a dict or None, not ", Py_TYPE(value)->tp_name);
        set_tensor_hooks(tensor_of(self), value == Py_None ? nullptr : value);
        return 0;
      },
      -1);
}
PyObject* get_post_accumulate_hooks(PyObject* self, void*) {
  TensorExtra* extra = tensor_of(self)->extra;
  return Py_NewRef(extra && extra->post_hooks ? extra->post_hooks : Py_None);
}

/// x.T, x.real: what a function of the table gives.
template <Name function>
PyObject* get_part(PyObject* self, void*) {
  return guarded([&] { return call_python(op_callable(function.text), self); });
}
/// x.real = value.
template <Name function>
int put_part(PyObject* self, PyObject* value, void*) {
  return guarded(
      [&] {
        if (!value) fail(ErrorKind::Attribute, "x.", function.text, " cannot be deleted");
        Object part = checked(call_python(op_callable(function.text), self));
        Object values = Object::borrow(value);
        if (!is_tensor(value)) {
          Object core = checked(PyImport_ImportModule("adjoint._C"));
          values = checked(PyObject_CallMethod(core.get(), "tensor", "O", value));
        }
        checked(PyObject_CallMethod(part.get(), "copy_", "O", values.get()));
        return 0;
      },
      -1);
}

PyGetSetDef getset[] = {
    {"shape", attribute<get_shape>, nullptr, "The sizes, as torch.Size.", nullptr},
    {"dtype", attribute<get_dtype>, nullptr, "The type of the elements.", nullptr},
    {"device", attribute<get_device>, nullptr, "Where the memory lies.", nullptr},
    {"ndim", attribute<get_ndim>, nullptr, "The number of dimensions.", nullptr},
    {"requires_grad", attribute<get_requires_grad>, assignment<put_requires_grad>,
     "Whether operations on this tensor are recorded.", nullptr},
    {"is_leaf", attribute<get_is_leaf>, nullptr, "Whether the tensor was not made by a recorded operation.", nullptr},
    {"grad_fn", attribute<get_grad_fn>, nullptr, "The node that made this tensor, or None.", nullptr},
    {"output_nr", attribute<get_output_nr>, nullptr, "Which output of grad_fn this tensor is.", nullptr},
    {"retains_grad", attribute<get_retains_grad>, nullptr, "Whether a non-leaf keeps its gradient.", nullptr},
    {"grad", attribute<get_grad>, assignment<put_grad>, "The gradient that backward has accumulated, or None.",
     nullptr},
    {"_grad", attribute<get_grad>, assignment<put_grad>, "The same as grad.", nullptr},
    {"data", attribute<get_data>, assignment<put_data>,
     "The same memory without history and with a version counter of its own.", nullptr},
    {"_version", attribute<get_version>, nullptr, "How many times the memory was changed in place.", nullptr},
    {"_base", attribute<get_base>, nullptr, "The tensor that this is a view of, or None.", nullptr},
    {"itemsize", attribute<get_itemsize>, nullptr, "Bytes an element.", nullptr},
    {"nbytes", attribute<get_nbytes>, nullptr, "Bytes of all elements.", nullptr},
    {"is_sparse", attribute<get_is_sparse>, nullptr, "Whether the layout is torch.sparse_coo.", nullptr},
    {"is_quantized", attribute<get_false>, nullptr, "Whether the elements are quantized: never here.", nullptr},
    {"is_cuda", attribute<get_is_cuda>, nullptr, "Whether the memory is on an NVIDIA GPU.", nullptr},
    {"is_xpu", attribute<get_false>, nullptr, "Whether the memory is on an Intel GPU: never here.", nullptr},
    {"is_mps", attribute<get_false>, nullptr, "Whether the memory is on an Apple GPU: never here.", nullptr},
    {"is_mtia", attribute<get_false>, nullptr, "Whether the memory is on an MTIA device: never here.", nullptr},
    {"is_maia", attribute<get_false>, nullptr, "Whether the memory is on a MAIA device: never here.", nullptr},
    {"is_ipu", attribute<get_false>, nullptr, "Whether the memory is on a Graphcore IPU: never here.", nullptr},
    {"is_xla", attribute<get_false>, nullptr, "Whether the memory is on an XLA device: never here.", nullptr},
    {"is_vulkan", attribute<get_false>, nullptr, "Whether the memory is on a Vulkan device: never here.", nullptr},
    {"is_mkldnn", attribute<get_false>, nullptr, "Whether the layout is that of oneDNN: never here.", nullptr},
    {"is_nested", attribute<get_false>, nullptr, "Whether this is a nested tensor: never here.", nullptr},
    {"is_sparse_csr", attribute<get_is_sparse_csr>, nullptr, "Whether the layout is torch.sparse_csr.", nullptr},
    {"is_cpu", attribute<get_is_cpu>, nullptr, "Whether the memory is the program's own.", nullptr},
    {"is_meta", attribute<get_is_meta>, nullptr, "Whether the tensor has a shape and a type only.", nullptr},
    {"layout", attribute<get_layout>, nullptr, "How the elements lie in memory: torch.strided, torch.sparse_coo, ...",
     nullptr},
    {"name", attribute<get_none>, nullptr, "The name of a tensor: None, for tensors have none.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_backward_hooks", attribute<get_backward_hooks>, assignment<put_backward_hooks>,
     "The hooks on the gradient, by number, or None.", nullptr},
    {"_post_accumulate_grad_hooks", attribute<get_post_accumulate_hooks>, nullptr,
     "The hooks after accumulation, or None.", nullptr},
    {"T", attribute<get_part<"numpy_T">>, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", attribute<get_part<"mT">>, nullptr, "The last two dimensions exchanged.", nullptr},
    {"H", attribute<get_part<"H">>, nullptr, "A matrix transposed and conjugated.", nullptr},
    {"mH", attribute<get_part<"mH">>, nullptr, "The last two dimensions exchanged, and conjugated.", nullptr},
    {"real", attribute<get_part<"real">>, assignment<put_part<"real">>, "The real part, as a view.", nullptr},
    {"imag", attribute<get_part<"imag">>, assignment<put_part<"imag">>, "The imaginary part, as a view.", nullptr},
    {"_hook_dict", get_hooks, nullptr, nullptr, nullptr},
    {"_post_hook_dict", get_post_hooks, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---- Methods

PyObject* method_dim(PyObject* self, PyObject*) { return PyLong_FromLong(tensor_of(self)->ndim()); }
PyObject* method_numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->numel()); }
PyObject* method_element_size(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(itemsize(tensor_of(self)->dtype));
}
PyObject* method_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self)->offset()); }
PyObject* method_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    if (is_wrapped(tensor_of(self))) return PyLong_FromLong(0);
    refuse_batched(tensor_of(self));
    refuse_sparse(tensor_of(self));
    return PyLong_FromVoidPtr(tensor_of(self)->numel() ? tensor_of(self)->data : nullptr);
  });
}
PyObject* method_storage_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(tensor_of(self)->storage); }
PyObject* method_storage_bytes(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(tensor_of(self)->storage->nbytes);
}
PyObject* method_is_view(PyObject* self, PyObject*) { return PyBool_FromLong(view_base(tensor_of(self)) != nullptr); }
PyObject* method_is_floating_point(PyObject* self, PyObject*) {
  return PyBool_FromLong(is_float(tensor_of(self)->dtype));
}
PyObject* method_is_complex(PyObject* self, PyObject*) { return PyBool_FromLong(is_complex(tensor_of(self)->dtype)); }
PyObject* method_is_signed(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(dtype_object(tensor_of(self)->dtype), "is_signed");
}
PyObject* method_is_inference(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_of(self)->flags & kInferenceTensor);
}

/// size(), size(dim) and stride(), stride(dim).
PyObject* one_or_all(Tensor* tensor, const char* name, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     Sizes values, bool as_size) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (total == 0 || args[0] == Py_None) return (as_size ? make_size(values) : make_tuple(values)).take();
    if (total != 1 || (kwnames && PyTuple_GET_SIZE(kwnames) &&
                       PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dim") != 0))
      fail(ErrorKind::Type, name, "() takes one argument, dim");
    int64_t dim = to_int(args[0], name, "dim");
    if (tensor->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dim, " but tensor has no dimensions");
    return PyLong_FromLongLong(values[wrap_dim(dim, tensor->ndim())]);
  });
}
PyObject* method_size(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return one_or_all(tensor_of(self), "size", args, nargs, kwnames, tensor_of(self)->sizes(), true);
}
/// Compressed layouts say so; coordinates have strides of 0, as in torch.
bool lacks(PyObject* self, const char* what) {
  constexpr const char* kNames[] = {nullptr, nullptr, "CSR", "CSC", "BSR", "BSC"};
  const char* name = kNames[static_cast<int>(layout_of(tensor_of(self)))];
  if (name) PyErr_Format(PyExc_RuntimeError, "Sparse %s tensors do not have %s", name, what);
  return name != nullptr;
}
PyObject* method_stride(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (lacks(self, "strides")) return nullptr;
  return one_or_all(tensor_of(self), "stride", args, nargs, kwnames, tensor_of(self)->strides(), false);
}
PyObject* method_is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("is_contiguous", {}, 0, {"memory_format"});
  const Tensor* tensor = tensor_of(self);
  if (lacks(self, "is_contiguous")) return nullptr;
  if (nargs == 0 && !kwnames) return PyBool_FromLong(tensor->contiguous());
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    std::optional<MemoryFormat> format;
    if (call.has(0)) format = call.arg(0).operator std::optional<MemoryFormat>();
    return PyBool_FromLong(lies_in(tensor->shape, format.value_or(MemoryFormat::Contiguous)));
  });
}

PyObject* method_item(PyObject* self, PyObject*) {
  return guarded([&] {
    static PyObject* name = checked(PyUnicode_InternFromString("item")).take();
    CallSpan span(name, &self, 1);
    return item(tensor_of(self)).take();
  });
}
PyObject* method_tolist(PyObject* self, PyObject*) {
  return guarded([&] { return to_list(tensor_of(self)).take(); });
}

PyObject* method_detach_in_place(PyObject* self, PyObject*) {
  return guarded([&] {
    // As in torch, inference mode leaves the histories of its inputs alone.
    if (mode_flags & kInferenceMode) return Py_NewRef(self);
    if (view_base(tensor_of(self)))
      fail("Can't detach views in-place. Use detach() instead: the history of a view belongs to its base too.");
    detach_in_place(tensor_of(self));
    return Py_NewRef(self);
  });
}
/// What only leaves of a graph of one's own are asked for.
[[noreturn]] void refuse_in_transform(const char* what) {
  fail("You are attempting to call Tensor.", what, " inside of a function being transformed by a functorch transform. ",
       "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) "
       "or call this outside of it");
}
PyObject* method_requires_grad(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    if (running != Running::Nothing)
      refuse_in_transform("requires_grad_() (or perhaps using torch.autograd.functional.* APIs)");
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (total > 1)
      fail(ErrorKind::Type, "requires_grad_() takes from 0 to 1 positional arguments but ", total, " were given");
    if (total == 1 && !PyBool_Check(args[0]))
      fail(ErrorKind::Type, "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not ",
           Py_TYPE(args[0])->tp_name);
    set_requires_grad(tensor_of(self), total == 0 || args[0] == Py_True);
    return Py_NewRef(self);
  });
}
PyObject* method_retain_grad(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (running == Running::Gradient) refuse_in_transform("retain_grad()");
    retain_grad(tensor_of(self));
    Py_RETURN_NONE;
  });
}
PyObject* method_make_subclass(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs < 2 || !PyType_Check(args[0]) || !is_tensor(args[1]))
      fail(ErrorKind::Type, "_make_subclass(cls, data, require_grad=False)");
    if (nargs > 2 && !PyBool_Check(args[2]))
      fail(ErrorKind::Type, "_make_subclass(): argument 'require_grad' (position 3) must be bool, not ",
           Py_TYPE(args[2])->tp_name);
    bool grad = nargs > 2 && args[2] == Py_True;
    auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
    if (PyType_IsSubtype(type, tensor_type)) watch_class(type);
    return make_subclass(type, as_tensor(args[1]), grad).take();
  });
}

/// In Python: few programs make such tensors.
PyObject* method_make_wrapper_subclass(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    static PyObject* made = python_function("adjoint._wrapped", "make_wrapper_subclass").take();
    return call_python(made, args, static_cast<size_t>(nargs), kwnames);
  });
}

PyObject* method_as_subclass(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("as_subclass", {"cls"}, 1, {});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    PyObject* cls = call[0];
    if (!PyType_Check(cls)) fail(ErrorKind::Type, "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    if (!PyType_IsSubtype(type, tensor_type))
      fail(ErrorKind::Type,
           "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
           "class inherits from Tensor.");
    watch_class(type);
    return as_subclass(self, type).take();
  });
}

PyMethodDef methods[] = {
    {"dim", overridable<method_dim, "dim">, METH_NOARGS, help::kDim},
    {"ndimension", overridable<method_dim, "dim">, METH_NOARGS, help::kNdimension},
    {"numel", overridable<method_numel, "numel">, METH_NOARGS, help::kNumel},
    {"nelement", overridable<method_numel, "numel">, METH_NOARGS, help::kNelement},
    {"element_size", overridable<method_element_size, "element_size">, METH_NOARGS, help::kElementSize},
    {"storage_offset", overridable<method_offset, "storage_offset">, METH_NOARGS, help::kStorageOffset},
    {"data_ptr", overridable<method_data_ptr, "data_ptr">, METH_NOARGS, help::kDataPtr},
    {"_storage_id", method_storage_ptr, METH_NOARGS, "A number that two tensors share when they share memory."},
    {"_storage_nbytes", method_storage_bytes, METH_NOARGS, "Bytes of the storage."},
    {"_is_view", overridable<method_is_view, "_is_view">, METH_NOARGS, "Whether this is a view of another tensor."},
    {"is_floating_point", overridable<method_is_floating_point, "is_floating_point">, METH_NOARGS,
     help::kIsFloatingPoint},
    {"is_complex", overridable<method_is_complex, "is_complex">, METH_NOARGS, help::kIsComplex},
    {"is_signed", overridable<method_is_signed, "is_signed">, METH_NOARGS, help::kIsSigned},
    {"is_inference", overridable<method_is_inference, "is_inference">, METH_NOARGS, help::kIsInference},
    {"size", as_method(overridable<method_size, "size">), METH_FASTCALL | METH_KEYWORDS, help::kSize},
    {"stride", as_method(overridable<method_stride, "stride">), METH_FASTCALL | METH_KEYWORDS, help::kStride},
    {"is_contiguous", as_method(overridable<method_is_contiguous, "is_contiguous">), METH_FASTCALL | METH_KEYWORDS,
     help::kIsContiguous},
    {"item", overridable<method_item, "item">, METH_NOARGS, help::kItem},
    {"tolist", overridable<method_tolist, "tolist">, METH_NOARGS, help::kTolist},
    {"detach_", overridable<method_detach_in_place, "detach_">, METH_NOARGS, help::kDetach},
    {"requires_grad_", as_method(overridable<method_requires_grad, "requires_grad_">), METH_FASTCALL | METH_KEYWORDS,
     help::kRequiresGrad},
    {"retain_grad", overridable<method_retain_grad, "retain_grad">, METH_NOARGS, help::kRetainGrad},
    {"as_subclass", as_method(method_as_subclass), METH_FASTCALL | METH_KEYWORDS, help::kAsSubclass},
    {"_make_wrapper_subclass", as_method(method_make_wrapper_subclass), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     "_make_wrapper_subclass(cls, size, ...): a tensor whose class defines __torch_dispatch__, and computes."},
    {"_make_subclass", as_method(method_make_subclass), METH_FASTCALL | METH_STATIC,
     "_make_subclass(cls, data, require_grad=False)"},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

Py_hash_t tensor_hash(PyObject* self) { return _Py_HashPointer(self); }

void add_methods(PyMethodDef* table) {
  for (PyMethodDef* def = table; def->ml_name; ++def) {
    Object descriptor = checked(PyDescr_NewMethod(tensor_type, def));
    check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), def->ml_name, descriptor.get()) == 0);
  }
}

}  // namespace

void set_requires_grad(Tensor* tensor, bool value) {
  if (value && !is_differentiable(tensor->dtype))
    fail("only Tensors of floating point dtype can require gradients; got ", info(tensor->dtype).name,
         ": convert it first, for example with float()");
  if (value && (tensor->flags & kInferenceTensor) && !(mode_flags & kInferenceMode))
    fail("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed; clone() it first");
  if (value && is_computed(tensor)) return;
  if (is_computed(tensor))
    fail(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
        "subgraph that "
        "doesn't require differentiation use var_no_grad = var.detach().");
  tensor->flags = value ? tensor->flags | kRequiresGrad : tensor->flags & ~kRequiresGrad;
}

Object make_subclass(PyTypeObject* type, Tensor* data, bool grad) {
  if (!PyType_IsSubtype(type, tensor_type)) fail(ErrorKind::Type, "cls must be a type that inherits from Tensor");
  Object object = checked(type->tp_alloc(type, 0));
  Tensor* tensor = as_tensor(object.get());
  retain(data->storage);
  tensor->storage = data->storage;
  tensor->data = data->data;
  retain(data->shape);
  tensor->shape = data->shape;
  tensor->dtype = data->dtype;
  tensor->device = data->device;
  if (grad) {
    check_requires_grad(tensor->dtype, true);
    set_requires_grad(tensor, true);
  }
  return object;
}

void init_tensor_type(PyObject* module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_init, reinterpret_cast<void*>(tensor_init)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(tensor_getbuffer)},
      {Py_tp_doc, const_cast<char*>(help::kTensorType)},
  };
  add_operator_slots(slots);
  // Under which an attribute is known where it is taken over.
  for (PyGetSetDef* def = getset; def->name; ++def)
    def->closure = const_cast<char*>(std::string_view(def->name) == "_grad" ? "grad" : def->name);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"adjoint.Tensor", sizeof(Tensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).take());
  // Messages of the interpreter ("'Tensor' object has no attribute ...") use this name; the type's module stays
  // adjoint.
  tensor_type->tp_name = "Tensor";
  add_methods(creation_methods);
  check(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0);
}

}  // namespace adjoint::python
