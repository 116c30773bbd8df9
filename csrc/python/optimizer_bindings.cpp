#include "python/optimizer_bindings.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "core/lock.h"
#include "core/parallel.h"
#include "kernels/update.h"
#include "python/guard.h"
#include "python/interop.h"
#include "tape/change.h"

namespace adjoint::python {
namespace {

/// Elements that one thread takes at least.
constexpr int64_t kGrain = 1 << 15;

/// The names of an update's states as interned strings, made once.
const std::vector<PyObject*>& state_names(const Update* update) {
  static auto* made = new std::unordered_map<const Update*, std::vector<PyObject*>>;
  std::vector<PyObject*>& names = (*made)[update];
  for (int i = static_cast<int>(names.size()); i < update->n_states(); ++i)
    names.push_back(checked(PyUnicode_InternFromString(update->states[i])).take());
  return names;
}

/// 0 for float32, 1 for float64, as in Update; -1 for other types.
int precision(DType dtype) { return dtype == DType::Float32 ? 0 : dtype == DType::Float64 ? 1 : -1; }

/// Whether the loops may write to a tensor.
bool plain(const Tensor* tensor) {
  return tensor->contiguous() && tensor->device == DeviceType::Cpu && !(tensor->flags & kInferenceTensor);
}

/// One step of the parameters of a group.
class Pass {
 public:
  Pass(const Update* update, PyObject* state, PyObject* const* numbers)
      : update_(update), names_(state_names(update)), state_(state) {
    for (int i = 0; i < update->numbers; ++i) {
      // Not float(), which warns of a tensor that requires grad: its gradient is recorded elsewhere.
      const Tensor* tensor = is_tensor(numbers[i]) ? as_tensor(numbers[i]) : nullptr;
      bool holds_one = tensor && tensor->numel() == 1 && tensor->device == DeviceType::Cpu;
      numbers_[i] = holds_one ? scalar_of(tensor).to<double>() : PyFloat_AsDouble(numbers[i]);
      if (numbers_[i] == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        fail(ErrorKind::Type, update->name, ": expected a number for '", update->number_names[i],
             "' of the parameter group; got ", Py_TYPE(numbers[i])->tp_name);
      }
    }
  }

  /// Looks up the state of a parameter; false where an entry is missing or None.
  bool find_state(Tensor* param) {
    if (names_.empty()) return true;
    Object own = Object::borrow(PyDict_GetItemWithError(state_, as_object(param)));
    check(own || !PyErr_Occurred());
    if (!own) return false;
    if (!PyDict_Check(own.get()))
      fail(ErrorKind::Type, "expected the state of a parameter to be a dict; got ", Py_TYPE(own.get())->tp_name,
           "; load a state_dict of this optimizer, or delete the entry to begin anew");
    for (size_t i = 0; i < names_.size(); ++i) {
      entries_[i] = Object::borrow(PyDict_GetItemWithError(own.get(), names_[i]));
      check(entries_[i] || !PyErr_Occurred());
      if (!entries_[i] || entries_[i].get() == Py_None) return false;
    }
    return true;
  }

  /// Steps a parameter whose state was found; false where the loops cannot.
  bool step(Tensor* param, Tensor* grad, bool first) {
    const bool complex = is_complex(param->dtype);
    const int type = precision(real_type(param->dtype));
    if (type < 0 || !plain(param)) return false;
    TensorPtr arrays[kMaxUpdateArrays] = {TensorPtr::borrow(param)};
    StoragePtr held[kMaxUpdateArrays];  // another thread may give a tensor new memory while the lock is released
    char* data[kMaxUpdateArrays];
    for (int i = 2; i < update_->arrays; ++i) {
      PyObject* entry = entries_[update_->kept + i - 2].get();
      if (!is_tensor(entry) || !plain(as_tensor(entry)) || !matches(as_tensor(entry), param)) return false;
      arrays[i] = TensorPtr::borrow(as_tensor(entry));
    }
    if (grad->device != DeviceType::Cpu || !matches(grad, param)) return false;
    arrays[1] = contiguous(grad);
    if (!step_kept(first)) return false;
    for (int i = 0; i < update_->arrays; ++i) {
      held[i] = StoragePtr::borrow(arrays[i]->storage);
      data[i] = arrays[i]->data;
      if (i != 1) bump_version(arrays[i].get(), "optimizer.step");
    }
    run(data, param->numel() * (complex ? 2 : 1), type);
    return true;
  }

 private:
  static bool matches(const Tensor* a, const Tensor* b) {
    return a->dtype == b->dtype && (a->shape == b->shape || std::ranges::equal(a->sizes(), b->sizes()));
  }

