#include "op/overrides.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/batched.h"
#include "core/help.h"
#include "op/declaration.h"
#include "op/object.h"
#include "op/override_contexts.h"

namespace adjoint {
namespace {

PyObject* torch_function_name() {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  return name;
}

/// `Tensor.__torch_function__` as it is found in the type, and the function that stands for no override.
PyObject* default_override = nullptr;
PyObject* disabled_override = nullptr;
/// Something of adjoint.overrides, which is imported when it is first needed.
Object helper(const char* name) {
  Object module = checked(PyImport_ImportModule("adjoint.overrides"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

/// Types that were looked up and override nothing, by their address. A type that changes gets another version.
struct KnownType {
  const PyTypeObject* type;
  unsigned version;
};
std::array<KnownType, 64> known_types{};

/// What a type answers calls with, or null (borrowed).
PyObject* override_of(PyTypeObject* type) {
  KnownType& known = known_types[reinterpret_cast<uintptr_t>(type) / 16 % known_types.size()];
  if (known.type == type && known.version == type->tp_version_tag && known.version) return nullptr;
  PyObject* found = _PyType_Lookup(type, torch_function_name());
  if (found && found != disabled_override) return found;
  known = {type, type->tp_version_tag};
  return nullptr;
}

/// Calls f for an argument, or for each item of one that is a sequence, until it says true.
template <class F>
bool any_item(PyObject* object, F f) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return f(object);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (f(PySequence_Fast_GET_ITEM(object, i))) return true;
  // A named tuple of a class that overrides.
  return !PyList_CheckExact(object) && !PyTuple_CheckExact(object) && f(object);
}

/// The arguments that override a call: one for each type, in order, but subclasses before what they derive from. Kept:
/// who is asked may drop the others.
class Overriding {
 public:
  explicit Overriding(Telling telling = Telling::Native) : telling_(telling) {}
  /// The arguments of a call.
  explicit Overriding(const OverriddenCall& call) : telling_(call.telling) {
    if (mode_flags & kTypesOff) return;
    if (telling_ == Telling::OfSelf) {
      insert(call.args[0]);
      return;
    }
    const size_t named = call.kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(call.kwnames)) : 0;
    for (size_t i = 0; i < call.nargs + named; ++i) add_items(call.args[i]);
  }
  void add(PyObject* object) {
    const bool plain = telling_ == Telling::InPython && Py_TYPE(object) == tensor_type;
    if (plain || may_override(object)) insert(object);
  }
  void add_items(PyObject* object) {
    any_item(object, [&](PyObject* item) {
      add(item);
      return false;
    });
  }
  const std::vector<Object>& objects() const { return objects_; }
  Object types() const {
    Object types = checked(PyTuple_New(static_cast<Py_ssize_t>(objects_.size())));
    for (size_t i = 0; i < objects_.size(); ++i)
      PyTuple_SET_ITEM(types.get(), i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(objects_[i].get()))));
    return types;
  }

 private:
  void insert(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    auto same = [&](const Object& other) { return Py_TYPE(other.get()) == type; };
    if (std::ranges::any_of(objects_, same)) return;
    auto base = [&](const Object& other) { return PyType_IsSubtype(type, Py_TYPE(other.get())); };
    objects_.insert(std::ranges::find_if(objects_, base), Object::borrow(object));
  }

  Telling telling_;
  std::vector<Object> objects_;
};

// ---- Modes

/// The modes of a thread, innermost last. On the heap: threads may end after the interpreter.
thread_local std::vector<Object>* thread_modes = nullptr;
thread_local bool modes_off = false;

std::vector<Object>& modes() {
  if (!thread_modes) thread_modes = new std::vector<Object>;
  return *thread_modes;
}
void update_mode_flag() {
  mode_flags = !modes_off && !modes().empty() ? mode_flags | kFunctionMode : mode_flags & ~kFunctionMode;
}

/// Takes the innermost mode off the stack while it answers.
class AnsweringMode {
 public:
  AnsweringMode() : mode_(std::move(modes().back())) {
    modes().pop_back();
    update_mode_flag();
  }
  ~AnsweringMode() {
    modes().push_back(std::move(mode_));
    update_mode_flag();
  }
  AnsweringMode(const AnsweringMode&) = delete;
  AnsweringMode& operator=(const AnsweringMode&) = delete;
  PyObject* get() const { return mode_.get(); }

