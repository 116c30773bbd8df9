#include "op/object.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "core/mode.h"
#include "op/declaration.h"
#include "op/meta.h"
#include "op/overrides.h"
#include "op/sparse.h"
#include "op/transform.h"
#include "ops/memory.h"

namespace adjoint {
namespace {

/// An op object exists from the first mention of its name; it can be called once the op is declared.
struct OpObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Op* op;               ///< null until declared
  PyObject* composite;  ///< a Python function instead of an op, owned
  OpObject* of_all;     ///< an op that stands for the composite where its first arguments are all that is given ...
  size_t first_args;    ///< ... as many at most, as a rule one ...
  OpObject* along;      ///< ... and one where dim= is given, too; or null
  Autocast autocast;    ///< of the composite as a whole
  bool numpy_names;     ///< the composite has dim=, which may be spelled axis=
  bool in_place;
  bool is_made_of_ops;     ///< the composite is of the table: transforms are told of its calls
  bool is_method;          ///< the face of an op as a method of Tensor
  bool written_in_python;  ///< in torch: see Note [Faces]
  PyObject* name;
  PyObject* module;  ///< where it is published
  PyObject* doc;     ///< what a program has set as __doc__, or null: then it is looked up, see op_get_doc
};

/// Note [Faces]: torch.relu, torch.nn.functional.relu and torch.Tensor.relu are one op and three objects, because
/// __torch_function__ is told which of them a program has called. A face shares what the first object calls. Functions
/// that torch has in Python tell __torch_function__ all of their options, by name.

PyTypeObject* op_type = nullptr;
// Never destroyed: the interpreter is gone by the time that static destructors run.
auto& op_table = *new std::map<std::string, std::unique_ptr<Op>, std::less<>>;
auto& op_objects = *new std::map<std::string, Object, std::less<>>;

/// A composite that is cast as a whole, with none of its ops cast on their own; nothing is cast for out=.
Object call_autocast(const OpObject& object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  Autocast policy = object.autocast;
  for (Py_ssize_t i = 0; i < named; ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0 && args[nargs + i] != Py_None)
      policy = pair_of(Autocast::Off, Autocast::Off);
  AutocastCall cast(policy, args, nargs + named);
  cast.resume_if_none();
  return checked(call_python(object.composite, cast.args(), nargs, kwnames));
}

/// The names of arguments with torch's dim and keepdim for NumPy's spellings; null where there are none.
Object torch_names(PyObject* kwnames) {
  Py_ssize_t count = PyTuple_GET_SIZE(kwnames);
  auto torch_name = [&](Py_ssize_t i) -> const char* {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "axis") == 0) return "dim";
    return PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 ? "keepdim" : nullptr;
  };
  Object names;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const char* name = torch_name(i);
    if (!name) continue;
    if (!names) {
      names = checked(PyTuple_New(count));
      for (Py_ssize_t j = 0; j < count; ++j) PyTuple_SET_ITEM(names.get(), j, Py_NewRef(PyTuple_GET_ITEM(kwnames, j)));
    }
    Object previous = Object::steal(PyTuple_GET_ITEM(names.get(), i));
    PyTuple_SET_ITEM(names.get(), i, PyUnicode_InternFromString(name));
    check(PyTuple_GET_ITEM(names.get(), i) != nullptr);
  }
  return names;
}

/// What explains errors of Python's own; see _refusal.py.
PyObject* refusal = nullptr;

/// What is written in Python takes its arguments for what they should be: an error of the interpreter says nothing of
/// the call, and is explained. So is a call whose arguments do not fit the signature of an op.
[[gnu::cold, gnu::noinline]] void explain_error(const OpObject& object, PyObject* const* args, Py_ssize_t count,
                                                PyObject* kwnames) {
  PyObject* composite = object.is_made_of_ops ? object.composite : nullptr;
  PyObject* function = composite ? composite : object.op ? object.op->forward.get() : nullptr;
  if (!function && !PyErr_ExceptionMatches(PyExc_TypeError)) return;
  if (!function) function = Py_None;
  if (!refusal) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Object all = Object::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; all && i < count; ++i) PyTuple_SET_ITEM(all.get(), i, Py_NewRef(args[i]));
  Object names = kwnames ? Object::borrow(kwnames) : Object::steal(PyTuple_New(0));
  Object explained;
  if (all && names)
    explained = Object::steal(
        PyObject_CallFunctionObjArgs(refusal, object.name, function, all.get(), names.get(), value, nullptr));
  PyErr_Clear();
  if (!explained || explained.get() == Py_None) return PyErr_Restore(type, value, trace);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(explained.get())), explained.get());
  Py_DECREF(type);
  Py_DECREF(value);
  Py_XDECREF(trace);
}

