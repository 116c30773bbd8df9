#include "ops/indexing_advanced.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/lock.h"
#include "core/overlap.h"
#include "kernels/backend.h"
#include "op/arg.h"
#include "op/meta.h"
#include "op/object.h"
#include "ops/gather.h"
#include "ops/memory.h"
#include "ops/views.h"
#include "python/interop.h"
#include "tape/history.h"

namespace adjoint::ops {
namespace {

bool is_mask(const Tensor* tensor) { return tensor->dtype == DType::Bool || tensor->dtype == DType::UInt8; }

/// The entries of an index sequence: a tensor, or null for None.
std::vector<Tensor*> index_entries(PyObject* indices) {
  if (!PyTuple_Check(indices) && !PyList_Check(indices))
    Arg{indices, "index", "indices"}.wrong_type("tuple of Tensors");
  std::vector<Tensor*> entries;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(indices); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(indices, i);
    if (item != Py_None && !is_tensor(item))
      fail(ErrorKind::Type, "expected Tensor as element ", i, " in argument 'indices', but got ",
           Py_TYPE(item)->tp_name);
    entries.push_back(item == Py_None ? nullptr : as_tensor(item));
  }
  return entries;
}

void check_index_types(const std::vector<Tensor*>& entries) {
  for (const Tensor* entry : entries)
    if (entry && !is_mask(entry) && entry->dtype != DType::Int64 && entry->dtype != DType::Int32)
      fail(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors; got ",
           info(entry->dtype).name);
}

void check_mask(const Tensor* input, const Tensor* mask, int dim) {
  if (mask->ndim() == 0)
    fail(ErrorKind::Index, "a mask without dimensions cannot index a dimension; unsqueeze the tensor first");
  if (dim + mask->ndim() > input->ndim())
    fail(ErrorKind::Index, "too many indices for tensor of dimension ", input->ndim(), " (the mask has shape ",
         to_string(mask->sizes()), ")");
  for (int d = 0; d < mask->ndim(); ++d)
    if (mask->size(d) != input->size(dim + d))
      fail(ErrorKind::Index, "The shape of the mask ", to_string(mask->sizes()), " at index ", d,
           " does not match the shape of the indexed tensor ", to_string(input->sizes()), " at index ", dim + d);
}

/// A mask that is the only index, which needs no list of places.
struct SingleMask {
  Tensor* mask = nullptr;  ///< null: the index is something else
  int dim = 0;             ///< the first dimension that it covers
};

SingleMask single_mask(const Tensor* input, const std::vector<Tensor*>& entries) {
  SingleMask found;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i]) continue;
    if (found.mask || !is_mask(entries[i])) return {};
    found = {entries[i], static_cast<int>(i)};
  }
  if (found.mask) check_mask(input, found.mask, found.dim);
  return found;
}

/// Index tensors made ready for the kernels: masks as places, all of one shape, and the indexed dimensions in front.
class Plan {
 public:
  Plan(const Tensor* input, const std::vector<Tensor*>& entries) : input_(input) {
    for (Tensor* entry : entries) {
      if (!entry) {
        ++next_dim_;
      } else if (is_mask(entry)) {
        add_mask(entry);
      } else {
        add(cast(entry, DType::Int64));
      }
    }
    if (next_dim_ > input->ndim())
      fail(ErrorKind::Index, "too many indices for tensor of dimension ", input->ndim(), " (got ", next_dim_, ")");
    if (indices_.empty()) fail(ErrorKind::Index, "index: expected at least one index tensor; got none");
    broadcast_indices();
    order_dimensions();
  }

  /// The sizes of input[indices].
  Sizes sizes() const { return {sizes_, static_cast<size_t>(ndim_)}; }
  int count() const { return static_cast<int>(indices_.size()); }
  const View* const* indices() const { return pointers_.data(); }

  /// A tensor of the input's sizes with the indexed dimensions in front.
  View source(const Tensor* tensor) {
    for (int d = 0; d < input_->ndim(); ++d) source_strides_[d] = tensor->stride(order_[d]);
    return tensor->view(input_->ndim(), source_sizes_, source_strides_);
  }
  /// A tensor seen in the result's sizes by these strides, with the dimensions of the index in front.
  View result(const Tensor* tensor, const int64_t* strides) {
    int position = adjacent_ ? first_dim_ : 0;
    for (int d = 0, rest = 0; d < ndim_; ++d) {
      int from = d < index_ndim_ ? position + d : rest + (rest < position ? 0 : index_ndim_);
      if (d >= index_ndim_) ++rest;
      result_sizes_[d] = sizes_[from];
      result_strides_[d] = strides[from];
    }
    return tensor->view(ndim_, result_sizes_, result_strides_);
  }

