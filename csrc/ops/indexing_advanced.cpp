#include "ops/indexing_advanced.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/lock.h"
#include "core/overlap.h"
#include "kernels/backend.h"
#include "ops/gather.h"
#include "ops/memory.h"
#include "ops/views.h"

namespace adjoint::ops {
namespace {

bool is_mask(const Tensor* tensor) { return tensor->dtype == DType::Bool || tensor->dtype == DType::UInt8; }

void check_index_types(const Indices& indices) {
  for (const std::optional<Tensor*>& index : indices)
    if (index && !is_mask(*index) && (*index)->dtype != DType::Int64 && (*index)->dtype != DType::Int32)
      fail(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors; got ",
           info((*index)->dtype).name, "; convert them with .long()");
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
           " does not match the shape of the indexed tensor ", to_string(input->sizes()), " at index ", dim + d,
           "; a mask has an element for each place that it may choose");
}

/// A mask that is the only index, which needs no list of places.
struct SingleMask {
  Tensor* mask = nullptr;  ///< null: the index is something else
  int dim = 0;             ///< the first dimension that it covers
};

SingleMask single_mask(const Tensor* input, const Indices& indices) {
  SingleMask found;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (found.mask || !is_mask(*indices[i])) return {};
    found = {*indices[i], static_cast<int>(i)};
  }
  if (found.mask) check_mask(input, found.mask, found.dim);
  return found;
}

