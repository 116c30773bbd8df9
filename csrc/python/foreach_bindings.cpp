#include "python/foreach_bindings.h"

#include <algorithm>
#include <optional>

#include "core/mode.h"
#include "cuda/together.h"
#include "op/object.h"
#include "op/overrides.h"

namespace adjoint::python {
namespace {

/// The arguments of an op for each place of lists: a list or a tuple in the place of an argument has one for each, and
/// anything else is the same for all.
class Columns {
 public:
  Columns(const Op& op, PyObject* const* given, int n) : op_(op) {
    if (n > op.count) fail(ErrorKind::Type, op.shown, ": takes ", op.count, " arguments, got ", n);
    for (int i = 0; i < op.count; ++i) {
      slots_[i] = i < n ? given[i] : op.defaults[i];
      if (!slots_[i]) fail(ErrorKind::Type, op.shown, ": too few arguments");
      if (i < n && is_sequence(given[i])) add(i, given[i]);
    }
    if (count_ < 0) fail(ErrorKind::Type, op.shown, ": expected a list of tensors");
  }

  Py_ssize_t count() const { return count_; }

  /// Whether the tensors of the first list are on a GPU; the first of them speaks for all.
  bool on_gpu() const { return count_ > 0 && as_tensor(lists_[0].items[0])->device == DeviceType::Cuda; }

  /// Whether types or modes take over the calls of these arguments.
  bool overridden() const {
    if (mode_flags & kFunctionMode) return true;
    if (std::any_of(lists_, lists_ + n_lists_,
                    [&](const List& list) { return adjoint::overridden(list.items, static_cast<size_t>(count_)); }))
      return true;
    return std::any_of(slots_, slots_ + op_.count,
                       [](PyObject* one) { return !is_sequence(one) && adjoint::overridden(&one, 1); });
  }

  /// The arguments of a place, borrowed.
  PyObject* const* at(Py_ssize_t place) {
    for (int i = 0; i < n_lists_; ++i) slots_[lists_[i].slot] = lists_[i].items[place];
    return slots_;
  }

 private:
  /// A column as a tuple: a list may change while ops run.
  struct List {
    int slot;
    Object kept;
    PyObject** items;
  };

  void add(int slot, PyObject* sequence) {
    Object kept = checked(PySequence_Tuple(sequence));
    PyObject** items = &PyTuple_GET_ITEM(kept.get(), 0);
    const Py_ssize_t size = PyTuple_GET_SIZE(kept.get());
    if (count_ >= 0 && size != count_)
      fail("Tensor lists must have the same number of tensors, got ", count_, " and ", size);
    count_ = size;
    // What begins with a tensor, as the first list does, holds nothing else.
    if (n_lists_ == 0 || (size && is_tensor(items[0])))
      for (Py_ssize_t i = 0; i < size; ++i)
        if (!is_tensor(items[i])) [[unlikely]]
          fail(ErrorKind::Type, "expected Tensor as element ", i, " in argument ", slot, ", but got ",
               Py_TYPE(items[i])->tp_name);
    lists_[n_lists_++] = {slot, std::move(kept), items};
  }

  const Op& op_;
  PyObject* slots_[kMaxArguments];
  List lists_[kMaxArguments];
  int n_lists_ = 0;
  Py_ssize_t count_ = -1;
};

/// _for_each(op, in_place, *arguments): calls an op for each place of the lists among its arguments. Returns the
/// results as a tuple, or None in place; NotImplemented, before anything is called, where types or modes take calls
/// over.
PyObject* py_for_each(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    if (nargs < 3) fail(ErrorKind::Type, "_for_each() takes an op, whether it works in place, and its arguments");
    Op& op = op_of(args[0]);
    Columns columns(op, args + 2, static_cast<int>(nargs - 2));
    if (columns.overridden()) return Py_NewRef(Py_NotImplemented);
    // On a GPU the kernels of all places are one launch.
    std::optional<cuda::Together> together;
    if (op.kernel && columns.count() > 1 && columns.on_gpu()) together.emplace();
    Object results = args[1] == Py_True ? Object::borrow(Py_None) : checked(PyTuple_New(columns.count()));
    for (Py_ssize_t i = 0; i < columns.count(); ++i) {
      if (args[1] == Py_True) {
        op.call_in_place(columns.at(i));
      } else {
        PyTuple_SET_ITEM(results.get(), i, op.call(columns.at(i)).take());
      }
    }
    if (together) together->finish();
    return results.take();
  });
}

PyMethodDef functions[] = {
    {"_for_each", as_method(py_for_each), METH_FASTCALL,
     "Calls an op for each place of the lists among its arguments."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_foreach(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