 private:
  void add(TensorPtr index) {
    dims_.push_back(next_dim_++);
    indices_.push_back(std::move(index));
  }

  void add_mask(Tensor* mask) {
    check_mask(input_, mask, next_dim_);
    const kernels::Indexing& kernels = on(mask->device).indexing;
    int64_t count = kernels.count_nonzero(mask->view());
    TensorPtr places = empty(std::array{count, int64_t{mask->ndim()}}, DType::Int64, mask->device);
    kernels.nonzero(mask->view(), places->view());
    for (int d = 0; d < mask->ndim(); ++d) add(select(places.get(), 1, d));
  }

  void broadcast_indices() {
    int64_t shape[kMaxDims];
    for (const TensorPtr& index : indices_) {
      Sizes a{shape, static_cast<size_t>(index_ndim_)};
      try {
        index_ndim_ = broadcast_sizes(a, index->sizes(), shape);
      } catch (const Error&) {
        std::string shapes;
        for (const TensorPtr& each : indices_) shapes += (shapes.empty() ? "" : ", ") + to_string(each->sizes());
        fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
      }
    }
    Sizes common{shape, static_cast<size_t>(index_ndim_)};
    views_.reserve(indices_.size());
    for (TensorPtr& index : indices_) {
      int64_t strides[kMaxDims];
      broadcast_strides(index->shape, common, strides);
      index = alias(index.get(), make_shape(common, {strides, common.size()}));
      views_.push_back(index->view());
    }
    for (const View& view : views_) pointers_.push_back(&view);
  }

  /// Where the dimensions of the index go: in the place of the indexed ones when those are neighbours, else in front.
  void order_dimensions() {
    first_dim_ = dims_.front();
    adjacent_ = dims_.back() - dims_.front() == static_cast<int>(dims_.size()) - 1;
    std::copy(dims_.begin(), dims_.end(), order_);
    int n = static_cast<int>(dims_.size());
    for (int d = 0; d < input_->ndim(); ++d)
      if (std::find(dims_.begin(), dims_.end(), d) == dims_.end()) order_[n++] = d;
    for (int d = 0; d < n; ++d) source_sizes_[d] = input_->size(order_[d]);
    for (int d = 0; d < count(); ++d)
      if (source_sizes_[d] == 0 && indices_[0]->numel() > 0)
        fail(ErrorKind::Index, "index is out of bounds for dimension with size 0; the input is ",
             to_string(input_->sizes()));
    ndim_ = index_ndim_ + input_->ndim() - count();
    if (ndim_ > kMaxDims) fail("index: at most ", kMaxDims, " dimensions are supported; the result would have ", ndim_);
    int position = adjacent_ ? first_dim_ : 0;
    int rest = count();
    for (int d = 0; d < ndim_; ++d) {
      bool of_index = d >= position && d < position + index_ndim_;
      sizes_[d] = of_index ? indices_[0]->size(d - position) : source_sizes_[rest++];
    }
  }

  const Tensor* input_;
  int next_dim_ = 0;
  int index_ndim_ = 0;
  int ndim_ = 0;
  int first_dim_ = 0;
  bool adjacent_ = true;
  std::vector<int> dims_;
  std::vector<TensorPtr> indices_;
  std::vector<View> views_;
  std::vector<const View*> pointers_;
  int order_[kMaxDims];
  int64_t sizes_[kMaxDims];
  int64_t source_sizes_[kMaxDims], source_strides_[kMaxDims];
  int64_t result_sizes_[kMaxDims], result_strides_[kMaxDims];
};

TensorPtr as_bool(Tensor* mask) { return cast(mask, DType::Bool); }

