#include "python/optimizer_bindings.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/guard.h"
#include "core/lock.h"
#include "cpu/parallel.h"
#include "cpu/update.h"
#include "cuda/updates.h"
#include "ops/memory.h"
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

/// Whether the loops may write to a tensor. On a GPU the order of the elements in memory may be any, if it is the same
/// for all arrays.
bool plain(const Tensor* tensor) {
  if (tensor->flags & kInferenceTensor) return false;
  return tensor->device == DeviceType::Cuda ? is_dense(tensor->shape)
                                            : tensor->contiguous() && tensor->device == DeviceType::Cpu;
}

bool same_order(const Tensor* a, const Tensor* b) {
  return a->shape == b->shape || std::equal(a->shape->strides(), a->shape->strides() + a->ndim(), b->shape->strides());
}

/// One step of the parameters of a group: `gather` looks at all of them, and may fail; `run` changes them, and cannot.
class Pass {
 public:
  Pass(const Update* update, PyObject* state, PyObject* const* numbers)
      : update_(update), names_(state_names(update)), state_(state) {
    for (int i = 0; i < update->numbers; ++i) {
      // Not float(), which warns of a tensor that requires grad: its gradient is recorded elsewhere.
      const Tensor* tensor = is_tensor(numbers[i]) ? as_tensor(numbers[i]) : nullptr;
      there_[i] = tensor && tensor->numel() == 1 && tensor->device == DeviceType::Cuda && precision(tensor->dtype) >= 0
                      ? tensor
                      : nullptr;
      if (there_[i]) continue;  // it may never be asked for
      bool holds_one = tensor && tensor->numel() == 1 && tensor->device == DeviceType::Cpu;
      numbers_[i] = holds_one ? scalar_of(tensor).to<double>() : PyFloat_AsDouble(numbers[i]);
      if (numbers_[i] == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        fail(ErrorKind::Type, update->name, ": expected a number for '", update->number_names[i],
             "' of the parameter group; got ", Py_TYPE(numbers[i])->tp_name);
      }
    }
  }

  /// Prepares the parameters that have a gradient; `init(param)` is called where the state of one is incomplete.
  /// Returns those that the loops cannot take, as (param, first): all of them where the step is to be differentiable.
  Object gather(PyObject* params, PyObject* init, bool differentiable) {
    Object left = checked(PyList_New(0));
    parts_.reserve(static_cast<size_t>(PyList_GET_SIZE(params)) * parts_each());
    items_.reserve(static_cast<size_t>(PyList_GET_SIZE(params)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); ++i) {
      Object item = Object::borrow(PyList_GET_ITEM(params, i));
      if (!is_tensor(item.get()))
        fail(ErrorKind::Type, "optimizer can only optimize Tensors, but one of the params is ",
             Py_TYPE(item.get())->tp_name);
      Tensor* param = as_tensor(item.get());
      TensorPtr grad = TensorPtr::borrow(grad_of(param));
      if (!grad) continue;
      if (Py_TYPE(item.get())->tp_hash != tensor_type->tp_hash) hold();
      bool first = false, found = find_state(param);
      if (!found) {
        first = true;
        hold();
        checked(call_python(init, item.get()));
        found = find_state(param);
      }
      if (found && !differentiable && add(param, grad.get(), first)) continue;
      hold();  // to make a tuple may collect garbage
      Object pair = checked(PyTuple_Pack(2, item.get(), first ? Py_True : Py_False));
      check(PyList_Append(left.get(), pair.get()) == 0);
    }
    return left;
  }

  /// Makes sure of what was gathered before other code runs, here or in other threads: that might drop tensors, or give
  /// them other memory. Most steps call none, and need not count references, which takes a third of a small one's time.
  void hold() {
    for (size_t i = held_.size(); i < parts_.size(); ++i)
      held_.push_back({TensorPtr::borrow(parts_[i].tensor), StoragePtr::borrow(parts_[i].storage)});
  }
  /// Whether `run` releases the interpreter lock.
  bool lets_others_run() const { return lets_others_run_; }