 private:
  Object mode_;
};

// ---- The default

/// Lists may hold themselves: Python's own limit of nesting holds.
class Nesting {
 public:
  Nesting() { check(Py_EnterRecursiveCall(" while the results of a function get the type of a subclass") == 0); }
  ~Nesting() { Py_LeaveRecursiveCall(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

/// A result as the subclass has it: a tensor of its type, or a sequence of these.
Object converted(PyObject* result, PyTypeObject* type) {
  if (is_tensor(result))
    return PyType_IsSubtype(Py_TYPE(result), type) ? Object::borrow(result) : as_subclass(result, type);
  if (!PyTuple_Check(result) && !PyList_Check(result)) return Object::borrow(result);
  Nesting nesting;
  Object given = checked(PySequence_Tuple(result));
  Py_ssize_t count = PyTuple_GET_SIZE(given.get());
  Object items = checked(PyTuple_New(count));
  bool changed = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(given.get(), i);
    Object its = converted(item, type);
    changed |= its.get() != item;
    PyTuple_SET_ITEM(items.get(), i, its.take());
  }
  if (!changed) return Object::borrow(result);
  if (PyTuple_CheckExact(result)) return items;
  return checked(call_python(reinterpret_cast<PyObject*>(Py_TYPE(result)), items.get()));
}

bool derives_from_all(PyTypeObject* type, PyObject* types) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i)
    if (!PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(types, i)))) return false;
  return true;
}

/// The type of bound slots, such as `Tensor.shape.__get__`, which the headers of Python 3.13 no longer name.
PyTypeObject* bound_slot_type() {
  static PyTypeObject* const type = Py_TYPE(checked(PyObject_GetAttrString(Py_None, "__str__")).get());
  return type;
}

/// Whether the results of a function keep their type by default.
bool keeps_types(PyObject* function) {
  if (Py_TYPE(function) != bound_slot_type()) return false;
  Object kept = checked(call_python(helper("get_default_nowrap_functions").get()));
  int found = PySet_Contains(kept.get(), function);
  check(found >= 0);
  return found;
}

/// Tensor.__torch_function__(function, types, args=(), kwargs=None): what subclasses do that say nothing else.
PyObject* default_torch_function(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    PyObject* given[4] = {nullptr, nullptr, nullptr, nullptr};
    if (nargs > 4) fail(ErrorKind::Type, "__torch_function__() takes func, types, args and kwargs, not ", nargs);
    std::copy(args, args + nargs, given);
    constexpr const char* names[] = {"func", "types", "args", "kwargs"};
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      int slot = 0;
      while (slot < 4 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), names[slot]) != 0) ++slot;
      if (slot == 4 || given[slot]) fail(ErrorKind::Type, "__torch_function__() takes func, types, args and kwargs");
      given[slot] = args[nargs + k];
    }
    if (!given[0] || !given[1])
      fail(ErrorKind::Type, "__torch_function__() missing a required argument: '", given[0] ? "types" : "func", "'");
    Object types = checked(PySequence_Tuple(given[1]));
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types.get()); ++i)
      if (!PyType_Check(PyTuple_GET_ITEM(types.get(), i)))
        fail(ErrorKind::Type, "__torch_function__(): argument 'types' must hold types");
    if (!derives_from_all(type, types.get())) Py_RETURN_NOTIMPLEMENTED;
    Object arguments = given[2] ? checked(PySequence_Tuple(given[2])) : checked(PyTuple_New(0));
    PyObject* keywords = given[3] && given[3] != Py_None ? given[3] : nullptr;
    if (keywords && !PyDict_Check(keywords))
      fail(ErrorKind::Type, "__torch_function__(): argument 'kwargs' must be a dict, not ", Py_TYPE(keywords)->tp_name);
    OverridesOff types_off(false);
    Object result = checked(in_python([&] { return PyObject_Call(given[0], arguments.get(), keywords); }));
    return keeps_types(given[0]) ? result.take() : converted(result.get(), type).take();
  });
}

/// _disabled_torch_function_impl(func, types, args=(), kwargs=None): calls the function with types off.
PyObject* disabled_torch_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *arguments = nullptr, *keywords = nullptr;
    check(PyArg_UnpackTuple(args, "_disabled_torch_function_impl", 2, 4, &function, &types, &arguments, &keywords));
    Object given = arguments ? checked(PySequence_Tuple(arguments)) : checked(PyTuple_New(0));
    if (keywords == Py_None) keywords = nullptr;
    if (keywords && !PyDict_Check(keywords))
      fail(ErrorKind::Type, "_disabled_torch_function_impl(): kwargs must be a dict, not ", Py_TYPE(keywords)->tp_name);
    OverridesOff types_off(false);
    return in_python([&] { return PyObject_Call(function, given.get(), keywords); });
  });
}

