#include "python/transform_bindings.h"
#include "python/levels.h"
#include "python/tensor_type.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_set>

#include "op/arg.h"
#include "op/object.h"
#include "op/recorded.h"
#include "python/function.h"
#include "tape/history.h"
#include "transforms/batch.h"
#include "transforms/forward.h"
#include "transforms/handled.h"
#include "transforms/wrapped.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

PyObject* py_open_forward(PyObject*, PyObject*) {
  return guarded([&] {
    auto level = make_ref<Forward>();
    open_level(level);
    return number_object(level->number()).take();
  });
}

/// _open_handled(handler): the number of a new level whose calls go to handler(op, arguments, in_place).
PyObject* py_open_handled(PyObject*, PyObject* handler) {
  return guarded([&] {
    auto level = make_ref<Handled>(Object::borrow(handler));
    open_level(level);
    return number_object(level->number()).take();
  });
}

PyObject* py_close_level(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    if (!close_level(to_number(number, "_close_level")))
      fail("_close_level(): expected a level that this thread has open");
    Py_RETURN_NONE;
  });
}

/// _make_dual(primal, tangent, level): a view of the primal that carries the tangent.
PyObject* py_make_dual(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 3) fail(ErrorKind::Type, "_make_dual() takes a primal, a tangent and a level");
    Forward& level = level_of<Forward>(args[2], "_make_dual");
    Tensor* tangent = Arg{args[1], "make_dual", "tangent"};
    Tensor* primal = Arg{args[0], "make_dual", "tensor"};
    Object size = make_tuple(primal->sizes());
    Object dual = call_op(require_op("view_sizes"), {args[0], size.get()});
    level.give(as_tensor(dual.get()), TensorPtr::borrow(tangent));
    return dual.take();
  });
}

/// _tangent(tensor, level): the tangent, or None.
PyObject* py_tangent(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_tangent() takes a tensor and a level");
    auto* level = dynamic_cast<Forward*>(find_level(to_number(args[1], "_tangent")));
    TensorPtr tangent = level ? level->tangent(Arg{args[0], "_tangent", "tensor"}) : TensorPtr();
    if (!tangent) Py_RETURN_NONE;
    return as_object(tangent.take());
  });
}

PyObject* py_has_tangents(PyObject*, PyObject* object) {
  return guarded([&] { return PyBool_FromLong(has_tangents(Arg{object, "_has_tangents", "tensor"})); });
}

/// _take_tangent(tensor, level): (the tensor, its tangent or None); the tensor has it no longer.
PyObject* py_take_tangent(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_take_tangent() takes a tensor and a level");
    Forward& level = level_of<Forward>(args[1], "_take_tangent");
    Tensor* tensor = Arg{args[0], "_take_tangent", "tensor"};
    TensorPtr tangent = level.tangent(tensor);
    set_own_tangent(tensor, level.number(), {});
    return PyTuple_Pack(2, args[0], tangent ? as_object(tangent.get()) : Py_None);
  });
}

/// _taken_apart(tensor, level): (a view of the tensor without tangents, its tangent or None).
PyObject* py_taken_apart(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_taken_apart() takes a tensor and a level");
    Forward& level = level_of<Forward>(args[1], "_taken_apart");
    TensorPtr tangent = level.tangent(Arg{args[0], "_taken_apart", "tensor"});
    if (!tangent) return PyTuple_Pack(2, args[0], Py_None);
    Object primal = call_op(require_op("alias"), {args[0]});
    set_own_tangent(as_tensor(primal.get()), level.number(), {});
    forget_base(as_tensor(primal.get()));
    return PyTuple_Pack(2, primal.get(), as_object(tangent.get()));
  });
}

/// The same values and tangents without a history.
TensorPtr bare(Tensor* tensor) {
  TensorPtr result = alias(tensor);
  copy_tangents(result.get(), tensor);
  return result;
}

/// The tensor as one of the innermost level of vmap, where its history is kept apart from that of its value.
TensorPtr in_innermost_batch(Tensor* tensor) {
  std::vector<Level*> levels = open_levels();
  for (Level* level : levels | std::views::reverse) {
    if (!dynamic_cast<Batch*>(level)) continue;
    if (is_batched_at(tensor, level->number())) break;
    TensorPtr shared = make_batched(TensorPtr::borrow(tensor), level->number(), true);
    copy_tangents(shared.get(), tensor);
    return shared;
  }
  return TensorPtr::borrow(tensor);
}