  /// Computes the uniforms for a parameter and steps its 0-d states; false where these are not plain 0-d tensors.
  bool step_kept(bool first) {
    double before[kMaxUpdateNumbers];
    int type = 0;
    for (int i = 0; i < update_->kept; ++i) {
      PyObject* entry = entries_[i].get();
      if (!is_tensor(entry)) return false;
      const Tensor* tensor = as_tensor(entry);
      const int mine = precision(tensor->dtype);
      if (mine < 0 || (i > 0 && mine != type) || tensor->ndim() != 0 || !plain(tensor)) return false;
      type = mine;
      before[i] = type ? *tensor->as<double>() : *tensor->as<float>();
    }
    const size_t bytes = update_->kept * sizeof(double);
    if (!prepared_ || first != first_ || type != kept_type_ || std::memcmp(before, before_, bytes) != 0) {
      std::memcpy(before_, before, bytes);
      std::memcpy(after_, before, bytes);
      update_->prepare[type](after_, first, numbers_, uniforms_);
      prepared_ = true;
      first_ = first;
      kept_type_ = type;
    }
    for (int i = 0; i < update_->kept; ++i) {
      Tensor* tensor = as_tensor(entries_[i].get());
      if (type) {
        *tensor->as<double>() = after_[i];
      } else {
        *tensor->as<float>() = static_cast<float>(after_[i]);
      }
      bump_version(tensor, "optimizer.step");
    }
    return true;
  }

  void run(char* const* data, int64_t n, int type) {
    const UpdateLoop loop = update_->loops[type];
    const int64_t size = type ? sizeof(double) : sizeof(float);
    WithoutLock unlocked(n);
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      char* part[kMaxUpdateArrays];
      for (int i = 0; i < update_->arrays; ++i) part[i] = data[i] + begin * size;
      loop(part, end - begin, uniforms_);
    });
  }

  const Update* update_;
  const std::vector<PyObject*>& names_;
  PyObject* state_;
  Object entries_[kMaxUpdateArrays + kMaxUpdateNumbers];
  double numbers_[kMaxUpdateNumbers];
  // What holds for the parameter before, and most often for the next one too.
  bool prepared_ = false;
  bool first_ = false;
  int kept_type_ = 0;
  double before_[kMaxUpdateNumbers];
  double after_[kMaxUpdateNumbers];
  double uniforms_[kMaxUpdateNumbers];
};

const Update* to_update(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  check(text != nullptr);
  const Update* update = find_update(text);
  if (!update) fail(ErrorKind::Type, "optimizer: no update of this name");
  return update;
}

/// _optimizer_step(update, params, state, numbers, init, differentiable): steps every parameter that has a gradient.
/// `init(param)` is called where the state of a parameter is incomplete. Returns the parameters that the loops cannot
/// take, as (param, first): all of them where the step is to be differentiable.
PyObject* py_optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 6 || !PyList_Check(args[1]) || !PyDict_Check(args[2]) || !PyList_Check(args[3]))
      fail(ErrorKind::Type,
           "optimizer: expected 'params' of a group to be a list and the optimizer's state to be a dict; got ",
           nargs > 1 ? Py_TYPE(args[1])->tp_name : "nothing", " and ",
           nargs > 2 ? Py_TYPE(args[2])->tp_name : "nothing");
    const Update* update = to_update(args[0]);
    if (PyList_GET_SIZE(args[3]) != update->numbers)
      fail(ErrorKind::Type, update->name, ": expected ", int{update->numbers}, " numbers");
    PyObject *params = args[1], *init = args[4];
    const bool differentiable = args[5] == Py_True;
    Pass pass(update, args[2], PySequence_Fast_ITEMS(args[3]));
    Object left = checked(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); ++i) {
      Object item = Object::borrow(PyList_GET_ITEM(params, i));
      if (!is_tensor(item.get()))
        fail(ErrorKind::Type, "optimizer can only optimize Tensors, but one of the params is ",
             Py_TYPE(item.get())->tp_name);
      Tensor* param = as_tensor(item.get());
      TensorPtr grad = TensorPtr::borrow(grad_of(param));
      if (!grad) continue;
      bool first = false, found = pass.find_state(param);
      if (!found) {
        first = true;
        checked(PyObject_CallOneArg(init, item.get()));
        found = pass.find_state(param);
      }
      if (found && !differentiable && pass.step(param, grad.get(), first)) continue;
      Object pair = checked(PyTuple_Pack(2, item.get(), first ? Py_True : Py_False));
      check(PyList_Append(left.get(), pair.get()) == 0);
    }
    return left.take();
  });
}

/// _update_states(update): the names of the states that an update uses.
PyObject* py_update_states(PyObject*, PyObject* name) {
  return guarded([&] {
    const std::vector<PyObject*>& names = state_names(to_update(name));
    Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (size_t i = 0; i < names.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(names[i]));
    return tuple.take();
  });
}

PyMethodDef functions[] = {
    {"_update_states", py_update_states, METH_O, "The names of the states that an update uses."},
    {"_optimizer_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_optimizer_step)), METH_FASTCALL,
     "Steps the parameters of a group."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_optimizer(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