// ---- Asking

Object tuple_of(PyObject* const* args, size_t count) {
  Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  return tuple;
}

/// None where there are none, as torch's own functions of C++ say it.
Object dict_of(PyObject* const* values, PyObject* names, Telling telling) {
  const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
  if (count == 0 && telling != Telling::InPython) return Object::borrow(Py_None);
  Object dict = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < count; ++i) check(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(names, i), values[i]) == 0);
  return dict;
}

/// What a method is bound to, or null.
PyObject* self_of(PyObject* method) { return PyMethod_Check(method) ? PyMethod_GET_SELF(method) : nullptr; }

/// Asks one mode or argument; null for NotImplemented.
Object ask(PyObject* method, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
  // Without keywords its own default holds, which may be None or {}.
  Object answer = checked(kwargs == Py_None ? call_python(method, function, types, args)
                                            : call_python(method, function, types, args, kwargs));
  return answer.get() == Py_NotImplemented ? Object() : answer;
}
Object method_of_mode(PyObject* mode) {
  Object method = checked(PyObject_GetAttr(mode, torch_function_name()));
  if (PyObject* self = self_of(method.get()); self && self != mode)
    fail(
        "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method: "
        "it "
        "belongs to the mode that was entered");
  return method;
}
Object method_of_argument(PyObject* argument) {
  Object method = checked(PyObject_GetAttr(argument, torch_function_name()));
  if (self_of(method.get()) == argument)
    check(PyErr_WarnEx(PyExc_UserWarning,
                       "Defining your `__torch_function__` as a plain method is deprecated and will be an error in "
                       "future, please define it as a classmethod.",
                       1) == 0);
  return method;
}

Object ask_all(const Overriding& overriding, PyObject* function, PyObject* args, PyObject* kwargs) {
  Object types = overriding.types();
  if ((mode_flags & kFunctionMode) && !modes().empty()) {
    AnsweringMode mode;
    if (Object answer = ask(method_of_mode(mode.get()).get(), function, types.get(), args, kwargs)) return answer;
  }
  for (const Object& object : overriding.objects()) {
    if (!may_override(object.get())) continue;  // told, not asked
    if (Object answer = ask(method_of_argument(object.get()).get(), function, types.get(), args, kwargs)) return answer;
  }
  return {};
}

bool all_by_default(const Overriding& overriding) {
  // A class that is no tensor may have borrowed the method.
  auto by_default = [](const Object& object) {
    return is_tensor(object.get()) && override_of(Py_TYPE(object.get())) == default_override;
  };
  return std::ranges::all_of(overriding.objects(), by_default);
}

}  // namespace

bool is_sizes(PyObject* tuple) {
  PyObject** items = PySequence_Fast_ITEMS(tuple);
  return std::all_of(items, items + PyTuple_GET_SIZE(tuple), [](PyObject* item) { return PyLong_CheckExact(item); });
}

bool may_override(PyObject* object) { return !is_ordinary(object) && override_of(Py_TYPE(object)) != nullptr; }

/// Whether an argument overrides nothing: ordinary, a list of what is, or of a type that does not.
static bool is_harmless(PyObject* object) {
  if (is_ordinary(object)) return true;
  if (PyTuple_Check(object) || PyList_Check(object)) {
    PyObject** items = PySequence_Fast_ITEMS(object);
    auto harmless = [](PyObject* item) { return is_ordinary(item) || override_of(Py_TYPE(item)) == nullptr; };
    if (!std::all_of(items, items + PySequence_Fast_GET_SIZE(object), harmless)) return false;
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) return true;
  }
  return override_of(Py_TYPE(object)) == nullptr;
}

bool is_overridden(PyObject* const* args, size_t count) {
  if (mode_flags & kFunctionMode) return true;
  if (mode_flags & kTypesOff) return false;
  return !std::all_of(args, args + count, is_harmless);
}