PyObject* py_set_refusal(PyObject*, PyObject* function) {
  Py_XSETREF(refusal, Py_NewRef(function));
  Py_RETURN_NONE;
}

/// Whether a call gives dim=, in second place or by name.
bool gives_dim(size_t nargs, PyObject* kwnames) {
  if (nargs != 1) return nargs > 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "dim") == 0 || PyUnicode_CompareWithASCIIString(name, "axis") == 0)
      return true;
  }
  return false;
}

/// The op that stands for a composite in this call, or the composite itself.
OpObject* form_of(OpObject* object, size_t nargs, PyObject* kwnames) {
  if (nargs > 0 && nargs <= object->first_args && !kwnames) return object->of_all ? object->of_all : object;
  return object->along && gives_dim(nargs, kwnames) ? object->along : object;
}

/// What takes a call of a composite with sparse arguments (borrowed), or null.
PyObject* sparse_handler(const OpObject& object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  if (!any_sparse(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) return nullptr;
  return sparse_composite(object.name);
}

/// Not inline, nor is what asks for handlers and errors: an op is called with few registers saved.
[[gnu::noinline]] PyObject* call_composite(OpObject* object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  Object names = kwnames && object->numpy_names ? torch_names(kwnames) : Object();
  if (names) kwnames = names.get();
  CallSpan span(object->is_made_of_ops ? object->name : nullptr, args,
                nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  if (sparse_in_use) [[unlikely]]
    if (PyObject* handler = sparse_handler(*object, args, nargs, kwnames))
      return call_python(handler, args, nargs, kwnames);
  if (object->autocast != Autocast::None && (mode_flags & kAutocast)) [[unlikely]]
    return call_autocast(*object, args, nargs, kwnames).take();
  Object result = checked(call_python(object->composite, args, nargs, kwnames));
  // An argument that came back untouched.
  if (holds_no_values(result.get())) [[unlikely]]
    refuse_without_shape(PyUnicode_AsUTF8(object->name), result.get());
  return result.take();
}

/// Positional arguments, then defaults.
void fill_slots(const Op& op, PyObject* const* args, size_t nargs, PyObject** slots) {
  // One loop, and no copies: for two pointers a call of memmove, or vectors, cost more.
  PyObject* const* defaults = op.defaults;
  for (size_t i = 0; i < static_cast<size_t>(op.count); ++i) slots[i] = i < nargs ? args[i] : defaults[i];
}

/// Most calls give arguments in their order and nothing by name; Op::bind is for all others.
bool binds_in_order(const Op& op, size_t nargs, PyObject* kwnames) {
  return !kwnames && nargs >= op.required && nargs <= static_cast<size_t>(op.positional) && op.varargs < 0 &&
         op.short_form.empty();
}

PyObject* call(OpObject* object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  if (object->composite) {
    object = form_of(object, nargs, kwnames);
    if (object->composite) return call_composite(object, args, nargs, kwnames);
  }
  if (!object->op) [[unlikely]]
    fail(ErrorKind::Attribute, "the op '", PyUnicode_AsUTF8(object->name), "' is not declared");
  Op& op = *object->op;
  PyObject* slots[kMaxArguments];
  Object owned;
  PyObject* out = nullptr;
  if (binds_in_order(op, nargs, kwnames)) {
    fill_slots(op, args, nargs, slots);
  } else {
    out = op.bind(args, nargs, kwnames, slots, owned);
  }
  if (object->in_place) {
    op.call_in_place(slots);
    return Py_NewRef(slots[0]);
  }
  return (out ? op.call_out(slots, out) : op.call(slots)).take();
}

/// A call that nobody takes over. Not inline: what it keeps in registers would be saved around the look at types, too.
[[gnu::noinline]] PyObject* call_plainly(OpObject* object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  PyObject* result = guarded([&] { return call(object, args, nargs, kwnames); });
  if (!result) [[unlikely]]
    explain_error(*object, args, static_cast<Py_ssize_t>(nargs) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), kwnames);
  return result;
}

/// Whether a method takes nothing but the tensor itself.
bool takes_no_arguments(const OpObject& method) {
  if (!method.composite) return method.op && method.op->count == 1;
  Object code = Object::steal(PyObject_GetAttrString(method.composite, "__code__"));
  if (!code || !PyCode_Check(code.get())) return PyErr_Clear(), false;
  auto* its = reinterpret_cast<PyCodeObject*>(code.get());
  return its->co_argcount == 1 && its->co_kwonlyargcount == 0 && !(its->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
}
Telling telling_of(const OpObject& object) {
  if (object.written_in_python) return Telling::InPython;
  return object.is_method && takes_no_arguments(object) ? Telling::OfSelf : Telling::Native;
}

/// A call that types of its arguments, or modes, may take over; see Note [Overrides].
[[gnu::noinline]] PyObject* call_watched(OpObject* object, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  if (!overridden(args, kwnames ? nargs + PyTuple_GET_SIZE(kwnames) : nargs))
    return call_plainly(object, args, nargs, kwnames);
  return guarded([&] {
    Telling telling = nargs ? telling_of(*object) : Telling::Native;
    if (object->is_method && nargs && telling != Telling::InPython && !is_tensor(args[0]))
      fail(ErrorKind::Type, "descriptor '", PyUnicode_AsUTF8(object->name),
           "' for 'torch.Tensor' objects doesn't apply to a '", Py_TYPE(args[0])->tp_name, "' object");
    OverriddenCall taken{reinterpret_cast<PyObject*>(object), args, nargs, kwnames, telling};
    return call_overridden(taken, [&] { return call_plainly(object, args, nargs, kwnames); }).take();
  });
}

/// Ends in a jump, and calls nothing before it: with few values in use, nothing is saved on the stack. What is not
/// plain at a look is looked at again.
PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* object = reinterpret_cast<OpObject*>(self);
  const size_t nargs = PyVectorcall_NARGS(nargsf);
  PyObject* const* const end = args + nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (PyObject* const* arg = args; arg != end; ++arg)
    if (!is_plain(*arg)) [[unlikely]]
      return call_watched(object, args, nargs, kwnames);
  if (mode_flags & kFunctionMode) [[unlikely]]
    return call_watched(object, args, nargs, kwnames);
  return call_plainly(object, args, nargs, kwnames);
}

PyObject* op_descr_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}
/// Tells which of its faces this is: <op relu>, <op nn.functional.relu>, or a method as Python prints them.
PyObject* op_repr(PyObject* self) {
  auto* object = reinterpret_cast<OpObject*>(self);
  if (object->is_method) return PyUnicode_FromFormat("<method '%U' of 'torch.Tensor' objects>", object->name);
  const char* module = PyUnicode_Check(object->module) ? PyUnicode_AsUTF8(object->module) : "";
  if (!module) return nullptr;
  const char* inner = std::strchr(module, '.');
  return PyUnicode_FromFormat("<op %s%s%U>", inner ? inner + 1 : "", inner ? "." : "", object->name);
}
int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<OpObject*>(self)->composite);
  return 0;
}
void op_dealloc(PyObject* self) {
  // Op objects live in op_objects for as long as the process: reached only at interpreter exit.
  auto* object = reinterpret_cast<OpObject*>(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(object->composite);
  Py_XDECREF(object->name);
  Py_XDECREF(object->module);
  Py_XDECREF(object->doc);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
/// Pickled by name, as functions are: `op_object(name)`, `getattr(Tensor, name)` for a method, and for another face its
/// name, which pickle looks for in its module.
PyObject* op_reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    auto* object = reinterpret_cast<OpObject*>(self);
    if (object->is_method) {
      Object builtins = checked(PyImport_ImportModule("builtins"));
      Object find = checked(PyObject_GetAttrString(builtins.get(), "getattr"));
      return checked(Py_BuildValue("O(OO)", find.get(), tensor_type, object->name)).take();
    }
    auto first = op_objects.find(std::string_view(PyUnicode_AsUTF8(object->name)));
    if (first == op_objects.end() || first->second.get() != self) return Py_NewRef(object->name);
    Object core = checked(PyImport_ImportModule("adjoint._C"));
    Object find = checked(PyObject_GetAttrString(core.get(), "op_object"));
    return checked(Py_BuildValue("O(O)", find.get(), object->name)).take();
  });
}

