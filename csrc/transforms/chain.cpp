#include "transforms/chain.h"

#include <algorithm>

#include "core/lock.h"
#include "core/tangent.h"
#include "kernels/backend.h"
#include "tape/history.h"

namespace adjoint {
namespace {

/// Of fewer numbers the loop of an op takes less time than to put it off.
constexpr int64_t kFewest = 512;

BatchStorage& storage_of(const Tensor* batched) { return *static_cast<BatchStorage*>(batched->storage); }

}  // namespace

std::vector<Chain::Step>& Chain::spare_ = *new std::vector<Chain::Step>;

Chain::Chain() { steps_.swap(spare_); }
Chain::~Chain() {
  steps_.clear();
  steps_.swap(spare_);
}

void Chain::adopt(Tensor* batched) {
  BatchStorage& storage = storage_of(batched);
  const Tensor* value = storage.value;
  // Work that is long enough for other threads to run meanwhile is not put off: they could see it half done.
  if (storage.chain || value->numel() < kFewest || WithoutLock::worthwhile(value->numel())) return;
  if (value->dtype != DType::Float32 && value->dtype != DType::Float64) return;
  if (value->device != DeviceType::Cpu || !value->shape->standard || value->storage->is_foreign()) return;
  if (requires_grad(value) || value->extra) return;
  if (Py_REFCNT(value) != 1 || value->storage->refs != 1) return;
  retain(this);
  storage.chain = this;
}

bool Chain::read(const Tensor* tensor, uint64_t level, Input& input, Operand& operand) const {
  if (!is_batched_at(tensor, level)) return false;
  const BatchStorage& storage = storage_of(tensor);
  const Tensor* value = storage.value;
  // What shares the storage may show another part of it.
  if (storage.shared || tensor->data != value->data || !tensor->shape->standard ||
      !std::ranges::equal(tensor->sizes(), value->sizes().subspan(1)))
    return false;
  operand.set(value);
  if (storage.chain != this) return copy(value, input);
  input.step = storage.step;
  if (input.step < 0) {
    input.memory = StoragePtr::borrow(value->storage);
    input.data = value->data;
  }
  return true;
}

bool Chain::copy(const Tensor* value, Input& input) const {
  if (steps_.empty() || value->dtype != dtype_ || value->numel() != numel_) return false;
  if (value->device != DeviceType::Cpu || !value->shape->standard) return false;
  if (requires_grad(value) || has_tangents(value)) return false;
  TensorPtr copied = empty(ShapePtr::borrow(value->shape), value->dtype, value->device);
  on(value->device).memory.copy(value->view(), copied->view());
  input.memory = StoragePtr::borrow(copied->storage);
  input.data = copied->data;
  return true;
}

const Tensor* Chain::read_all(const Op& op, PyObject* const* slots, uint64_t level, Step& step) const {
  if (op.kernel->result != ResultKind::Same || op.n_operands > kernels::ChainStep::kMaxInputs) return nullptr;
  if (op.count - op.n_operands > kMaxParams) return nullptr;
  Operand operands[kernels::ChainStep::kMaxInputs];
  const Tensor* first = nullptr;
  for (int i = 0; i < op.n_operands; ++i) {
    if (!is_tensor(slots[i])) {
      if (!(op.number_slots >> i & 1) || !to_scalar(slots[i], &step.inputs[i].number)) return nullptr;
      operands[i].set(step.inputs[i].number);
      continue;
    }
    const Tensor* tensor = as_tensor(slots[i]);
    if (!read(tensor, level, step.inputs[i], operands[i])) return nullptr;
    if (!first) first = tensor;
    if (tensor->dtype != first->dtype || !same_sizes(tensor->shape, first->shape)) return nullptr;
  }
  for (int i = op.n_operands; i < op.count; ++i) {
    if (slots[i] != op.arguments[i].default_value.get()) return nullptr;
    step.params[i - op.n_operands] = op.arguments[i].default_scalar;
  }
  if (!first || ops::check_alike(*op.kernel, op.options, operands, op.n_operands) != first->dtype) return nullptr;
  step.loop = op.kernel->loops[static_cast<int>(first->dtype)];
  step.count = op.n_operands;
  return first;
}

TensorPtr Chain::call(Op& op, PyObject* const* slots, uint64_t level) {
  if (steps_.size() == kernels::kMaxChain) settle();
  Step step;
  const Tensor* first = read_all(op, slots, level, step);
  if (!first) return {};
  const Tensor* value = storage_of(first).value;
  // All steps have as many elements, of one type: where these differ, no argument waits.
  if (!steps_.empty() && (dtype_ != value->dtype || numel_ != value->numel())) settle();
  dtype_ = value->dtype;
  numel_ = value->numel();
  TensorPtr memory = empty(ShapePtr::borrow(value->shape), dtype_, value->device);
  TensorPtr result = make_batched(std::move(memory), level, false, ShapePtr::borrow(first->shape));
  BatchStorage& storage = storage_of(result.get());
  step.owner = &storage;
  steps_.reserve(kernels::kMaxChain);
  steps_.push_back(std::move(step));
  retain(this);
  storage.chain = this;
  storage.step = static_cast<int32_t>(steps_.size()) - 1;
  return result;
}

void Chain::settle() {
  if (steps_.empty()) return;
  const int count = static_cast<int>(steps_.size());
  bool needed[kernels::kMaxChain];
  for (int i = 0; i < count; ++i) needed[i] = steps_[i].owner != nullptr;
  for (int i = count - 1; i >= 0; --i)
    for (const Input& input : steps_[i].inputs)
      if (needed[i] && input.step >= 0) needed[input.step] = true;
  kernels::ChainStep run[kernels::kMaxChain];
  int place[kernels::kMaxChain], n = 0;
  for (int i = 0; i < count; ++i) {
    if (!needed[i]) continue;
    const Step& step = steps_[i];
    char* out = step.owner ? step.owner->value->data : nullptr;
    run[n].loop = step.loop;  // one by one: inputs that are not there need no zeros
    run[n].params = step.params;
    run[n].out = out;
    run[n].count = step.count;
    for (int k = 0; k < step.count; ++k) {
      const Input& input = step.inputs[k];
      run[n].inputs[k] = {input.data, input.step < 0 ? -1 : place[input.step], input.number};
    }
    place[i] = n++;
  }
  if (n > 0) on(DeviceType::Cpu).elementwise.chain({run, static_cast<size_t>(n)}, dtype_, numel_);
  for (const Step& step : steps_)
    if (step.owner) step.owner->step = -1;
  steps_.clear();
}

void Chain::forget(const BatchStorage& storage) {
  if (storage.step >= 0) steps_[storage.step].owner = nullptr;
}

}  // namespace adjoint
