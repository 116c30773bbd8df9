#include "ops/attention.h"

#include <optional>

#include "core/batched.h"
#include "core/error.h"
#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

/// Itself if its rows are packed and do not overlap, as the kernels want them; else a copy.
TensorPtr with_rows(Tensor* tensor) {
  const bool packed = tensor->stride(3) == 1 && (tensor->size(2) == 1 || tensor->stride(2) >= tensor->size(3));
  return packed ? TensorPtr::borrow(tensor) : contiguous(tensor);
}

/// Whether the kernels want floats instead.
bool is_too_narrow(const View& query) {
  return is_half(query.dtype) && !on(query.device).attention.takes_halves(query);
}

/// A result like the query, with packed rows.
TensorPtr result_like(const Tensor* query) {
  ShapePtr shape = dense_shape(query->shape);
  if (shape->strides()[3] != 1) shape = make_shape(query->sizes());
  return empty(std::move(shape), query->dtype, query->device);
}

/// A gradient of this shape in which the heads of a row lie side by side, as those of most inputs do.
TensorPtr heads_inside(const Tensor* like) {
  const int64_t heads = like->size(1), rows = like->size(2), size = like->size(3);
  const int64_t strides[] = {heads * rows * size, size, heads * size, 1};
  return empty(make_shape(like->sizes(), Sizes(strides, 4)), like->dtype, like->device);
}

void check(const Tensor* query, const Tensor* key, const Tensor* value) {
  for (const Tensor* tensor : {query, key, value}) {
    bool fits = tensor->ndim() == 4 && tensor->dtype == query->dtype && tensor->numel() != 0;
    for (int d : {0, 1, 3}) fits = fits && tensor->size(d) == query->size(d);
    if (!fits || tensor->size(2) != (tensor == query ? query : key)->size(2) || !is_float(query->dtype) ||
        is_stored(query->dtype))
      fail("_attention: expected three tensors (batch, heads, rows, size) of one floating type; got shapes ",
           to_string(query->sizes()), ", ", to_string(key->sizes()), " and ", to_string(value->sizes()),
           "; use nn.functional.scaled_dot_product_attention");
  }
}

void check_draws(const Tensor* draws, double dropped) {
  if (draws->dtype != DType::Int64 || draws->numel() != 2 || !draws->contiguous() || !(dropped >= 0 && dropped <= 1))
    fail("_attention: expected two integers to draw from, and a probability; got ", to_string(draws->sizes()), " and ",
         dropped);
}

/// The mask and what draws, as kernels take them.
class Extras {
 public:
  Extras(const Tensor* query, const Tensor* key, std::optional<Tensor*> mask, double dropped,
         std::optional<Tensor*> draws)
      : dropped_(dropped) {
    if (!mask && !draws) return;
    if (!attention_takes_extras(query))
      fail("_attention: there is no mask and nothing dropped for ", to_string(query->device), " and heads of ",
           query->size(3), "; use nn.functional.scaled_dot_product_attention");
    if (mask) {
      const Tensor* words = *mask;
      const bool fits = words->ndim() == 4 && words->size(0) == query->size(0) && words->size(1) == query->size(1) &&
                        words->size(2) == query->size(2) && words->size(3) == key->size(2);
      const DType dtype = words->dtype;
      if (!fits || (dtype != DType::Bool && !is_float(dtype)) || is_stored(dtype))
        fail("_attention: expected a mask (batch, heads, rows, keys) of bools or floating numbers; got ",
             info(dtype).name, to_string(words->sizes()));
      mask_ = words->view();
    }
    if (draws) {
      check_draws(*draws, dropped);
      draws_ = (*draws)->view();
    }
  }
  Extras(const Extras&) = delete;
  Extras& operator=(const Extras&) = delete;

  kernels::AttentionInputs inputs(const Tensor* q, const Tensor* k, const Tensor* v, double scale, bool causal) const {
    return {q->view(), k->view(),
            v->view(), scale,
            causal,    mask_ ? &*mask_ : nullptr,
            dropped_,  draws_ ? &*draws_ : nullptr};
  }