PyMemberDef op_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
                            {"__name__", T_OBJECT, offsetof(OpObject, name), READONLY, nullptr},
                            {"__qualname__", T_OBJECT, offsetof(OpObject, name), READONLY, nullptr},
                            {"__module__", T_OBJECT, offsetof(OpObject, module), 0, nullptr},
                            {"_is_method", T_BOOL, offsetof(OpObject, is_method), READONLY, nullptr},
                            {"_in_place", T_BOOL, offsetof(OpObject, in_place), READONLY, nullptr},
                            {"__wrapped__", T_OBJECT_EX, offsetof(OpObject, composite), READONLY, nullptr},
                            {nullptr, 0, 0, 0, nullptr}};

/// What _help.py says of an object: few programs ask, and none waits for the answers when it starts.
PyObject* ask_help(const char* what, PyObject* self) {
  return guarded([&] {
    Object module = checked(PyImport_ImportModule("adjoint._help"));
    return checked(PyObject_CallMethod(module.get(), what, "O", self)).take();
  });
}
PyObject* op_get_doc(PyObject* self, void*) {
  PyObject* doc = reinterpret_cast<OpObject*>(self)->doc;
  return doc ? Py_NewRef(doc) : ask_help("documentation", self);
}
int op_set_doc(PyObject* self, PyObject* doc, void*) {
  Py_XSETREF(reinterpret_cast<OpObject*>(self)->doc, Py_XNewRef(doc));
  return 0;
}
PyObject* op_get_signature(PyObject* self, void*) { return ask_help("signature", self); }
PyGetSetDef op_getset[] = {{"__doc__", op_get_doc, op_set_doc, nullptr, nullptr},
                           {"__signature__", op_get_signature, nullptr, nullptr, nullptr},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// The name of the op in the table, whatever this face of it is called; None for a function of Python.
PyObject* op_table_name(PyObject* self, PyObject*) {
  const Op* op = reinterpret_cast<OpObject*>(self)->op;
  return op ? PyUnicode_FromString(op->name.c_str()) : Py_NewRef(Py_None);
}
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr},
                            {"_table_name", op_table_name, METH_NOARGS, "The name of the op in the table, or None."},
                            {nullptr, nullptr, 0, nullptr}};
PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                          {Py_tp_descr_get, reinterpret_cast<void*>(op_descr_get)},
                          {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
                          {Py_tp_traverse, reinterpret_cast<void*>(op_traverse)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
                          {Py_tp_members, op_members},
                          {Py_tp_getset, op_getset},
                          {Py_tp_methods, op_methods},
                          {0, nullptr}};
PyType_Spec op_spec = {"adjoint._C.Op", sizeof(OpObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                           Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                       op_slots};

/// A new object of this name (a str), which calls nothing yet.
OpObject* new_op_object(PyObject* name) {
  auto* object = PyObject_GC_New(OpObject, op_type);
  check(object != nullptr);
  object->vectorcall = op_vectorcall;
  object->op = nullptr;
  object->composite = nullptr;
  object->of_all = object->along = nullptr;
  object->first_args = 1;
  object->autocast = Autocast::None;
  object->numpy_names = object->in_place = object->is_made_of_ops = object->is_method = object->written_in_python =
      false;
  object->name = Py_NewRef(name);
  object->module = Py_NewRef(Py_None);
  object->doc = nullptr;
  PyObject_GC_Track(object);
  return object;
}

OpObject* op_object(std::string_view name) {
  auto place = op_objects.find(name);
  if (place == op_objects.end()) {
    Object text = checked(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
    Object object = Object::steal(reinterpret_cast<PyObject*>(new_op_object(text.get())));
    place = op_objects.emplace(std::string(name), std::move(object)).first;
  }
  return reinterpret_cast<OpObject*>(place->second.get());
}

/// declare_op(declaration): makes the op of a Declaration and returns its object.
PyObject* py_declare_op(PyObject*, PyObject* declaration) {
  return guarded([&]() -> PyObject* {
    std::string name = text(option(declaration, "name").get());
    if (find_op(name.c_str())) fail(ErrorKind::Value, name, ": the op is declared twice");
    std::unique_ptr<Op> op = read_declaration(declaration, text(option(declaration, "node").get()));
    Object variants = option(declaration, "number_nodes");
    PyObject *argument, *node;
    Py_ssize_t position = 0;
    while (PyDict_Next(variants.get(), &position, &argument, &node)) {
      std::unique_ptr<Op> variant = read_declaration(declaration, text(node));
      int slot = slot_of(*op, text(argument));
      if (slot < 0) fail(ErrorKind::Value, name, ": number_nodes names '", text(argument), "', which is no argument");
      // Arguments that share a variant are numbers together: clamp(x, 0, 1).
      std::erase_if(variant->edge_slots, [&](uint8_t edge) {
        PyObject* its_node = PyDict_GetItemWithError(variants.get(), op->arguments[edge].name.get());
        return its_node && PyUnicode_Compare(its_node, node) == 0;
      });
      variant->mask_edges();
      op->number_variant[slot] = variant.release();
      op->variant_slots.push_back(static_cast<uint8_t>(slot));
      op->writes_one_value = false;  // torch lets a number be written everywhere, not a tensor
    }
    Object powers = option(declaration, "powers");
    Op** simpler[] = {&op->square, &op->cube, &op->root, &op->power};
    for (Py_ssize_t i = 0; i < PyTuple_Size(powers.get()); ++i)
      *simpler[i] = &require_op(text(PyTuple_GET_ITEM(powers.get(), i)).c_str());
    OpObject* object = op_object(name);
    object->op = op.get();
    if (truth(option(declaration, "inplace"))) {
      OpObject* in_place = op_object(name + "_");
      Object its_node = option(declaration, "inplace_node");
      // Lives as long as the process, like the ops in the table.
      in_place->op =
          its_node.get() == Py_None ? op.get() : read_declaration(declaration, text(its_node.get())).release();
      in_place->in_place = true;
    }
    op_table.emplace(name, std::move(op));
    return Py_NewRef(reinterpret_cast<PyObject*>(object));
  });
}

/// op_object(name): the callable of this name, which need not be declared yet.
PyObject* py_op_object(PyObject*, PyObject* name) {
  return guarded([&] { return Py_NewRef(reinterpret_cast<PyObject*>(op_object(text(name)))); });
}

/// set_composite(name, function, autocast, numpy_names, of_all, along): lets the op object of this name call a Python
/// function; of_all, along: op objects that stand for it, or None.
PyObject* py_set_composite(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 6) fail(ErrorKind::Type, "set_composite() takes 6 arguments");
    auto form = [](PyObject* op) -> OpObject* {
      if (op == Py_None) return nullptr;
      if (Py_TYPE(op) != op_type) fail(ErrorKind::Type, "the forms of a composite are ops, not ", Py_TYPE(op)->tp_name);
      return reinterpret_cast<OpObject*>(op);
    };
    OpObject* object = op_object(text(args[0]));
    Py_XSETREF(object->composite, Py_NewRef(args[1]));
    object->autocast = to_autocast(args[2]);
    object->numpy_names = args[3] == Py_True;
    object->is_made_of_ops = true;
    object->of_all = form(args[4]);
    object->along = form(args[5]);
    Py_RETURN_NONE;
  });
}

