#include "ops/elementwise.h"

#include <algorithm>
#include <vector>

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/gather.h"
#include "ops/numbers.h"

namespace adjoint::ops {
namespace {

constexpr int64_t kPacked = 4096;  // longer work is split over threads

/// The type of a group of equal rank, if the group has any member.
struct Rank {
  bool any = false;
  DType dtype = DType::Bool;
  void add(DType other) {
    dtype = any ? promote(dtype, other) : other;
    any = true;
  }
};

DType combine(const Rank& higher, const Rank& lower) {
  if (!higher.any) return lower.dtype;
  if (!lower.any || category(higher.dtype) >= category(lower.dtype)) return higher.dtype;
  // A complex scalar keeps the precision of the float tensor that it meets.
  if (is_complex(lower.dtype) && is_float(higher.dtype)) return complex_type(higher.dtype);
  return lower.dtype;
}

/// The type of the first operand; others may be numbers or, but for the second, 0-d, and then of a higher category.
DType only_type(const Operand* operands, int n, const ElementwiseOptions& options) {
  DType dtype = operands[0].dtype;
  bool numbers = false;
  for (int i = 1; i < n; ++i) {
    const Operand& operand = operands[i];
    if (operand.is_number()) {
      Element(operand.number, dtype);
      numbers = true;
    } else if (operand.dtype != dtype && (i == 1 || operand.shape->ndim > 0)) {
      if (!options.words->mixed.empty()) fail(options.words->mixed);
      fail("expected dtype ", info(dtype).c_name, " for `", options.words->arguments[i], "` but got dtype ",
           info(operand.dtype).c_name, "; convert one with .to(dtype)");
    }
  }
  return numbers ? dtype : result_type(operands, n);
}

DType compute_type(const Operand* operands, int n, const ElementwiseOptions& options) {
  if (options.one_type) return only_type(operands, n, options);
  DType dtype = result_type(operands, n);
  return options.promote_float && is_integral(dtype) ? default_dtype() : dtype;
}

DType kernel_result(const Kernel& kernel, DType compute) {
  if (kernel.result == ResultKind::Bool) return DType::Bool;
  if (kernel.result == ResultKind::Real) return real_type(compute);
  return compute;
}

/// Integers cannot be divided by zero, nor raised to a negative number.
void check_integers(IntegerCheck check, DType compute, const Operand& last) {
  if (check == IntegerCheck::None || !is_integral(compute)) return;
  if (check == IntegerCheck::Exponent) {
    if (last.is_number() && last.number.to<int64_t>() < 0) fail("Integers to negative integer powers are not allowed.");
    return;
  }
  if (last.is_number()) {
    if (last.number.to<int64_t>() == 0) fail("ZeroDivisionError: an integer tensor is divided by 0");
    return;
  }
  on(last.device)
      .elementwise.refuse_zeros(last.view(), "ZeroDivisionError: an integer tensor is divided by a tensor with zeros");
}

/// Whether these operands, or the type in which they meet, are what the op refuses.
bool is_refused(const Refusal& refusal, DType compute, const Operand* operands, int n) {
  auto refused = [&](Category kind) { return refusal.categories >> static_cast<int>(kind) & 1; };
  if (refusal.of == Refusal::Of::Result) return refused(category(compute));
  bool any = false, all = true;
  for (int i = 0; i < n; ++i) {
    if (!(refusal.operands >> i & 1)) continue;
    const bool hit = refused(operands[i].is_number() ? operands[i].number.category : category(operands[i].dtype));
    any |= hit;
    all &= hit;
  }
  return refusal.of == Refusal::Of::Any ? any : all;
}

/// Torch names a loop by the device that it is for.
[[noreturn]] void fail_without_loop(const ElementwiseOptions& options, DType compute, const Operand* operands, int n) {
  std::string loop = options.words ? options.words->loop : options.name;
  const bool cuda =
      std::any_of(operands, operands + n, [](const Operand& each) { return each.device == DeviceType::Cuda; });
  if (cuda && loop.ends_with("_cpu")) loop.replace(loop.size() - 3, 3, "cuda");
  fail_not_implemented(loop.c_str(), compute);
}

/// Refuses what the op is not defined for.
void check_operands(const Kernel& kernel, const ElementwiseOptions& options, DType compute, const Operand* operands,
                    int n, int64_t numel) {
  if (options.words)
    for (const Refusal& refusal : options.words->refusals)
      if (is_refused(refusal, compute, operands, n)) fail(refusal.kind, refusal.text);
  const bool taken = !is_stored(compute) || options.stored >> static_cast<int>(compute) & 1;
  if (!taken || !kernel.loops[static_cast<int>(adjoint::compute_type(compute))])
    fail_without_loop(options, compute, operands, n);
  if (numel > 0 || options.check != IntegerCheck::Divisor) check_integers(options.check, compute, operands[n - 1]);
}

/// The parameters; where `compute` is a half type and rounds some of them, in `place`.
inline const Scalar* round_params(const Kernel& kernel, const ElementwiseOptions& options, DType compute, int n,
                                  const Scalar* params, Scalar* place) {
  uint32_t rounded = options.rounded >> n;
  if (!rounded || !is_half(compute)) [[likely]]
    return params;
  for (int i = 0; i < kernel.params; ++i) {
    place[i] = params[i];
    if (rounded >> i & 1) {
      float value = compute == DType::Float16 ? float{params[i].to<Half>()} : float{params[i].to<BFloat16>()};
      place[i] = Scalar::of(double{value});
    }
  }
  return place;
}

/// Runs the kernel over operands broadcast to `out`. Numbers become 0-d arrays of the compute type; where that is a
/// half type (or complex32) they are rounded only if they are among the `rounded`, because half types compute in
/// float32. So are 0-d tensors of other types, and all of them where the operands are not promoted.
void run(const Kernel& kernel, const ElementwiseOptions& options, DType compute, const View& out,
         const Operand* operands, int n, const Scalar* params) {
  bool half = is_half(compute) || compute == DType::Complex32;
  Scalar rounded[kernels::kMaxParams];
  params = round_params(kernel, options, compute, n, params, rounded);
  View inputs[kernels::kMaxInputs];
  int64_t strides[kernels::kMaxInputs][kMaxDims];
  alignas(16) char numbers[kernels::kMaxInputs][16];
  std::vector<TensorPtr> rounded_there;  // numbers of a device, which cannot write to this stack
  for (int i = 0; i < n; ++i) {
    const Operand& operand = operands[i];
    bool narrow = half && (options.rounded >> i & 1);
    if (operand.is_number()) {
      std::fill(strides[i], strides[i] + out.ndim, 0);
      DType dtype = half && !narrow ? adjoint::compute_type(compute) : compute;
      dispatch_any(dtype, [&](auto tag) {
        using T = decltype(tag);
        *reinterpret_cast<T*>(numbers[i]) = operand.number.to<T>();
      });
      inputs[i] = {numbers[i], dtype, out.ndim, out.sizes, strides[i]};
      continue;
    }
    inputs[i] = operand.view(out.ndim, out.sizes, strides[i]);
    broadcast_strides(operand.shape, {out.sizes, static_cast<size_t>(out.ndim)}, strides[i]);
    if ((narrow || (half && options.one_type)) && operand.shape->ndim == 0 && operand.dtype != compute) {
      const kernels::Memory& memory = on(operand.device).memory;
      if (operand.device == DeviceType::Cpu) {
        memory.copy(operand.view(), {numbers[i], compute, 0, nullptr, nullptr});
        inputs[i] = {numbers[i], compute, out.ndim, out.sizes, strides[i]};
      } else {
        rounded_there.push_back(empty(scalar_shape(), compute, operand.device));
        memory.copy(operand.view(), rounded_there.back()->view());
        inputs[i] = rounded_there.back()->view(out.ndim, out.sizes, strides[i]);
      }
    }
  }
  WithoutLock unlocked(out.numel());
  on(out.device).elementwise.run(kernel, compute, out, inputs, params);
}

/// The shape of a result whose operands all have the same sizes, if that alone tells its memory order.
ShapePtr common_shape(std::span<Shape* const> shapes) {
  Shape* first = shapes[0];
  bool alike = true;
  for (Shape* shape : shapes)
    alike &= shape == first || std::equal(first->strides(), first->strides() + first->ndim, shape->strides());
  if (std::ranges::all_of(shapes, &Shape::contiguous))
    return first->standard ? ShapePtr::borrow(first) : make_shape(first->size_span());
  if (std::ranges::all_of(shapes, [](const Shape* shape) { return lies_in(shape, MemoryFormat::ChannelsLast); }))
    return shape_in_format(first->size_span(), MemoryFormat::ChannelsLast);
  return alike && is_dense(first) ? ShapePtr::borrow(first) : ShapePtr();
}

/// The first tensor of operands that have the same shape and type and are contiguous, numbers among them: no promotion,
/// no broadcasting, straight into the loop. Null where that cannot be.
const Operand* packed_operand(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n) {
  const Operand* first = nullptr;
  int numbers = 0;
  bool wide = false;  // a number that half types do not round
  for (int i = 0; i < n; ++i) {
    const Operand& operand = operands[i];
    if (operand.is_number()) {
      wide |= !(options.rounded >> i & 1);
      ++numbers;
      continue;
    }
    if (!first) {
      first = &operand;
      if (!operand.shape->contiguous) return nullptr;
    } else if (operand.dtype != first->dtype || operand.device != first->device ||
               (operand.shape != first->shape &&
                !(operand.shape->contiguous && same_sizes(operand.shape, first->shape)))) {
      return nullptr;
    }
  }
  if (!first || (options.check != IntegerCheck::None && is_integral(first->dtype))) return nullptr;
  if (wide && is_half(first->dtype)) return nullptr;
  int64_t numel = first->shape->numel;
  if (!kernel.loops[static_cast<int>(first->dtype)] || numel > kPacked) return nullptr;
  if (numbers && (numel > kernels::kMaxSpread || numbers > kernels::kMaxNumbers)) return nullptr;
  for (int i = 0; numbers; ++i) {
    if (!operands[i].is_number()) continue;
    Category kind = operands[i].number.category;
    if (kind > category(first->dtype) || kind == Category::Bool) return nullptr;
    --numbers;
  }
  return first;
}

void run_packed(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n,
                const Scalar* params, DType compute, const Tensor& out) {
  Scalar rounded[kernels::kMaxParams];
  params = round_params(kernel, options, compute, n, params, rounded);
  on(out.device).elementwise.packed(kernel, compute, out, operands, n, params);
}

/// The device of the tensors among the operands. Numbers, and 0-d tensors on the CPU, go with any.
Device common_device(const ElementwiseOptions& options, const Operand* operands, int n) {
  const Operand* first = nullptr;
  for (int i = 0; i < n; ++i) {
    if (operands[i].is_number()) continue;
    bool rules = operands[i].shape->ndim > 0 || operands[i].device != DeviceType::Cpu;
    if (!first || (rules && first->shape->ndim == 0 && first->device == DeviceType::Cpu)) first = &operands[i];
  }
  if (!first) return {};
  for (int i = 0; i < n; ++i)
    if (!operands[i].is_number() && operands[i].device != first->device &&
        (operands[i].shape->ndim > 0 || operands[i].device != DeviceType::Cpu))
      refuse_devices(options.name, operands[i].device, first->device);
  return first->device;
}

}  // namespace

/// The type of a number; beside uint64 one beyond int64 is an integer, too.
static DType type_of_number(const Scalar& number, const Operand* operands, int n) {
  const bool whole = number.beyond && std::any_of(operands, operands + n, [](const Operand& operand) {
                       return !operand.is_number() && operand.dtype == DType::UInt64;
                     });
  return number_type(whole ? Category::Integer : number.category);
}

DType result_type(const Operand* operands, int n) {
  Rank dimensioned, scalars, numbers;
  for (int i = 0; i < n; ++i) {
    const Operand& operand = operands[i];
    if (operand.is_number()) {
      numbers.add(type_of_number(operand.number, operands, n));
    } else if (operand.shape->ndim == 0) {
      scalars.add(operand.dtype);
    } else {
      dimensioned.add(operand.dtype);
    }
  }
  Rank tensors;
  if (dimensioned.any || scalars.any) tensors.add(combine(dimensioned, scalars));
  return combine(tensors, numbers);
}

ShapePtr result_shape(const Operand* operands, int n, DType compute) {
  Shape* shapes[kernels::kMaxInputs];
  ShapePtr copies[kernels::kMaxInputs];
  size_t tensors = 0;
  bool same = true;
  for (int i = 0; i < n; ++i) {
    if (operands[i].is_number()) continue;
    Shape*& shape = shapes[tensors];
    shape = operands[i].shape;
    // torch copies an operand of another type first.
    if (operands[i].dtype != compute && !is_dense(shape)) {
      copies[tensors] = dense_shape(shape);
      shape = copies[tensors].get();
    }
    same = same && same_sizes(shape, shapes[0]);
    ++tensors;
  }
  if (tensors == 0) return scalar_shape();
  Shape* first = shapes[0];
  if (same && tensors == static_cast<size_t>(n)) {
    if (ShapePtr shape = common_shape({shapes, tensors})) return shape;
  }
  int64_t sizes[kMaxDims];
  int ndim = first->ndim;
  std::copy(first->sizes(), first->sizes() + ndim, sizes);
  for (size_t i = 1; i < tensors && !same; ++i)
    ndim = broadcast_sizes(std::span<const int64_t>(sizes, ndim), shapes[i]->size_span(), sizes);
  Sizes result(sizes, ndim);
  // The usual case, a bias or a number: the first operand has all sizes, and its strides leave nothing open.
  bool decides = first->standard && first->ndim == ndim && std::equal(sizes, sizes + ndim, first->sizes());
  if (decides && std::find(sizes, sizes + ndim, 1) == sizes + ndim) return ShapePtr::borrow(first);
  int64_t strides[kernels::kMaxInputs][kMaxDims], dense[kMaxDims];
  const int64_t* like[kernels::kMaxInputs];
  for (size_t i = 0; i < tensors; ++i) {
    broadcast_strides(shapes[i], result, strides[i]);
    like[i] = strides[i];
  }
  dense_strides_like(result, {like, tensors}, dense);
  return make_shape(result, {dense, static_cast<size_t>(ndim)});
}

void check_params(const ElementwiseOptions& options, const Operand* operands, int n, const Scalar* params, int count) {
  DType compute = compute_type(operands, n, options);
  for (int i = 0; i < count; ++i) {
    const Category kind = params[i].category;
    if (!(options.factors >> i & 1)) {
      Element(params[i], is_half(compute) ? DType::Float32 : compute);
      continue;
    }
    const std::string& name = options.words->arguments[n + i];
    if (kind == Category::Bool && compute != DType::Bool)
      fail("Boolean ", name, " only supported for Boolean results.");
    if (kind == Category::Float && is_integral(compute))
      fail("For integral input tensors, argument ", name, " must not be a floating point number.");
    if (kind == Category::Complex && !is_complex(compute))
      fail("For non-complex input tensors, argument ", name, " must not be a complex number.");
  }
}

DType check_alike(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n) {
  DType compute = compute_type(operands, n, options);
  check_operands(kernel, options, compute, operands, n, 1);
  return compute;
}

TensorPtr elementwise(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n,
                      const Scalar* params) {
  if (const Operand* first = packed_operand(kernel, options, operands, n)) {
    TensorPtr result =
        empty(first->shape->standard ? ShapePtr::borrow(first->shape) : result_shape(operands, n, first->dtype),
              kernel_result(kernel, first->dtype), first->device);
    run_packed(kernel, options, operands, n, params, first->dtype, *result);
    return result;
  }
  DType compute = compute_type(operands, n, options);
  ShapePtr shape = result_shape(operands, n, compute);
  check_operands(kernel, options, compute, operands, n, shape->numel);
  TensorPtr result = empty(std::move(shape), kernel_result(kernel, compute), common_device(options, operands, n));
  run(kernel, options, compute, result->view(), operands, n, params);
  return result;
}

void check_in_place_result(const Tensor* out, Sizes sizes, DType dtype) {
  const char* cure = "; use the out-of-place form of the operation";
  if (!std::ranges::equal(sizes, out->sizes()))
    fail("output with shape ", to_string(out->sizes()), " doesn't match the broadcast shape ", to_string(sizes), cure);
  if (category(dtype) > category(out->dtype))
    fail("result type ", info(dtype).legacy_name, " can't be cast to the desired output type ",
         info(out->dtype).legacy_name, cure);
}

void elementwise_into(const Kernel& kernel, const ElementwiseOptions& options, const Operand* operands, int n,
                      const Scalar* params, Tensor* out) {
  if (const Operand* first = packed_operand(kernel, options, operands, n);
      first && first->shape == out->shape && first->device == out->device &&
      kernel_result(kernel, first->dtype) == out->dtype)
    return run_packed(kernel, options, operands, n, params, first->dtype, *out);
  DType compute = compute_type(operands, n, options);
  ShapePtr shape = result_shape(operands, n, compute);
  if (kernel.result == ResultKind::Real && is_complex(out->dtype))
    fail("In-place ", options.name, " is not supported for complex tensors; use the out-of-place form");
  check_in_place_result(out, shape->size_span(), kernel_result(kernel, compute));
  if (Device device = common_device(options, operands, n); device != out->device)
    refuse_devices(options.name, device, out->device);
  check_operands(kernel, options, compute, operands, n, shape->numel);
  run(kernel, options, compute, out->view(), operands, n, params);
}

}  // namespace adjoint::ops

namespace adjoint {

void add_in_place(Tensor* target, const Tensor* other) {
  static const Kernel* add = on(DeviceType::Cpu).elementwise.kernel("add");
  int64_t strides[kMaxDims];
  broadcast_strides(other->shape, target->sizes(), strides);
  View inputs[2] = {target->view(), other->view(target->ndim(), target->shape->sizes(), strides)};
  Scalar one = Scalar::of(int64_t{1});
  on(target->device).elementwise.run(*add, target->dtype, target->view(), inputs, &one);
}

}  // namespace adjoint
