#include "python/graph_bindings.h"

#include <cstring>

#include "core/help.h"
#include "core/mode.h"
#include "op/op.h"
#include "python/function.h"
#include "python/graph_leaves.h"
#include "python/graph_running.h"
#include "tape/anomaly.h"
#include "tape/history.h"
#include "tape/hooks.h"

namespace adjoint::python {
namespace {

// ---- SavedTensor: a node's saved value as an object

/// Names the value by its place, and keeps the node: the value itself may be freed by a backward.
struct SavedTensor {
  PyObject_HEAD
  Node* node;
  uint32_t index;
  int64_t entry;  ///< of a list; -1: the value is not a list
};

PyTypeObject* saved_tensor_type = nullptr;

SavedTensor* as_saved(PyObject* self) { return reinterpret_cast<SavedTensor*>(self); }

Object make_saved_tensor(Node& node, uint32_t index, int64_t entry = -1) {
  auto* saved = PyObject_GC_New(SavedTensor, saved_tensor_type);
  check(saved != nullptr);
  retain(&node);
  saved->node = &node;
  saved->index = index;
  saved->entry = entry;
  PyObject_GC_Track(saved);
  return Object::steal(reinterpret_cast<PyObject*>(saved));
}

void saved_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  release(as_saved(self)->node);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/// There is no clear: the node always breaks a cycle, and a SavedTensor without its node could not be asked anything.
int saved_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_object(as_saved(self)->node));
  return 0;
}

PyObject* saved_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
  return nullptr;
}

/// The value, or null when it was freed, or never there.
SavedValue* value_of(PyObject* self) {
  SavedTensor* saved = as_saved(self);
  SavedValue& value = saved->node->saved()[saved->index];
  if (saved->entry < 0) return value.is_tensor() ? &value : nullptr;
  if (value.kind() != SavedValue::Kind::List) return nullptr;
  SavedValue& entry = value.list_item(static_cast<size_t>(saved->entry));
  return entry.is_tensor() ? &entry : nullptr;
}

Object unpacked(PyObject* self) {
  Node& node = *as_saved(self)->node;
  SavedValue* value = value_of(self);
  if (!value && node.released()) fail_released(node);
  return value ? wrap(value->unpack(node)) : Object::borrow(Py_None);
}

PyObject* saved_unpack(PyObject* self, PyObject*) {
  return guarded([&] { return unpacked(self).take(); });
}

PyObject* saved_data(PyObject* self, void*) {
  return guarded([&] {
    SavedValue* value = value_of(self);
    if (value && value->kind() == SavedValue::Kind::Packed) return Py_NewRef(value->packed_object());
    return unpacked(self).take();
  });
}

PyObject* saved_unpack_hook(PyObject* self, void*) {
  SavedValue* value = value_of(self);
  return Py_NewRef(value && value->kind() == SavedValue::Kind::Packed ? value->unpack_hook() : Py_None);
}

void check_callable(const char* function, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) fail(ErrorKind::Type, function, "() takes a pack hook and an unpack hook; got ", nargs, " arguments");
  for (Py_ssize_t i = 0; i < 2; ++i)
    if (!PyCallable_Check(args[i]))
      fail(ErrorKind::Type, function, "(): hooks must be callable; got ", Py_TYPE(args[i])->tp_name);
}

PyObject* saved_register_hooks(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    check_callable("register_hooks", args, nargs);
    Node& node = *as_saved(self)->node;
    SavedValue* value = value_of(self);
    if (!value && node.released())
      fail(
          "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
          "are "
          "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
          "through the graph a second time or if you need to access saved variables after calling backward.");
    if (!value) fail("Calling register_hooks on a saved tensor with value None is forbidden");
    if (value->kind() == SavedValue::Kind::Packed)
      fail(
          "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
          "allowed at a time.");
    value->pack(node, args[0], args[1]);
    Py_RETURN_NONE;
  });
}