/// op_face(callable, name, module, is_method, written_in_python): one more object for an op object, or for a function
/// of Python, under a name of its own; see Note [Faces].
PyObject* py_op_face(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 7 || !PyUnicode_Check(args[1])) fail(ErrorKind::Type, "op_face() takes 7 arguments, a name second");
    OpObject* face = new_op_object(args[1]);
    Object owner = Object::steal(reinterpret_cast<PyObject*>(face));
    face->is_method = args[3] == Py_True;
    face->written_in_python = args[4] == Py_True;
    Py_XSETREF(face->module, Py_NewRef(args[2]));
    if (Py_TYPE(args[0]) != op_type) {
      face->composite = Py_NewRef(args[0]);
      if (Py_TYPE(args[5]) == op_type) face->of_all = reinterpret_cast<OpObject*>(args[5]);
      face->first_args = PyLong_AsSize_t(args[6]);
      check(!PyErr_Occurred());
      return owner.take();
    }
    auto* first = reinterpret_cast<OpObject*>(args[0]);
    face->op = first->op;
    face->composite = Py_XNewRef(first->composite);
    face->of_all = first->of_all;
    face->first_args = first->first_args;
    face->along = first->along;
    face->autocast = first->autocast;
    face->numpy_names = first->numpy_names;
    face->in_place = first->in_place;
    face->is_made_of_ops = first->is_made_of_ops;
    return owner.take();
  });
}