/// _bare_tangents(tensor): the same with tangents that have no history.
PyObject* py_bare_tangents(PyObject*, PyObject* object) {
  return guarded([&] {
    Tensor* tensor = Arg{object, "_bare_tangents", "tensor"};
    TensorPtr result = alias(tensor);
    for (const Tangent* tangent = has_tangents(tensor) ? tensor->extra->tangents : nullptr; tangent;
         tangent = tangent->next)
      set_own_tangent(result.get(), tangent->level, bare(tangent->value));
    return wrap(std::move(result)).take();
  });
}

/// _fresh(tensor, recorded): an input of a graph of its own: a view of the tensor, if that requires grad and
/// `recorded`, or a leaf.
PyObject* py_fresh(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_fresh() takes a tensor and a bool");
    TensorPtr tensor = in_innermost_batch(Arg{args[0], "_fresh", "tensor"});
    if (args[1] == Py_True && requires_grad(tensor.get()))
      return call_op(require_op("alias"), {as_object(tensor.get())}).take();
    TensorPtr result = bare(tensor.get());
    result->flags |= kRequiresGrad;
    return wrap(std::move(result)).take();
  });
}

PyObject* py_bare(PyObject*, PyObject* object) {
  return guarded([&] { return wrap(bare(Arg{object, "_bare", "tensor"})).take(); });
}

std::vector<Tensor*> tensors_in(PyObject* sequence) {
  std::vector<Tensor*> found;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    if (PyObject* item = PySequence_Fast_GET_ITEM(sequence, i); is_tensor(item)) found.push_back(as_tensor(item));
  return found;
}

/// Whether the graph of these tensors has leaves that are no inputs.
bool leads_elsewhere(const std::vector<Tensor*>& outputs, const std::vector<Tensor*>& inputs) {
  auto is_input = [&](Tensor* leaf) { return std::ranges::find(inputs, leaf) != inputs.end(); };
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (node && seen.insert(node).second) stack.push_back(node);
  };
  for (Tensor* output : outputs) {
    if (Node* node = current_grad_fn(output)) {
      visit(node);
    } else if (requires_grad(output) && !is_input(output)) {
      return true;
    }
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    Tensor* leaf = accumulated_leaf(*node);
    if (leaf && (leaf->flags & kRequiresGrad) && !is_input(leaf)) return true;
    for (uint32_t i = 0; i < node->n_edges; ++i) visit(node->edges()[i].node);
  }
  return false;
}

/// _leads_elsewhere(outputs, inputs, weights): whether the graph of the outputs has leaves that are no inputs, or a
/// weight or an input has a history of its own.
PyObject* py_leads_elsewhere(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 3 || !std::all_of(args, args + 3, is_sequence))
      fail(ErrorKind::Type, "_leads_elsewhere() takes three sequences of tensors");
    std::vector<Tensor*> inputs = tensors_in(args[1]), weights = tensors_in(args[2]);
    return PyBool_FromLong(std::ranges::any_of(inputs, [](Tensor* input) { return !is_leaf(input); }) ||
                           std::ranges::any_of(weights, [](Tensor* weight) { return requires_grad(weight); }) ||
                           leads_elsewhere(tensors_in(args[0]), inputs));
  });
}

/// The tensor without a history that leads to the inputs alone; nor have its tangents one.
TensorPtr finished(Tensor* tensor, const std::vector<Tensor*>& inputs) {
  const bool kept = !requires_grad(tensor) || leads_elsewhere({tensor}, inputs);
  TensorPtr result = kept ? TensorPtr::borrow(tensor) : alias(tensor);
  if (!has_tangents(tensor)) return result;
  std::vector<std::pair<uint64_t, TensorPtr>> tangents;
  for (const Tangent* tangent = tensor->extra->tangents; tangent; tangent = tangent->next)
    tangents.emplace_back(tangent->level, finished(tangent->value, inputs));
  for (auto& [level, tangent] : tangents) set_own_tangent(result.get(), level, std::move(tangent));
  return result;
}

/// _finished(tensor, inputs): a result of a transform, for the outside.
PyObject* py_finished(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2 || !is_sequence(args[1])) fail(ErrorKind::Type, "_finished() takes a tensor and inputs");
    return wrap(finished(Arg{args[0], "_finished", "tensor"}, tensors_in(args[1]))).take();
  });
}