 private:
  std::optional<View> mask_, draws_;
  double dropped_;
};

}  // namespace

bool attention_takes_extras(const Tensor* query) {
  const Device device = place_of(query->device);  // under vmap, of all the queries
  if (!device.holds_values() || query->ndim() != 4 || !is_float(query->dtype) || is_stored(query->dtype)) return false;
  View as_computed = query->view();
  as_computed.device = device;
  if (is_too_narrow(as_computed)) as_computed.dtype = DType::Float32;
  return on(device).attention.takes_extras(as_computed);
}

std::pair<TensorPtr, TensorPtr> attention(Tensor* query, Tensor* key, Tensor* value, std::optional<Tensor*> mask,
                                          double scale, bool is_causal, double dropped, std::optional<Tensor*> draws) {
  check(query, key, value);
  if (is_too_narrow(query->view())) {
    TensorPtr q = cast(query, DType::Float32), k = cast(key, DType::Float32), v = cast(value, DType::Float32);
    auto [out, logsumexp] = attention(q.get(), k.get(), v.get(), mask, scale, is_causal, dropped, draws);
    return {cast(out.get(), query->dtype), std::move(logsumexp)};
  }
  const Extras extras(query, key, mask, dropped, draws);
  TensorPtr q = with_rows(query), k = with_rows(key), v = with_rows(value);
  TensorPtr out = result_like(q.get());
  TensorPtr logsumexp = empty(query->sizes().first(3), compute_type(query->dtype), query->device);
  {
    WithoutLock unlocked(query->numel() * key->size(2));
    on(query->device)
        .attention.forward(extras.inputs(q.get(), k.get(), v.get(), scale, is_causal), out->view(), logsumexp->view());
  }
  return {std::move(out), std::move(logsumexp)};
}

std::tuple<TensorPtr, TensorPtr, TensorPtr> attention_gradients(Tensor* grad, Tensor* query, Tensor* key, Tensor* value,
                                                                Tensor* out, Tensor* logsumexp,
                                                                std::optional<Tensor*> mask, double scale,
                                                                bool is_causal, double dropped,
                                                                std::optional<Tensor*> draws) {
  check(query, key, value);
  if (is_too_narrow(query->view())) {
    TensorPtr wide[5];
    int i = 0;
    for (Tensor* tensor : {grad, query, key, value, out}) wide[i++] = cast(tensor, DType::Float32);
    auto [for_query, for_key, for_value] =
        attention_gradients(wide[0].get(), wide[1].get(), wide[2].get(), wide[3].get(), wide[4].get(), logsumexp, mask,
                            scale, is_causal, dropped, draws);
    return {cast(for_query.get(), query->dtype), cast(for_key.get(), query->dtype),
            cast(for_value.get(), query->dtype)};
  }
  const Extras extras(query, key, mask, dropped, draws);
  TensorPtr g = with_rows(grad), q = with_rows(query), k = with_rows(key), v = with_rows(value), o = with_rows(out);
  TensorPtr sums = contiguous(logsumexp);
  TensorPtr for_query = heads_inside(query), for_key = heads_inside(key), for_value = heads_inside(value);
  {
    WithoutLock unlocked(query->numel() * key->size(2));
    on(query->device)
        .attention.backward(extras.inputs(q.get(), k.get(), v.get(), scale, is_causal), g->view(), o->view(),
                            sums->view(), for_query->view(), for_key->view(), for_value->view());
  }
  return {std::move(for_query), std::move(for_key), std::move(for_value)};
}

TensorPtr attention_kept(Tensor* draws, Tensor* query, Tensor* key, double dropped) {
  check(query, key, key);
  check_draws(draws, dropped);
  const int64_t sizes[] = {query->size(0), query->size(1), query->size(2), key->size(2)};
  TensorPtr result = empty(Sizes(sizes, 4), compute_type(query->dtype), query->device);
  WithoutLock unlocked(result->numel());
  on(query->device).attention.kept(draws->view(), dropped, result->view());
  return result;
}

}  // namespace adjoint::ops