/// call_out(name, function, args, kwargs, out, demands, words, apart, whole): writes what a composite returns into
/// `out`; demands, words: as the options out and out_words of a declaration; apart, whole: the arguments that it must
/// not lie in, at all or in part.
PyObject* py_call_out(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 9 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3]))
      fail(ErrorKind::Type,
           "call_out() takes a name, a function, a tuple, a dict, out, its demands and words, apart and whole");
    std::string name = text(args[0]);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[2]); ++i) refuse_out(name.c_str(), PyTuple_GET_ITEM(args[2], i));
    Py_ssize_t place = 0;
    for (PyObject* value; PyDict_Next(args[3], &place, nullptr, &value);) refuse_out(name.c_str(), value);
    refuse_out(name.c_str(), args[4]);
    AutocastOff as_given;
    Object result = checked(in_python([&] { return PyObject_Call(args[1], args[2], args[3]); }));
    for (int i : {7, 8})
      for (Py_ssize_t j = 0; j < PyTuple_Size(args[i]); ++j)
        check_out_overlap(args[4], result.get(), PyTuple_GET_ITEM(args[i], j),
                          i == 7 ? Allowed::Nothing : Allowed::Whole);
    return write_results(name.c_str(), args[4], result.get(), read_demands(args[5], args[6])).take();
  });
}

/// undeclared_ops(): names that were mentioned but never declared.
PyObject* py_undeclared_ops(PyObject*, PyObject*) {
  return guarded([&] {
    Object names = checked(PyList_New(0));
    for (auto& [name, object] : op_objects) {
      auto* op = reinterpret_cast<OpObject*>(object.get());
      if (!op->op && !op->composite) check(PyList_Append(names.get(), op->name) == 0);
    }
    return names.take();
  });
}

/// rule_wants(i), for rules that answer for several arguments: is the gradient of the i-th needed?
PyObject* py_rule_wants(PyObject*, PyObject* position) {
  const RuleCall* rule = running_rule();
  size_t i = PyLong_AsSize_t(position);
  if (i == static_cast<size_t>(-1) && PyErr_Occurred()) return nullptr;
  return PyBool_FromLong(!rule || i >= rule->n_edges || rule->wanted[i]);
}

PyObject* py_conj(PyObject*, PyObject* value) {
  const bool real =
      is_tensor(value) ? !is_complex(as_tensor(value)->dtype) : PyFloat_CheckExact(value) || PyLong_CheckExact(value);
  if (real) return Py_NewRef(value);
  return guarded([&] {
    if (is_tensor(value)) return call_op(require_op("conj_physical"), {value}).take();
    return checked(PyObject_CallMethod(value, "conjugate", nullptr)).take();
  });
}