/// Index tensors made ready for the kernels: masks as places, all of one shape, and the indexed dimensions in front.
class Plan {
 public:
  Plan(const Tensor* input, const Indices& indices) : input_(input) {
    for (const std::optional<Tensor*>& index : indices) {
      if (!index) {
        ++next_dim_;
      } else if (is_mask(*index)) {
        add_mask(*index);
      } else {
        add(cast(*index, DType::Int64));
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
  const View mask = single.mask->view(target->ndim(), target->shape->sizes(), strides), there = target->view();
  const kernels::Indexing& kernels = on(target->device).indexing;
  if (stays_on(target->device, value)) {
    static constexpr int64_t nothing[kMaxDims] = {};
    TensorPtr number = cast(value, target->dtype);
    return kernels.where(mask, number->view(target->ndim(), target->shape->sizes(), nothing), there, there);
  }
  Element element(number_in(value), target->dtype);
  WithoutLock unlocked(target->numel());
  kernels.masked_fill(there, mask, element.get());
}

/// What is read must not be what is written; one value under a mask is as masked_fill_().
void check_apart(const Tensor* target, const Indices& indices, const Tensor* values, bool accumulate) {
  auto given = [](const std::optional<Tensor*>& index) { return index.has_value(); };
  bool fills = !accumulate && values->numel() == 1 && std::ranges::count_if(indices, given) == 1;
  for (const std::optional<Tensor*>& index : indices)
    if (index) {
      fills = fills && (*index)->dtype == DType::Bool;
      check_overlap(target, *index, fills ? Allowed::Whole : Allowed::Nothing);
    }
  if (!fills) check_overlap(target, values, Allowed::Nothing);
}

/// What has no values cannot be written into what has.
void check_has_values(const Tensor* target, const Indices& indices, const Tensor* values) {
  if (target->device == DeviceType::Meta) return;
  auto on_meta = [](const std::optional<Tensor*>& index) { return index && (*index)->device == DeviceType::Meta; };
  if (values->device == DeviceType::Meta || std::ranges::any_of(indices, on_meta))
    fail(ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data! Move the tensor to the meta device too");
}

/// Indices may be in the program's memory, or on the device of what they index.
void check_devices(const char* op, const Tensor* target, const Indices& indices) {
  for (const auto& index : indices)
    if (index && (*index)->device != target->device && (*index)->device != DeviceType::Cpu)
      refuse_devices(op, (*index)->device, target->device);
}

/// A number on the CPU goes to any device, and other values are there.
TensorPtr values_on(Device device, Tensor* values) {
  if (values->device == device || device == DeviceType::Meta) return TensorPtr::borrow(values);
  if (values->ndim() > 0 || values->device != DeviceType::Cpu) refuse_devices("index_put", values->device, device);
  TensorPtr moved = empty(values->sizes(), values->dtype, device);
  copy_into(values, moved.get());
  return moved;
}

/// Indices on the device of what they index: torch takes those in the program's memory there.
class OnDevice {
 public:
  OnDevice(const Indices& given, Device device) : all_(&given) {
    if (device.type != DeviceType::Cuda) return;
    own_ = given;
    for (auto& index : own_) {
      if (!index || (*index)->device.type != DeviceType::Cpu) continue;
      moved_.push_back(empty((*index)->sizes(), (*index)->dtype, device));
      copy_into(*index, moved_.back().get());
      index = moved_.back().get();
    }
    all_ = &own_;
  }
  const Indices& all() const { return *all_; }

 private:
  const Indices* all_;
  Indices own_;
  std::vector<TensorPtr> moved_;
};

void write_indexed(Tensor* target, const Indices& given, Tensor* values, bool accumulate) {
  const OnDevice there(given, target->device);
  const Indices& indices = there.all();
  check_has_values(target, indices, values);
  check_devices("index_put", target, indices);
  check_index_types(indices);
  SingleMask single = single_mask(target, indices);
  if (single.mask && values->numel() == 1 && !accumulate) return fill_under_mask(target, single, values);
  if (values->dtype != target->dtype)
    fail("Index put requires the source and destination dtypes match, got ", info(target->dtype).legacy_name,
         " for the destination and ", info(values->dtype).legacy_name, " for the source.");
  const TensorPtr moved = values_on(target->device, values);
  values = moved.get();
  // How many places a mask without values chooses cannot be told, and nothing is written there.
  if (std::ranges::any_of(indices, [](const std::optional<Tensor*>& index) {
        return index && is_mask(*index) && (*index)->device == DeviceType::Meta;
      }))
    return;
  if (single.mask && !accumulate && single.mask->ndim() == target->ndim() && values->ndim() == 1 &&
      values->numel() == on(single.mask->device).indexing.count_nonzero(single.mask->view())) {
    TensorPtr mask = as_bool(single.mask);
    WithoutLock unlocked(target->numel());
    return on(target->device).indexing.masked_scatter(target->view(), mask->view(), values->view());
  }
  Plan plan(target, indices);
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

TensorPtr index(Tensor* input, const Indices& given) {
  check_devices("index", input, given);
  const OnDevice there(given, input->device);
  const Indices& indices = there.all();
  check_index_types(indices);
  SingleMask single = single_mask(input, indices);
  if (single.mask && single.mask->ndim() == input->ndim()) {
    TensorPtr mask = as_bool(single.mask);
    const int64_t count = on(mask->device).indexing.count_nonzero(mask->view());
    TensorPtr result = empty(std::array{count}, input->dtype, input->device);
    WithoutLock unlocked(input->numel());
    on(input->device).indexing.masked_select(input->view(), mask->view(), result->view());
    return result;
  }
  Plan plan(input, indices);
  TensorPtr result = empty(plan.sizes(), input->dtype, input->device);
  View source = plan.source(input);
  View out = plan.result(result.get(), result->shape->strides());
  WithoutLock unlocked(result->numel());
  on(input->device).indexing.index_get(source, plan.count(), plan.indices(), out);
  return result;
}

TensorPtr index_backward(Tensor* input, Ints size, const Indices& indices) {
  TensorPtr result = zeros(size, input->dtype, input->device);
  // Under a mask each place is read once: writing does what adding would.
  Tensor* mask = single_mask(result.get(), indices).mask;
  write_indexed(result.get(), indices, input, !mask || mask->dtype != DType::Bool);
  return result;
}

/// The same where sums are not computed in the type of `input`.
static void add_indexed_wide(Tensor* input, const Indices& indices, Tensor* values) {
  if (values->dtype != input->dtype)
    fail("Index put requires the source and destination dtypes match, got ", info(input->dtype).legacy_name,
         " for the destination and ", info(values->dtype).legacy_name, " for the source.");
  const DType wide = compute_type(input->dtype);
  TensorPtr sums = cast(input, wide);
  write_indexed(sums.get(), indices, cast(values, wide).get(), true);
  copy_into(sums.get(), input);
}

TensorPtr index_put(Tensor* input, const Indices& indices, Tensor* values, bool accumulate) {
  TensorPtr result = clone(input);
  if (accumulate && is_stored(input->dtype)) {
    add_indexed_wide(result.get(), indices, values);
  } else {
    write_indexed(result.get(), indices, values, accumulate);
  }
  return result;
}

void index_put_(Tensor* input, const Indices& indices, Tensor* values, bool accumulate) {
  check_apart(input, indices, values, accumulate);
  if (accumulate && is_stored(input->dtype)) return add_indexed_wide(input, indices, values);
  write_indexed(input, indices, values, accumulate);
}

}  // namespace adjoint::ops