  /// Steps what was gathered.
  void run() {
    const Part* parts = parts_.data();
    std::vector<cuda::UpdateBatch> batches;
    for (const Item& item : items_) {
      if (item.kept_there) {
        for (int i = 0; i < update_->kept; ++i) parts[i].bump();
      } else {
        step_kept(parts, item);
      }
      char* data[kMaxUpdateArrays];
      for (int i = 0; i < update_->arrays; ++i) {
        const Part& part = parts[update_->kept + i];
        data[i] = part.data;
        if (i != 1) part.bump();
      }
      if (item.kernels) {
        add_to(batches, parts, data, item);
      } else {
        run_loop(data, item.n, item.type);
      }
      parts += parts_each();
    }
    for (const cuda::UpdateBatch& batch : batches) batch.launch(device_numbers());
  }

 private:
  /// A tensor of the update and its memory; see `hold`. What `run` needs lies in the memory or just before it: looking
  /// at the tensor once more would fetch it a second time, when there are many.
  struct Part {
    Tensor* tensor;
    Storage* storage;
    char* data;
    bool plain;  ///< a change is counted in the storage, and no more

    void bump() const {
      if (plain) {
        ++storage->version;
      } else {
        bump_version(tensor, "optimizer.step");
      }
    }
  };
  struct Held {
    TensorPtr tensor;
    StoragePtr storage;
  };
  struct Item {
    int64_t n;         ///< real numbers
    int8_t type;       ///< of the arrays, as in Update
    int8_t kept_type;  ///< of the 0-d states
    bool first;
    bool kept_there;                     ///< the 0-d states are on a GPU, too
    const cuda::UpdateKernels* kernels;  ///< for a parameter on a GPU; null on the CPU
  };

  size_t parts_each() const { return static_cast<size_t>(update_->kept) + static_cast<size_t>(update_->arrays); }

  /// Looks up the state of a parameter; false where an entry is missing or None.
  bool find_state(Tensor* param) {
    if (names_.empty()) return true;
    Object own = Object::borrow(PyDict_GetItemWithError(state_, as_object(param)));
    check(own || !PyErr_Occurred());
    if (!own) return false;
    if (!PyDict_Check(own.get()))
      fail(ErrorKind::Type, "expected the state of a parameter to be a dict; got ", Py_TYPE(own.get())->tp_name,
           "; load a state_dict of this optimizer, or delete the entry to begin anew");
    // The entries most often stand in the order in which they are asked for: walking is faster than searching.
    Py_ssize_t place = 0;
    bool in_order = true;
    for (size_t i = 0; i < names_.size(); ++i) {
      PyObject *name, *value;
      in_order = in_order && PyDict_Next(own.get(), &place, &name, &value) && name == names_[i];
      entries_[i] = Object::borrow(in_order ? value : PyDict_GetItemWithError(own.get(), names_[i]));
      check(entries_[i] || !PyErr_Occurred());
      if (!entries_[i] || entries_[i].get() == Py_None) return false;
    }
    return true;
  }

  /// Adds a parameter whose state was found; false where the loops cannot take it.
  bool add(Tensor* param, Tensor* grad, bool first) {
    const bool complex = is_complex(param->dtype), there = param->device == DeviceType::Cuda;
    const int type = precision(real_type(param->dtype));
    if ((there ? !cuda::is_updated(param->dtype) : type < 0) || !plain(param) || !matches(grad, param)) return false;
    const int kept_type = find_kept_type(param->device);
    if (kept_type < 0) return false;
    for (int i = 2; i < update_->arrays; ++i) {
      PyObject* entry = entries_[update_->kept + i - 2].get();
      if (!is_tensor(entry) || !plain(as_tensor(entry)) || !matches(as_tensor(entry), param)) return false;
      if (there && !same_order(as_tensor(entry), param)) return false;
    }
    const bool as_it_is = there ? same_order(grad, param) : grad->contiguous();
    if (!as_it_is && !param->contiguous()) return false;
    const bool kept_there = there && update_->kept > 0 && as_tensor(entries_[0].get())->device == param->device;
    const cuda::UpdateKernels* kernels = nullptr;
    if (there) kernels = &kernels_for(param, kept_there, kept_type);
    if (!kept_there) fetch_numbers();
    if (!as_it_is) hold();
    TensorPtr packed = as_it_is ? TensorPtr::borrow(grad) : contiguous(grad);
    for (int i = 0; i < update_->kept; ++i) add_part(as_tensor(entries_[i].get()));
    add_part(param);
    add_part(packed.get());
    if (packed.get() != grad) copies_.push_back(std::move(packed));
    for (int i = 2; i < update_->arrays; ++i) add_part(as_tensor(entries_[update_->kept + i - 2].get()));
    const int64_t n = param->numel() * (complex ? 2 : 1);
    lets_others_run_ |= !there && WithoutLock::worthwhile(n);
    items_.push_back({n, static_cast<int8_t>(type), static_cast<int8_t>(kept_type), first, kept_there, kernels});
    return true;
  }

