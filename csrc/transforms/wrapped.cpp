#include "transforms/wrapped.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "op/meta.h"
#include "op/object.h"
#include "tape/history.h"
#include "transforms/batch.h"
#include "types/struct_sequence.h"

namespace adjoint {
namespace {

/// The number of the level that this thread has opened last; it may be closed.
thread_local uint64_t last_level = 0;
thread_local bool dispatching = true;

Ref<Dispatch> opened_level() {
  if (Level* level = find_level(last_level)) return Ref<Dispatch>::borrow(static_cast<Dispatch*>(level));
  Ref<Dispatch> level = make_ref<Dispatch>();
  open_outermost_level(level);
  last_level = level->number();
  return level;
}

struct WrappedStorage : BatchStorage {
  Ref<Dispatch> dispatch;
  bool viewed = false;  ///< a view op was called on a tensor on it, or gave one
};

void destroy(Storage* storage) {
  auto* wrapped = static_cast<WrappedStorage*>(storage);
  Ref<Dispatch> level = std::move(wrapped->dispatch);
  release(wrapped->value);
  delete wrapped;
  level->leave();
}
constexpr StorageOwner owner = {destroy, true};  // nobody adds to it in place

StoragePtr hold(TensorPtr core) {
  auto storage = std::make_unique<WrappedStorage>();
  static_cast<Storage&>(*storage) = {1, 0, core->storage->data, core->storage->nbytes, false, false, &owner};
  storage->level = 0;
  storage->shared = true;
  storage->dispatch = opened_level();
  storage->dispatch->enter();
  storage->value = core.take();
  return StoragePtr::steal(storage.release());
}

/// An object of a class, with the attributes `dict`, in the place of a tensor that nobody else has.
Object of_class(PyTypeObject* type, PyObject* dict, TensorPtr plain) {
  Object object = checked(type->tp_alloc(type, 0));
  Tensor *from = plain.get(), *to = as_tensor(object.get());
  to->storage = std::exchange(from->storage, nullptr);
  to->data = from->data;
  to->shape = std::exchange(from->shape, nullptr);
  to->dtype = from->dtype;
  to->device = from->device;
  to->flags = from->flags;
  to->output_nr = from->output_nr;
  to->grad_fn = std::exchange(from->grad_fn, nullptr);
  to->extra = std::exchange(from->extra, nullptr);
  to->dict = Py_NewRef(dict);
  return object;
}

bool asks(const Tensor* tensor) {
  const PyTypeObject* type = Py_TYPE(tensor);
  return is_wrapped(tensor) || (type != tensor_type && dispatches(const_cast<PyTypeObject*>(type)));
}

/// An argument as a class is given it.
Object shown_argument(PyObject* argument) {
  if (!is_sequence(argument)) return shown(argument);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(argument);
  auto alias = [](PyObject* item) {
    return is_tensor(item) && Py_TYPE(item) == tensor_type && is_wrapped(as_tensor(item));
  };
  PyObject** items = PySequence_Fast_ITEMS(argument);
  if (std::none_of(items, items + count, alias)) return Object::borrow(argument);
  Object tuple = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, shown(PySequence_Fast_GET_ITEM(argument, i)).take());
  return tuple;
}

/// A tensor that may get a history: one that has none, and is no argument of the call.
Object without_history(PyObject* object, const Op& op, PyObject* const* slots) {
  Tensor* tensor = as_tensor(object);
  const bool given = any_tensor(slots, op.arguments.size(), [&](Tensor* argument) { return argument == tensor; });
  if (!given && !requires_grad(tensor)) return Object::borrow(object);
  TensorPtr bare = alias(tensor);
  if (!is_wrapped(tensor)) return wrap(std::move(bare));
  return of_class(Py_TYPE(object), batched_value(tensor)->dict, std::move(bare));
}

/// A view shows the changes of what it was made from, as far as its class does that: they count them together.
void note_view(Tensor* view, Tensor* source) {
  if (!is_wrapped(view) || !is_wrapped(source) || view->storage == source->storage) return;
  static_cast<WrappedStorage*>(view->storage)->viewed = static_cast<WrappedStorage*>(source->storage)->viewed = true;
  if (source->extra && source->extra->version) share_version(view, source);
}

/// Turns kFunctional on or off while it lives.
class FunctionalGuard {
 public:
  explicit FunctionalGuard(bool on) : before_(mode_flags & kFunctional) { set(on); }
  ~FunctionalGuard() { set(before_); }
  FunctionalGuard(const FunctionalGuard&) = delete;
  FunctionalGuard& operator=(const FunctionalGuard&) = delete;
  static void set(bool on) { mode_flags = on ? mode_flags | kFunctional : mode_flags & ~kFunctional; }