/// _call_slots(op, arguments, in_place=False): calls an op with all of its arguments in order, keywords of a user's
/// among them.
PyObject* py_call_slots(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    const bool in_place = nargs == 3 && args[2] == Py_True;
    if (nargs < 2 || !PyTuple_Check(args[1])) fail(ErrorKind::Type, "_call_slots() takes an op and a tuple");
    Op& op = op_of(args[0]);
    const Py_ssize_t given = PyTuple_GET_SIZE(args[1]);
    if (given > op.count) fail(ErrorKind::Type, op.name, ": takes ", op.count, " arguments, got ", given);
    PyObject* slots[kMaxArguments];
    for (int i = 0; i < op.count; ++i) {
      slots[i] = i < given ? PyTuple_GET_ITEM(args[1], i) : op.defaults[i];
      if (!slots[i]) fail(ErrorKind::Type, op.name, ": too few arguments");
    }
    if (!in_place) return op.call(slots).take();
    op.call_in_place(slots);
    return Py_NewRef(slots[0]);
  });
}

/// _make_wrapped(cls, size, strides, dtype, device, requires_grad): see Note [Wrapped tensors]; strides may be None.
PyObject* py_make_wrapped(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 6 || !PyType_Check(args[0])) fail(ErrorKind::Type, "_make_wrapped() takes a class and 5 arguments");
    auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
    if (!PyType_IsSubtype(type, tensor_type) || type == tensor_type || !dispatches(type))
      fail(ErrorKind::Type, "_make_wrapped() takes a subclass of Tensor that defines __torch_dispatch__");
    const Ints sizes = Arg{args[1], "_make_wrapper_subclass", "size"};
    std::optional<Ints> strides;
    if (args[2] != Py_None) strides = Arg{args[2], "_make_wrapper_subclass", "strides"};
    if (strides && strides->size() != sizes.size())
      fail("dimensionality of sizes (", sizes.size(), ") must match dimensionality of strides (", strides->size(), ")");
    ShapePtr shape = strides ? make_shape(sizes, *strides) : make_shape(sizes);
    return make_wrapped(type, std::move(shape), to_dtype(args[3]), to_device(args[4]), args[5] == Py_True).take();
  });
}

/// _set_dispatching(enabled): whether classes are asked for ops on their tensors; returns what it was.
PyObject* py_set_dispatching(PyObject*, PyObject* enabled) {
  return guarded([&] { return PyBool_FromLong(set_dispatching(Arg{enabled, "_set_dispatching", "enabled"})); });
}

/// _disabled_torch_dispatch_impl(func, types, args=(), kwargs=None): the `__torch_dispatch__` that takes nothing over.
PyObject* py_disabled_dispatch(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *arguments = nullptr, *keywords = nullptr;
    check(PyArg_UnpackTuple(args, "_disabled_torch_dispatch_impl", 2, 4, &function, &types, &arguments, &keywords));
    Object given = arguments ? checked(PySequence_Tuple(arguments)) : checked(PyTuple_New(0));
    if (keywords == Py_None) keywords = nullptr;
    if (keywords && !PyDict_Check(keywords))
      fail(ErrorKind::Type, "_disabled_torch_dispatch_impl(): kwargs must be a dict, not ", Py_TYPE(keywords)->tp_name);
    const bool before = set_dispatching(false);
    PyObject* result = in_python([&] { return PyObject_Call(function, given.get(), keywords); });
    set_dispatching(before);
    return result;
  });
}

/// _is_wrapped(tensor): whether it holds nothing but its attributes.
PyObject* py_is_wrapped(PyObject*, PyObject* object) {
  return PyBool_FromLong(is_tensor(object) && is_wrapped(as_tensor(object)));
}

/// _give_tangent(output, tangent, level): to a result of an op or of a custom Function.
PyObject* py_give_tangent(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3) fail(ErrorKind::Type, "_give_tangent() takes an output, a tangent and a level");
    Tensor* output = Arg{args[0], "_give_tangent", "output"};
    Tensor* tangent = Arg{args[1], "jvp", "tangent"};
    if (!same_sizes(output->shape, tangent->shape))
      fail("the jvp of a custom Function gave a tangent of size ", to_string(tangent->sizes()),
           " for an output of size ", to_string(output->sizes()));
    level_of<Forward>(args[2], "_give_tangent").give(output, TensorPtr::borrow(tangent));
    save_function_output_again(output);
    if (output->grad_fn)
      if (auto* op = dynamic_cast<const Op*>(output->grad_fn->kind)) op->save_output_again(*output->grad_fn, output);
    Py_RETURN_NONE;
  });
}

/// _requiring_grad(tensor, requires_grad): what requires_grad_() does, which functions in transforms may not call.
PyObject* py_requiring_grad(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_requiring_grad() takes a tensor and a flag");
    Tensor* tensor = Arg{args[0], "_requiring_grad", "tensor"};
    if (!PyBool_Check(args[1]))
      fail(ErrorKind::Type, "argument 'requires_grad' must be bool, not ", Py_TYPE(args[1])->tp_name);
    set_requires_grad(tensor, args[1] == Py_True);
    return Py_NewRef(args[0]);
  });
}