  const cuda::UpdateKernels& kernels_for(const Tensor* param, bool kept_there, int kept_type) {
    const std::optional<DType> kept =
        kept_there ? std::optional(kept_type ? DType::Float64 : DType::Float32) : std::nullopt;
    // Most parameters are like the one before.
    if (!found_ || found_device_ != param->device || found_type_ != param->dtype || found_kept_ != kept) {
      found_ = &cuda::update_kernels(param->device, update_->name, param->dtype, update_->arrays, update_->kept, kept);
      found_device_ = param->device;
      found_type_ = param->dtype;
      found_kept_ = kept;
    }
    return *found_;
  }

  /// Waits for the numbers that are on a GPU, where the CPU computes with them.
  void fetch_numbers() {
    if (fetched_) return;
    fetched_ = true;
    for (int i = 0; i < update_->numbers; ++i)
      if (there_[i]) numbers_[i] = scalar_of(there_[i]).to<double>();
  }

  cuda::UpdateNumbers device_numbers() const {
    cuda::UpdateNumbers result;
    for (int i = 0; i < update_->numbers; ++i) {
      if (there_[i]) {
        result.places[i] = there_[i]->data;
        result.is_double[i] = there_[i]->dtype == DType::Float64;
      } else {
        result.values[i] = numbers_[i];
      }
    }
    return result;
  }

  void add_to(std::vector<cuda::UpdateBatch>& batches, const Part* parts, char* const* data, const Item& item) const {
    const double* uniforms = item.kept_there ? nullptr : uniforms_;
    auto place = std::ranges::find_if(batches, [&](const auto& batch) { return batch.takes(*item.kernels, uniforms); });
    if (place == batches.end()) place = batches.emplace(batches.end(), *item.kernels, uniforms);
    char* kept[kMaxUpdateNumbers];
    for (int i = 0; i < update_->kept; ++i) kept[i] = parts[i].data;
    place->add(kept, data, item.n, item.first);
  }

  void add_part(Tensor* tensor) {
    const bool own_version = tensor->extra && tensor->extra->version;
    parts_.push_back({tensor, tensor->storage, tensor->data, !own_version && !tensor->storage->saved});
  }

  static bool matches(const Tensor* a, const Tensor* b) {
    return a->dtype == b->dtype && a->device == b->device &&
           (a->shape == b->shape || std::ranges::equal(a->sizes(), b->sizes()));
  }

  /// The common type of the 0-d states, as in Update; -1 where they are not plain 0-d tensors of one. All are on the
  /// CPU, or all on the parameter's device.
  int find_kept_type(Device device) const {
    int type = 0;
    for (int i = 0; i < update_->kept; ++i) {
      PyObject* entry = entries_[i].get();
      if (!is_tensor(entry)) return -1;
      const Tensor* tensor = as_tensor(entry);
      const int mine = precision(tensor->dtype);
      if (mine < 0 || (i > 0 && mine != type) || tensor->ndim() != 0 || !plain(tensor)) return -1;
      if (tensor->device != DeviceType::Cpu && tensor->device != device) return -1;
      if (tensor->device != as_tensor(entries_[0].get())->device) return -1;
      type = mine;
    }
    return type;
  }

  /// Computes the uniforms for a parameter and steps its 0-d states.
  void step_kept(const Part* parts, const Item& item) {
    double before[kMaxUpdateNumbers];
    const int type = item.kept_type;
    for (int i = 0; i < update_->kept; ++i) {
      const char* data = parts[i].data;
      before[i] = type ? *reinterpret_cast<const double*>(data) : *reinterpret_cast<const float*>(data);
    }
    const size_t bytes = update_->kept * sizeof(double);
    if (!prepared_ || item.first != first_ || type != kept_type_ || std::memcmp(before, before_, bytes) != 0) {
      std::memcpy(before_, before, bytes);
      std::memcpy(after_, before, bytes);
      update_->prepare[type](after_, item.first, numbers_, uniforms_);
      prepared_ = true;
      first_ = item.first;
      kept_type_ = type;
    }
    for (int i = 0; i < update_->kept; ++i) {
      if (type) {
        *reinterpret_cast<double*>(parts[i].data) = after_[i];
      } else {
        *reinterpret_cast<float*>(parts[i].data) = static_cast<float>(after_[i]);
      }
      parts[i].bump();
    }
  }