PyMethodDef saved_methods[] = {
    {"register_hooks", as_method(saved_register_hooks), METH_FASTCALL,
     "register_hooks(pack_hook, unpack_hook): keeps pack_hook(tensor) instead of the tensor."},
    {"unpack", saved_unpack, METH_NOARGS, "The saved tensor, without history."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef saved_getset[] = {
    {"data", saved_data, nullptr, "What is kept: the tensor, or what the pack hook returned.", nullptr},
    {"unpack_hook", saved_unpack_hook, nullptr, "The unpack hook, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot saved_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(saved_traverse)},
    {Py_tp_new, reinterpret_cast<void*>(saved_new)},
    {Py_tp_methods, saved_methods},
    {Py_tp_getset, saved_getset},
    {Py_tp_doc, const_cast<char*>(help::kSavedTensor)},
    {0, nullptr},
};
PyType_Spec saved_spec = {"adjoint.autograd.SavedTensor", sizeof(SavedTensor), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, saved_slots};

/// The item of an op's node that torch calls `name`, or null.
const SavedItem* find_item(const Op& op, std::string_view name, uint32_t* index) {
  if (name == "result") name = "out";
  if (name == "self") name = "input";
  for (uint32_t i = 0; i < op.items.size(); ++i) {
    const SavedItem& item = op.items[i];
    bool value = item.what == SavedItem::What::Argument || item.what == SavedItem::What::Output;
    if (!value || item.name != name) continue;
    *index = i;
    return &item;
  }
  return nullptr;
}

bool may_be_tensor(const SavedValue& value) {
  return value.is_tensor() || value.kind() == SavedValue::Kind::List || value.kind() == SavedValue::Kind::Empty;
}

// ---- Functions of the module

PyObject* py_push_hooks(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    check_callable("saved_tensors_hooks", args, nargs);
    push_saved_tensor_hooks(args[0], args[1]);
    Py_RETURN_NONE;
  });
}

PyObject* py_pop_hooks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    pop_saved_tensor_hooks();
    Py_RETURN_NONE;
  });
}

PyObject* py_set_hooks_message(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    if (message != Py_None && !PyUnicode_Check(message))
      fail(ErrorKind::Type, "disable_saved_tensors_hooks(): error_message must be a str; got ",
           Py_TYPE(message)->tp_name);
    Object before = set_saved_tensor_hooks_message(message == Py_None ? Object() : Object::borrow(message));
    return before ? before.take() : Py_NewRef(Py_None);
  });
}

PyObject* py_increment_version(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(tensor))
      fail("increment_version expects each element of the iterable to be a tensor; got ", Py_TYPE(tensor)->tp_name);
    bump_version(as_tensor(tensor), "increment_version");
    Py_RETURN_NONE;
  });
}

PyObject* py_backward_runs(PyObject*, PyObject*) {
  return guarded([&] {
    Object ids = checked(PyList_New(0));
    for (RunningBackward* run = RunningBackward::current(); run; run = run->outer())
      check(PyList_Append(ids.get(), checked(PyLong_FromUnsignedLongLong(run->id())).get()) == 0);
    return ids.take();
  });
}

PyObject* py_backward_executes(PyObject*, PyObject* node) {
  return guarded([&] {
    if (!is_node(node)) fail(ErrorKind::Type, "expected a Node; got ", Py_TYPE(node)->tp_name);
    RunningBackward* run = RunningBackward::current();
    return PyBool_FromLong(run && run->executes(reinterpret_cast<Node*>(node)));
  });
}

PyObject* py_backward_is_partial(PyObject*, PyObject*) {
  bool partial = false;
  for (RunningBackward* run = RunningBackward::current(); run; run = run->outer()) partial |= run->partial();
  return PyBool_FromLong(partial);
}

PyObject* py_packing_place(PyObject*, PyObject*) {
  const Node* node = packing_node();
  if (!node) Py_RETURN_NONE;
  PyObject* code = node->code ? reinterpret_cast<PyObject*>(node->code) : Py_None;
  return Py_BuildValue("sOi", node->kind->name().c_str(), code, static_cast<int>(node->instruction));
}

PyObject* py_set_anomaly_handlers(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 3) fail(ErrorKind::Type, "_set_anomaly_handlers(record, explain, describe)");
    PyObject** places[] = {&anomaly_handlers.record, &anomaly_handlers.explain, &anomaly_handlers.describe};
    for (int i = 0; i < 3; ++i) Py_XSETREF(*places[i], Py_NewRef(args[i]));
    Py_RETURN_NONE;
  });
}