Object detail::ask_overrides(const OverriddenCall& call, PlainCall plain, void* context) {
  Overriding overriding(call);
  const bool in_mode = (mode_flags & kFunctionMode) && !modes().empty();
  if (overriding.objects().empty() && !in_mode) return checked(plain(context));
  if (!in_mode && all_by_default(overriding)) {
    PyTypeObject* type = Py_TYPE(overriding.objects().front().get());
    if (!derives_from_all(type, overriding.types().get())) return {};
    // Kept: the call may change what its arguments are.
    Object kept = Object::borrow(reinterpret_cast<PyObject*>(type));
    OverridesOff types_off(false);
    Object result = checked(plain(context));
    return call.wraps ? converted(result.get(), type) : result;
  }
  Object args = tuple_of(call.args, call.nargs), kwargs = dict_of(call.args + call.nargs, call.kwnames, call.telling);
  if (call.telling == Telling::InPython && is_written_in_python(call.function)) {
    Object both = checked(call_python(helper("_by_name").get(), call.function, args.get(), kwargs.get()));
    args = checked(PySequence_GetItem(both.get(), 0));
    kwargs = checked(PySequence_GetItem(both.get(), 1));
  }
  return ask_all(overriding, call.function, args.get(), kwargs.get());
}

Object ask_overrides(PyObject* function, PyObject* relevant, PyObject* args, PyObject* kwargs) {
  Overriding overriding(Telling::InPython);
  if (!(mode_flags & kTypesOff)) overriding.add_items(relevant);
  return ask_all(overriding, function, args, kwargs);
}

void detail::refuse_overridden(const OverriddenCall& call) {
  Overriding overriding(call);
  std::string handlers;
  auto add = [&](const char* kind, PyObject* who) {
    Object shown = checked(PyObject_Repr(who));
    handlers += std::string("\n  - ") + kind + " " + PyUnicode_AsUTF8(shown.get());
  };
  if ((mode_flags & kFunctionMode) && !modes().empty()) add("mode object", modes().back().get());
  for (const Object& object : overriding.objects())
    add("tensor subclass", reinterpret_cast<PyObject*>(Py_TYPE(object.get())));
  Object name = checked(call_python(helper("_shown").get(), call.function));
  if (call.telling == Telling::InPython) {
    Object words = checked(call_python(helper("_none_found").get(), name.get(), overriding.types().get()));
    fail(ErrorKind::Type, text(words.get()));
  }
  fail(ErrorKind::Type, "Multiple dispatch failed for '", text(name.get()),
       "'; all __torch_function__ handlers returned NotImplemented:\n", handlers,
       "\n\nOne of them must handle this function, or call super().__torch_function__(), which computes it and gives "
       "the result the subclass's type.");
}

Object as_subclass(PyObject* tensor, PyTypeObject* type) {
  static Op& alias = require_op("alias");
  Object view = call_op(alias, {tensor});
  if (type == tensor_type) return view;
  Object object = checked(type->tp_alloc(type, 0));
  // The new object takes over what the view is.
  Tensor *from = as_tensor(view.get()), *to = as_tensor(object.get());
  to->storage = std::exchange(from->storage, nullptr);
  to->data = from->data;
  to->shape = std::exchange(from->shape, nullptr);
  to->dtype = from->dtype;
  to->device = from->device;
  to->flags = from->flags;
  to->output_nr = from->output_nr;
  to->grad_fn = std::exchange(from->grad_fn, nullptr);
  to->extra = std::exchange(from->extra, nullptr);
  // A tensor that consists of its attributes keeps them: see Note [Wrapped tensors] in transforms/wrapped.h.
  if (is_wrapped(to)) to->dict = Py_XNewRef(batched_value(to)->dict);
  return object;
}

namespace {

// ---- For Python

/// Whether modes or some of these take calls over; not what lists hold.
bool takes_over(PyObject* const* args, Py_ssize_t count) {
  if (mode_flags & kFunctionMode) return count > 0;
  return !(mode_flags & kTypesOff) && std::any_of(args, args + count, may_override);
}

/// _has_torch_function(args): whether modes or some of these arguments take calls over.
PyObject* py_has_torch_function(PyObject*, PyObject* relevant) {
  return guarded([&] {
    Object items =
        checked(PySequence_Fast(relevant, "expected a sequence: has_torch_function() takes one of arguments"));
    return PyBool_FromLong(takes_over(PySequence_Fast_ITEMS(items.get()), PySequence_Fast_GET_SIZE(items.get())));
  });
}
PyObject* py_has_torch_function_variadic(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return PyBool_FromLong(takes_over(args, nargs));
}

/// _ask_overrides(function, relevant, args, kwargs): what they answer, or NotImplemented.
PyObject* py_ask_overrides(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs != 4) fail(ErrorKind::Type, "_ask_overrides() takes 4 arguments");
    Object relevant = checked(PySequence_Tuple(args[1]));
    Object answer = ask_overrides(args[0], relevant.get(), args[2], args[3]);
    return answer ? answer.take() : Py_NewRef(Py_NotImplemented);
  });
}