  void run_loop(char* const* data, int64_t n, int type) {
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
  double numbers_[kMaxUpdateNumbers] = {};
  const Tensor* there_[kMaxUpdateNumbers] = {};  // numbers on a GPU, which are fetched when the CPU computes with them
  bool fetched_ = false;
  // Of the parameter before.
  const cuda::UpdateKernels* found_ = nullptr;
  Device found_device_;
  DType found_type_ = DType::Float32;
  std::optional<DType> found_kept_;
  std::vector<Item> items_;
  std::vector<Part> parts_;  // of each item: 0-d states, parameter, gradient, other states
  std::vector<Held> held_;
  std::vector<TensorPtr> copies_;  // of gradients that are not contiguous
  bool lets_others_run_ = false;
  // What holds for the parameter before, and most often for the next one too.
  bool prepared_ = false;
  bool first_ = false;
  int kept_type_ = 0;
  double before_[kMaxUpdateNumbers];
  double after_[kMaxUpdateNumbers];
  double uniforms_[kMaxUpdateNumbers] = {};
};

const Update* to_update(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  check(text != nullptr);
  const Update* update = find_update(text);
  if (!update) fail(ErrorKind::Type, "optimizer: no update of this name");
  return update;
}

/// What a step takes of a group: (update, params, numbers, init, differentiable).
struct GroupArgs {
  explicit GroupArgs(PyObject* tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 5)
      fail(ErrorKind::Type, "optimizer: expected a tuple for each group");
    update = to_update(PyTuple_GET_ITEM(tuple, 0));
    params = PyTuple_GET_ITEM(tuple, 1);
    numbers = PyTuple_GET_ITEM(tuple, 2);
    init = PyTuple_GET_ITEM(tuple, 3);
    differentiable = PyTuple_GET_ITEM(tuple, 4) == Py_True;
    if (!PyList_Check(params))
      fail(ErrorKind::Type, "optimizer: expected 'params' of a group to be a list; got ", Py_TYPE(params)->tp_name);
    if (!PyList_Check(numbers) || PyList_GET_SIZE(numbers) != update->numbers)
      fail(ErrorKind::Type, update->name, ": expected ", int{update->numbers}, " numbers");
  }

  const Update* update;
  PyObject *params, *numbers, *init;
  bool differentiable;
};

/// _optimizer_step(groups, state, rehearse): steps every parameter that has a gradient, all of them or none: whatever
/// can fail comes first. What the loops cannot take is returned, a list for each group, after rehearse(that) has been
/// called.
PyObject* py_optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    if (nargs != 3 || !PyList_Check(args[0]) || !PyDict_Check(args[1]))
      fail(ErrorKind::Type, "optimizer: expected the optimizer's state to be a dict; got ",
           nargs > 1 ? Py_TYPE(args[1])->tp_name : "nothing");
    const Py_ssize_t count = PyList_GET_SIZE(args[0]);
    std::vector<Pass> passes;
    passes.reserve(static_cast<size_t>(count));
    Object left = checked(PyList_New(count));
    bool any_left = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      GroupArgs group(PyList_GET_ITEM(args[0], i));
      for (Pass& pass : passes) pass.hold();
      passes.emplace_back(group.update, args[1], PySequence_Fast_ITEMS(group.numbers));
      Object its = passes.back().gather(group.params, group.init, group.differentiable);
      any_left |= PyList_GET_SIZE(its.get()) > 0;
      PyList_SET_ITEM(left.get(), i, its.take());
    }
    if (any_left || std::ranges::any_of(passes, &Pass::lets_others_run))
      for (Pass& pass : passes) pass.hold();
    if (any_left) checked(call_python(args[2], left.get()));
    for (Pass& pass : passes) pass.run();
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
    {"_optimizer_step", as_method(py_optimizer_step), METH_FASTCALL, "Steps the parameters of an optimizer."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_optimizer(PyObject* module) { check(PyModule_AddFunctions(module, functions) == 0); }

}  // namespace adjoint::python