 private:
  bool before_;
};

bool has_to_do_with_wrapped(const Node& node, const TensorPtr* gradients) {
  if (!dynamic_cast<const Op*>(node.kind) && !accumulated_leaf(node)) return false;  // a program's own
  auto batched = [](Device device) { return device.type == DeviceType::Batched; };
  for (uint32_t i = 0; i < node.n_outputs; ++i)
    if (batched(node.outputs()[i].device) || (gradients[i] && batched(gradients[i]->device))) return true;
  for (uint32_t i = 0; i < node.n_saved; ++i) {
    const SavedValue& value = node.saved()[i];
    if (value.kind() == SavedValue::Kind::List) return true;  // which few have, and rules in Python read
    if (value.is_tensor() && value.kind() != SavedValue::Kind::Packed && batched(value.device())) return true;
  }
  return false;
}

/// How many results the rules of an op read.
uint32_t results_needed(const Op& op) {
  uint32_t needed = 1;
  for (const SavedItem& item : op.items)
    if (item.what >= SavedItem::What::Output) needed = std::max<uint32_t>(needed, item.index + 1u);
  return needed;
}

}  // namespace

bool dispatches(PyTypeObject* type) {
  static PyObject* name = PyUnicode_InternFromString("__torch_dispatch__");
  PyObject* found = _PyType_Lookup(type, name);
  return found && found != _PyType_Lookup(tensor_type, name);
}

bool set_dispatching(bool enabled) { return std::exchange(dispatching, enabled); }

void watch_class(PyTypeObject* type) {
  if (dispatches(type)) opened_level()->enter();
}

Object make_wrapped(PyTypeObject* type, ShapePtr shape, DType dtype, Device device, bool requires_grad) {
  Object dict = checked(PyDict_New());
  Object core = of_class(type, dict.get(), meta_tensor(shape.get(), dtype));
  char* data = as_tensor(core.get())->data;
  StoragePtr storage = hold(TensorPtr::steal(as_tensor(core.take())));
  const Device shown_device = seeming(DeviceType::Batched, device);
  TensorPtr plain = make_tensor(std::move(storage), data, std::move(shape), dtype, shown_device);
  if (requires_grad) plain->flags |= kRequiresGrad;
  detach_version(plain.get());  // views will share it
  return of_class(type, dict.get(), std::move(plain));
}

Object shown(PyObject* object) {
  if (!is_tensor(object) || Py_TYPE(object) != tensor_type || !is_wrapped(as_tensor(object)))
    return Object::borrow(object);
  return shown(alias(as_tensor(object)));
}

Object shown(TensorPtr tensor) {
  if (Py_TYPE(tensor.get()) != tensor_type || !is_wrapped(tensor.get())) return wrap(std::move(tensor));
  const TensorPtr core = TensorPtr::borrow(batched_value(tensor.get()));
  return of_class(Py_TYPE(core.get()), core->dict, std::move(tensor));
}

void Dispatch::leave() {
  if (--holders_ == 0 && last_level == number()) close_level(number());
}