/// _open_levels(): (number, size, randomness) of each level that does not rest, innermost last; size is None for
/// forward mode.
PyObject* py_open_levels(PyObject*, PyObject*) {
  return guarded([&] {
    constexpr const char* words[] = {"error", "same", "different"};
    Object list = checked(PyList_New(0));
    for (Level* level : open_levels()) {
      if (dynamic_cast<Dispatch*>(level)) continue;  // which is nobody's transform
      auto* batch = dynamic_cast<Batch*>(level);
      Object number = number_object(level->number());
      Object item = checked(batch ? Py_BuildValue("(OLs)", number.get(), static_cast<long long>(batch->size()),
                                                  words[static_cast<int>(batch->randomness())])
                                  : Py_BuildValue("(OOO)", number.get(), Py_None, Py_None));
      check(PyList_Append(list.get(), item.get()) == 0);
    }
    return list.take();
  });
}

/// _rest_level(level, rests): whether a level takes part in calls.
PyObject* py_rest_level(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 2) fail(ErrorKind::Type, "_rest_level() takes a level and a bool");
    set_resting(level_of<Level>(args[0], "_rest_level"), Arg{args[1], "_rest_level", "rests"});
    Py_RETURN_NONE;
  });
}

PyObject* py_set_forward_enabled(PyObject*, PyObject* enabled) {
  return guarded([&] { return PyBool_FromLong(set_forward_enabled(Arg{enabled, "_set_forward_enabled", "enabled"})); });
}

PyObject* py_forward_enabled(PyObject*, PyObject*) { return PyBool_FromLong(forward_enabled()); }

PyMethodDef functions[] = {
    {"_open_forward", py_open_forward, METH_NOARGS, "Opens a level of forward mode."},
    {"_open_handled", py_open_handled, METH_O, "Opens a level whose calls a function handles."},
    {"_close_level", py_close_level, METH_O, "Closes a level."},
    {"_make_dual", as_method(py_make_dual), METH_FASTCALL, "A view that carries a tangent."},
    {"_tangent", as_method(py_tangent), METH_FASTCALL, "The tangent of a tensor at a level."},
    {"_has_tangents", py_has_tangents, METH_O, "Whether a tensor carries tangents, at any level."},
    {"_take_tangent", as_method(py_take_tangent), METH_FASTCALL, "The tensor without its tangent, and the tangent."},
    {"_taken_apart", as_method(py_taken_apart), METH_FASTCALL, "A view without tangents, and the tangent."},
    {"_give_tangent", as_method(py_give_tangent), METH_FASTCALL, "Gives a result its tangent."},
    {"_requiring_grad", as_method(py_requiring_grad), METH_FASTCALL, "The tensor, made to require grad or not to."},
    {"_open_levels", py_open_levels, METH_NOARGS, "The levels of this thread that do not rest."},
    {"_rest_level", as_method(py_rest_level), METH_FASTCALL, "Whether a level takes part in calls."},
    {"_fresh", as_method(py_fresh), METH_FASTCALL, "An input of a graph of its own."},
    {"_bare_tangents", py_bare_tangents, METH_O, "The tensor with tangents that have no history."},
    {"_bare", py_bare, METH_O, "The tensor without its history."},
    {"_leads_elsewhere", as_method(py_leads_elsewhere), METH_FASTCALL,
     "Whether a graph has other leaves than its inputs."},
    {"_finished", as_method(py_finished), METH_FASTCALL, "A result without a history that leads to the inputs alone."},
    {"_call_slots", as_method(py_call_slots), METH_FASTCALL, "Calls an op with all of its arguments in order."},
    {"_make_wrapped", as_method(py_make_wrapped), METH_FASTCALL, "A tensor whose class computes."},
    {"_set_dispatching", py_set_dispatching, METH_O, "Whether classes are asked for ops on their tensors."},
    {"_disabled_torch_dispatch_impl", py_disabled_dispatch, METH_VARARGS,
     "As __torch_dispatch__ of a class: it takes nothing over."},
    {"_is_wrapped", py_is_wrapped, METH_O, "Whether a tensor holds nothing but its attributes."},
    {"_set_forward_enabled", py_set_forward_enabled, METH_O, "Whether results get tangents."},
    {"_forward_enabled", py_forward_enabled, METH_NOARGS, "Whether results get tangents."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_transforms(PyObject* module) {
  check(PyModule_AddFunctions(module, functions) == 0);
  Object disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl"));
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__torch_dispatch__", disabled.get()) == 0);
}

}  // namespace adjoint::python