/// _overloaded_args(relevant): the arguments that override, in the order in which they are asked.
PyObject* py_overloaded_args(PyObject*, PyObject* relevant) {
  return guarded([&] {
    Object items = checked(PySequence_Tuple(relevant));
    Overriding overriding(Telling::InPython);
    if (!(mode_flags & kTypesOff))
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) overriding.add(PyTuple_GET_ITEM(items.get(), i));
    Object list = checked(PyList_New(0));
    for (const Object& object : overriding.objects()) check(PyList_Append(list.get(), object.get()) == 0);
    return list.take();
  });
}

PyObject* py_push_mode(PyObject*, PyObject* mode) {
  modes().push_back(Object::borrow(mode));
  update_mode_flag();
  Py_RETURN_NONE;
}
PyObject* py_pop_mode(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (modes().empty()) fail("trying to pop from empty mode stack: there is no mode of functions to leave");
    Object mode = std::move(modes().back());
    modes().pop_back();
    update_mode_flag();
    return mode.take();
  });
}
PyObject* py_modes(PyObject*, PyObject*) {
  return guarded([&] {
    Object list = checked(PyList_New(0));
    for (const Object& mode : modes()) check(PyList_Append(list.get(), mode.get()) == 0);
    return list.take();
  });
}

/// A state for Python: (types, modes).
PyObject* pair_of(OverrideState state) {
  return PyTuple_Pack(2, state.types ? Py_True : Py_False, state.modes ? Py_True : Py_False);
}
PyObject* py_overrides(PyObject*, PyObject*) { return pair_of(override_state()); }
/// _set_overrides(types, modes): returns the former state.
PyObject* py_set_overrides(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 2) fail(ErrorKind::Type, "_set_overrides() takes 2 arguments");
    Object before = checked(pair_of(override_state()));
    set_override_state({args[0] == Py_True, args[1] == Py_True});
    return before.take();
  });
}

PyMethodDef functions[] = {
    {"_has_torch_function", py_has_torch_function, METH_O, help::kHasTorchFunction},
    {"_has_torch_function_variadic", as_method(py_has_torch_function_variadic), METH_FASTCALL,
     help::kHasTorchFunctionVariadic},
    {"_ask_overrides", as_method(py_ask_overrides), METH_FASTCALL, "_ask_overrides(function, relevant, args, kwargs)"},
    {"_overloaded_args", py_overloaded_args, METH_O, "The arguments that override, in the order of asking."},
    {"_push_function_mode", py_push_mode, METH_O, "Enters a mode of functions."},
    {"_pop_function_mode", py_pop_mode, METH_NOARGS, "Leaves the innermost mode of functions."},
    {"_function_modes", py_modes, METH_NOARGS, "The modes of functions, innermost last."},
    {"_overrides", py_overrides, METH_NOARGS, "Whether types and modes take calls over."},
    {"_set_overrides", as_method(py_set_overrides), METH_FASTCALL, "_set_overrides(types, modes)"},
    {"_disabled_torch_function_impl", disabled_torch_function, METH_VARARGS,
     "As __torch_function__ of a class: it overrides nothing."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef default_method = {"__torch_function__", as_method(default_torch_function),
                              METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
                              "Computes the function and gives its results the type of the subclass."};

}  // namespace

OverrideState override_state() { return {!(mode_flags & kTypesOff), !modes_off}; }

void set_override_state(OverrideState state) {
  mode_flags = state.types ? mode_flags & ~kTypesOff : mode_flags | kTypesOff;
  modes_off = !state.modes;
  update_mode_flag();
}

void init_overrides(PyObject* module) {
  init_override_contexts(module);
  check(PyModule_AddFunctions(module, functions) == 0);
  disabled_override = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl")).take();
  default_override = checked(PyDescr_NewClassMethod(tensor_type, &default_method)).take();
  check(PyObject_SetAttr(reinterpret_cast<PyObject*>(tensor_type), torch_function_name(), default_override) == 0);
}

}  // namespace adjoint