bool Dispatch::concerns(const Op& op, PyObject* const* slots) const {
  return dispatching && any_tensor(slots, op.arguments.size(), asks);
}

Object Dispatch::ask(Op& op, PyObject* const* slots, bool in_place) {
  static PyObject* handler = python_function("adjoint._wrapped", "dispatch").take();
  Object arguments = checked(PyTuple_New(op.count));
  for (int i = 0; i < op.count; ++i) PyTuple_SET_ITEM(arguments.get(), i, shown_argument(slots[i]).take());
  GradModeGuard unrecorded(false);
  Awake inner(*this);
  return checked(call_python(handler, op_object_of(op), arguments.get(), in_place ? Py_True : Py_False));
}

Object Dispatch::recorded(Op& op, PyObject* const* slots, Object result) const {
  if (PyList_Check(result.get())) result = checked(PySequence_Tuple(result.get()));
  PyObject* whole = result.get();
  if (op.kind == Op::Kind::View && is_tensor(slots[0]))
    any_tensor(&whole, 1, [&](Tensor* view) {
      note_view(view, as_tensor(slots[0]));
      return false;
    });
  if (!recording() || op.edge_slots.empty()) return result;
  const bool several = PyTuple_Check(result.get());
  if (!several && !is_tensor(result.get())) return result;
  const Py_ssize_t n = several ? PyTuple_GET_SIZE(result.get()) : 1;
  Object tuple = checked(PyTuple_New(n));
  std::vector<Tensor*> outputs;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = several ? PyTuple_GET_ITEM(result.get(), i) : result.get();
    if (!is_tensor(item)) return result;
    Object output = without_history(item, op, slots);
    outputs.push_back(as_tensor(output.get()));
    PyTuple_SET_ITEM(tuple.get(), i, output.take());
  }
  if (outputs.size() < results_needed(op))
    fail(op.shown, ": __torch_dispatch__ returned ", outputs.size(), " of ", results_needed(op), " results");
  op.record_results(slots, outputs.data(), static_cast<uint32_t>(n));
  if (!several) return Object::borrow(PyTuple_GET_ITEM(tuple.get(), 0));
  return op.result_type ? struct_sequence_of(op.result_type.get(), tuple.get()) : tuple;
}

void Dispatch::begin_node(const Node& node, const TensorPtr* gradients) {
  functional_.push_back(mode_flags & kFunctional);
  if (has_to_do_with_wrapped(node, gradients)) FunctionalGuard::set(true);
}

void Dispatch::end_node(const Node&, const TensorPtr*) {
  if (functional_.empty()) return;  // opened since it began
  FunctionalGuard::set(functional_.back());
  functional_.pop_back();
}

Object Dispatch::call(Op& op, PyObject* const* slots) {
  if (!concerns(op, slots)) return op.call(slots);
  if (Object result = call_parts(op, slots)) return result;
  Op& chosen = op.chosen(slots);
  return recorded(chosen, slots, ask(chosen, slots, false));
}

void Dispatch::change(Op& op, PyObject* const* slots) {
  if (!concerns(op, slots) || !is_tensor(slots[0])) return op.call_in_place(slots);
  Op& chosen = op.variant(slots);
  Tensor* target = as_tensor(slots[0]);
  const bool viewed = is_wrapped(target) && static_cast<WrappedStorage*>(target->storage)->viewed;
  if (viewed && chosen.recorded_slots(slots))
    fail(chosen.shown_in_place, ": a tensor of ", Py_TYPE(slots[0])->tp_name,
         " that has views, or is one, cannot be changed in place while that is recorded: its class alone knows what "
         "they share. Use a function that gives a new tensor, or no_grad()");
  const bool functional = mode_flags & kFunctional;
  FunctionalGuard values_are_copied(true);  // by ops, where rules need those from before
  chosen.change_through(*this, slots, [&] {
    FunctionalGuard as_it_was(functional);
    ask(chosen, slots, true);
  });
}

}  // namespace adjoint