PyObject* py_anomaly_flags(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(anomaly_flags); }

PyObject* py_set_anomaly_flags(PyObject*, PyObject* value) {
  unsigned long flags = PyLong_AsUnsignedLong(value);
  if (PyErr_Occurred()) return nullptr;
  anomaly_flags = static_cast<uint32_t>(flags);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_anomaly_flags", py_anomaly_flags, METH_NOARGS, "The process's flags of anomaly mode as one number."},
    {"_set_anomaly_flags", py_set_anomaly_flags, METH_O, "Sets the flags of anomaly mode."},
    {"_push_saved_tensors_hooks", as_method(py_push_hooks), METH_FASTCALL, "_push_saved_tensors_hooks(pack, unpack)"},
    {"_pop_saved_tensors_hooks", py_pop_hooks, METH_NOARGS, "Takes away the innermost hooks."},
    {"_set_saved_tensors_hooks_message", py_set_hooks_message, METH_O,
     "Forbids hooks with this message, or allows them with None; returns what was set before."},
    {"_increment_version", py_increment_version, METH_O, "Counts one more change of a tensor's values."},
    {"_backward_runs", py_backward_runs, METH_NOARGS,
     "The numbers of this thread's running backwards, innermost first."},
    {"_backward_executes", py_backward_executes, METH_O, "Whether the running backward computes this node's gradient."},
    {"_backward_is_partial", py_backward_is_partial, METH_NOARGS,
     "Whether a running backward was asked for the gradients of some inputs only."},
    {"_packing_place", py_packing_place, METH_NOARGS,
     "(name, code, instruction) of the node whose tensor is being given to a pack hook, or None."},
    {"_set_anomaly_handlers", as_method(py_set_anomaly_handlers), METH_FASTCALL,
     "_set_anomaly_handlers(record, explain, describe)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Object raw_saved(Node& node, const char* name) {
  if (std::optional<FunctionTensors> kept = function_tensors(node); kept && !std::strcmp(name, "tensors")) {
    Object tuple = checked(PyTuple_New(kept->count));
    for (Py_ssize_t i = 0; i < kept->count; ++i)
      PyTuple_SET_ITEM(tuple.get(), i, make_saved_tensor(node, kept->index, i).take());
    return tuple;
  }
  auto* op = dynamic_cast<const Op*>(node.kind);
  uint32_t index = 0;
  if (!op || !find_item(*op, name, &index)) return {};
  const SavedValue& value = node.saved()[index];
  if (!may_be_tensor(value)) return {};
  if (value.kind() != SavedValue::Kind::List) return make_saved_tensor(node, index);
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(value.list_size())));
  for (size_t i = 0; i < value.list_size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, make_saved_tensor(node, index, static_cast<int64_t>(i)).take());
  return tuple;
}

std::vector<std::string> raw_saved_names(const Node& node) {
  std::vector<std::string> names;
  if (function_tensors(node)) return {"_raw_saved_tensors"};
  auto* op = dynamic_cast<const Op*>(node.kind);
  if (!op) return names;
  uint32_t index = 0;
  for (const std::string& name : op->attribute_names()) {
    const SavedItem* item = find_item(*op, std::string_view(name).substr(7), &index);
    if (item && may_be_tensor(node.saved()[index])) names.push_back("_raw" + name);
  }
  return names;
}

void init_graph(PyObject* module) {
  saved_tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&saved_spec)).take());
  check(PyModule_AddObjectRef(module, "_SavedTensor", reinterpret_cast<PyObject*>(saved_tensor_type)) == 0);
  check(PyModule_AddFunctions(module, functions) == 0);
  init_graph_leaves(module);
  init_graph_running(module);
  check(PyModule_AddIntConstant(module, "_ANOMALY", kAnomaly) == 0);
  check(PyModule_AddIntConstant(module, "_ANOMALY_SKIP_NAN", kAnomalySkipNan) == 0);
  check(PyModule_AddIntConstant(module, "_ANOMALY_CHECK_INF", kAnomalyCheckInf) == 0);
  check(PyModule_AddIntConstant(module, "_CHECK_FORWARD", kAnomalyCheckForward) == 0);
}

}  // namespace adjoint::python