PyMethodDef functions[] = {
    {"_conj", py_conj, METH_O, "For rules: the complex conjugate of a tensor or a number; what is real, itself."},
    {"rule_wants", py_rule_wants, METH_O, "For rules: whether the gradient of the argument of this number is needed."},
    {"declare_op", py_declare_op, METH_O, "Makes the op of a Declaration; returns its callable."},
    {"_set_refusal", py_set_refusal, METH_O, "What explains errors of Python's own inside composites."},
    {"op_object", py_op_object, METH_O, "The callable of this name, declared or not."},
    {"set_composite", as_method(py_set_composite), METH_FASTCALL,
     "Lets the callable of this name call a Python function."},
    {"op_face", as_method(py_op_face), METH_FASTCALL, "One more object for an op, under which a program may call it."},
    {"_call_out", as_method(py_call_out), METH_FASTCALL, "Calls a composite and writes its result into out=."},
    {"undeclared_ops", py_undeclared_ops, METH_NOARGS, "Names that are mentioned but not declared."},
    {nullptr, nullptr, 0, nullptr},
};

bool is_operand(PyObject* object, Scalar* scratch) { return is_tensor(object) || to_scalar(object, scratch); }

}  // namespace

Op& op_of(PyObject* callable) {
  if (Py_TYPE(callable) != op_type || !reinterpret_cast<OpObject*>(callable)->op)
    fail(ErrorKind::Type, "expected an op of the table, got ", Py_TYPE(callable)->tp_name);
  return *reinterpret_cast<OpObject*>(callable)->op;
}

bool is_written_in_python(PyObject* callable) {
  return Py_TYPE(callable) == op_type && reinterpret_cast<OpObject*>(callable)->written_in_python;
}

PyObject* op_callable(const char* name) { return reinterpret_cast<PyObject*>(op_object(name)); }

PyObject* op_object_of(const Op& op) { return reinterpret_cast<PyObject*>(op_object(op.name)); }

Op* find_op(const char* name) {
  auto place = op_table.find(std::string_view(name));
  return place == op_table.end() ? nullptr : place->second.get();
}

Op& require_op(const char* name) {
  Op* op = find_op(name);
  if (!op) fail("the op '", name, "' is not declared; import adjoint rather than adjoint._C");
  return *op;
}

/// Needs no conversion, as a look at its type tells.
static bool is_plain_operand(PyObject* object) {
  return is_tensor(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

/// Tensors and numbers as they are; NumPy arrays as tensors on their memory; null for anything else.
static Object as_operand(PyObject* object) {
  Scalar scratch;
  if (is_operand(object, &scratch)) return Object::borrow(object);
  if (!PyObject_HasAttrString(object, "__array_interface__")) return {};
  Object array = checked(PyObject_CallMethod(object, "__array__", nullptr));
  static PyObject* as_tensor =
      checked(PyObject_GetAttrString(checked(PyImport_ImportModule("adjoint._C")).get(), "as_tensor")).take();
  return checked(call_python(as_tensor, array.get()));
}

PyObject* call_binary(Op& op, PyObject* a, PyObject* b) {
  if (is_plain_operand(a) && is_plain_operand(b)) return call_op(op, {a, b}).take();
  Object left = as_operand(a), right = as_operand(b);
  if (!left || !right) Py_RETURN_NOTIMPLEMENTED;
  return call_op(op, {left.get(), right.get()}).take();
}

PyObject* call_binary_in_place(Op& op, PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Scalar scratch;
    if (!is_tensor(a) || !is_operand(b, &scratch)) Py_RETURN_NOTIMPLEMENTED;
    PyObject* slots[kMaxArguments];
    PyObject* const operands[] = {a, b};
    fill_slots(op, operands, 2, slots);
    op.call_in_place(slots);
    return Py_NewRef(a);
  });
}

Object call_op(Op& op, std::initializer_list<PyObject*> args) {
  PyObject* slots[kMaxArguments];
  fill_slots(op, args.begin(), args.size(), slots);
  return op.call(slots);
}

void init_ops(PyObject* module) {
  op_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&op_spec)).take());
  check(PyModule_AddFunctions(module, functions) == 0);
  init_overrides(module);
  check(PyModule_AddObjectRef(module, "Op", reinterpret_cast<PyObject*>(op_type)) == 0);
}

}  // namespace adjoint