/// target[mask] = one value.
void fill_under_mask(Tensor* target, const SingleMask& single, Tensor* value) {
  if (single.mask->dtype != DType::Bool)
    fail("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
  int64_t strides[kMaxDims] = {};
  std::copy_n(single.mask->shape->strides(), single.mask->ndim(), strides + single.dim);
  Element element(number_in(value), target->dtype);
  WithoutLock unlocked(target->numel());
  on(target->device)
      .indexing.masked_fill(target->view(), single.mask->view(target->ndim(), target->shape->sizes(), strides),
                            element.get());
}

void write_indexed(Tensor* target, PyObject* indices, Tensor* values, bool accumulate) {
  std::vector<Tensor*> entries = index_entries(indices);
  check_index_types(entries);
  SingleMask single = single_mask(target, entries);
  if (single.mask && values->numel() == 1 && !accumulate) return fill_under_mask(target, single, values);
  if (values->dtype != target->dtype)
    fail("Index put requires the source and destination dtypes match, got ", info(target->dtype).legacy_name,
         " for the destination and ", info(values->dtype).legacy_name, " for the source.");
  // How many places a mask without values chooses cannot be told, and nothing is written there.
  if (std::ranges::any_of(
          entries, [](const Tensor* entry) { return entry && is_mask(entry) && entry->device == DeviceType::Meta; }))
    return;
  if (single.mask && !accumulate && single.mask->ndim() == target->ndim() && values->ndim() == 1 &&
      values->numel() == on(single.mask->device).indexing.count_nonzero(single.mask->view())) {
    TensorPtr mask = as_bool(single.mask);
    WithoutLock unlocked(target->numel());
    return on(target->device).indexing.masked_scatter(target->view(), mask->view(), values->view());
  }
  Plan plan(target, entries);
  int lead = static_cast<int>(plan.sizes().size()) - values->ndim();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < values->ndim(); ++d)
    fits = values->size(d) == 1 || values->size(d) == plan.sizes()[d + lead];
  if (!fits)
    fail("shape mismatch: value tensor of shape ", to_string(values->sizes()),
         " cannot be broadcast to indexing result of shape ", to_string(plan.sizes()));
  int64_t strides[kMaxDims];
  broadcast_strides(values->shape, plan.sizes(), strides);
  View destination = plan.source(target);
  View source = plan.result(values, strides);
  WithoutLock unlocked(source.numel());
  on(target->device).indexing.index_put(destination, plan.count(), plan.indices(), source, accumulate);
}

}  // namespace

TensorPtr index(Tensor* input, PyObject* indices) {
  std::vector<Tensor*> entries = index_entries(indices);
  check_index_types(entries);
  SingleMask single = single_mask(input, entries);
  if (single.mask && single.mask->ndim() == input->ndim()) {
    TensorPtr mask = as_bool(single.mask);
    const int64_t count = on(mask->device).indexing.count_nonzero(mask->view());
    TensorPtr result = empty(std::array{count}, input->dtype, input->device);
    WithoutLock unlocked(input->numel());
    on(input->device).indexing.masked_select(input->view(), mask->view(), result->view());
    return result;
  }
  Plan plan(input, entries);
  TensorPtr result = empty(plan.sizes(), input->dtype, input->device);
  View source = plan.source(input);
  View out = plan.result(result.get(), result->shape->strides());
  WithoutLock unlocked(result->numel());
  on(input->device).indexing.index_get(source, plan.count(), plan.indices(), out);
  return result;
}

TensorPtr index_backward(Tensor* input, Ints size, PyObject* indices) {
  TensorPtr result = zeros(size, input->dtype, input->device);
  std::vector<Tensor*> entries = index_entries(indices);
  // Under a mask each place is read once: writing does what adding would.
  Tensor* mask = single_mask(result.get(), entries).mask;
  write_indexed(result.get(), indices, input, !mask || mask->dtype != DType::Bool);
  return result;
}

TensorPtr index_put(Tensor* input, PyObject* indices, Tensor* values, bool accumulate) {
  TensorPtr result = clone(input);
  write_indexed(result.get(), indices, values, accumulate);
  return result;
}

/// What is read must not be what is written; one value under a mask is as masked_fill_().
static void check_apart(const Tensor* target, const std::vector<Tensor*>& entries, const Tensor* values,
                        bool accumulate) {
  auto given = [](const Tensor* entry) { return entry != nullptr; };
  bool fills = !accumulate && values->numel() == 1 && std::ranges::count_if(entries, given) == 1;
  for (const Tensor* entry : entries)
    if (entry) {
      fills = fills && entry->dtype == DType::Bool;
      check_overlap(target, entry, fills ? Allowed::Whole : Allowed::Nothing);
    }
  if (!fills) check_overlap(target, values, Allowed::Nothing);
}

Object index_put_(PyObject* input, PyObject* indices, PyObject* values, PyObject* accumulate) {
  static Op& op = require_op("index_put");
  PyObject* slots[] = {input, indices, values, accumulate};
  Tensor* target = Arg{input, "index_put_", "input"};
  if (target->device != DeviceType::Meta && any_on_meta(slots, std::size(slots)))
    fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data! Move the tensor to the meta device too");
  Tensor* source = Arg{values, "index_put_", "values"};
  bool added = Arg{accumulate, "index_put_", "accumulate"};
  index_entries(indices);
  uint32_t recorded = op.recorded_slots(slots);
  check_inplace(target, "index_put_", recorded || requires_grad(target));
  check_writable(target);
  check_apart(target, index_entries(indices), Arg{values, "index_put_", "values"},
              Arg{accumulate, "index_put_", "accumulate"});
  NodePtr node = recorded ? op.record(slots, recorded, 1) : NodePtr();
  write_indexed(target, indices, source, added);
  bump_version(target, "index_put_");
  if (node) {
    set_output_meta(*node, 0, target);
    rebase_history(target, node.get());
  }
  return Object::borrow(input);
}

}  // namespace adjoint::ops
