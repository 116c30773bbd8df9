#include "cuda/reduce.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "cuda/launch.h"
#include "cuda/reduce_plan.h"
#include "cuda/segments.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

/// What the CPU refuses it refuses before it looks at an element.
const kernels::Reduce& refusals() { return on(DeviceType::Cpu).reduce; }

/// "Kind<a, b, c>".
std::string kind(const char* name, std::initializer_list<const char*> arguments) {
  std::string text = name;
  char before = '<';
  for (const char* argument : arguments) {
    text += before;
    text += argument;
    before = ',';
  }
  return text + ">";
}

void monoid(const char* name, const View& in, DType accumulate, const View& out, double number = 0) {
  Reduction reduction{
      .op = kind("Monoid", {name, device_type(in.dtype), device_type(accumulate), device_type(out.dtype)}),
      .in = &in,
      .outs = {&out, nullptr}};
  reduction.args.number = number;
  launch_reduction(reduction);
}

void any(const View& in, const View& out) {
  if (!can_reduce(in, out)) return through_cpu.reduce.any(in, out);
  monoid("Any", in, DType::Int32, out);
}
void all(const View& in, const View& out) {
  if (!can_reduce(in, out)) return through_cpu.reduce.all(in, out);
  monoid("All", in, DType::Int32, out);
}
void sum(const View& in, const View& out) {
  if (!can_reduce(in, out)) return through_cpu.reduce.sum(in, out);
  if (out.dtype == DType::Bool) return any(in, out);
  monoid("Add", in, sum_type(out.dtype), out);
}
void mean(const View& in, const View& out, double count) {
  if (!can_reduce(in, out)) return through_cpu.reduce.mean(in, out, count);
  monoid("Average", in, sum_type(out.dtype), out, count);
}
void nansum(const View& in, const View& out) {
  if (!is_float(in.dtype) || !is_float(out.dtype)) return refusals().nansum(in, out);
  if (!can_reduce(in, out)) return through_cpu.reduce.nansum(in, out);
  monoid("AddNumbers", in, sum_type(out.dtype), out);
}
void prod(const View& in, const View& out) {
  if (!can_reduce(in, out)) return through_cpu.reduce.prod(in, out);
  if (out.dtype == DType::Bool) return all(in, out);
  monoid("Multiply", in, sum_type(out.dtype), out);
}

// ---- Greatest and least elements

/// The type in which elements are compared: exact for every type it stands for.
DType ordered_type(DType dtype) {
  if (is_half(dtype)) return DType::Float32;
  return is_float(dtype) || dtype == DType::Int64 ? dtype : DType::Int32;
}
/// Whether there is nothing to compare, or nothing that can be.
bool is_refused(const View& in) { return is_complex(in.dtype) || in.numel() == 0; }

void extremes(const View& in, const View* low, const View* high) {
  const DType out = (low ? low : high)->dtype;
  Reduction reduction{.op = kind("Extremes", {device_type(in.dtype), device_type(ordered_type(in.dtype)),
                                              device_type(out), low ? "true" : "false", high ? "true" : "false"}),
                      .in = &in,
                      .outs = {low, high}};
  launch_reduction(reduction);
}
void amax(const View& in, const View& out) {
  if (is_refused(in)) return refusals().amax(in, out);
  if (!can_reduce(in, out)) return through_cpu.reduce.amax(in, out);
  extremes(in, nullptr, &out);
}
void amin(const View& in, const View& out) {
  if (is_refused(in)) return refusals().amin(in, out);
  if (!can_reduce(in, out)) return through_cpu.reduce.amin(in, out);
  extremes(in, &out, nullptr);
}
void aminmax(const View& in, const View& low, const View& high) {
  if (is_refused(in)) return refusals().aminmax(in, low, high);
  if (!can_reduce(in, low)) return through_cpu.reduce.aminmax(in, low, high);
  extremes(in, &low, &high);
}

template <bool most>
void locate(const View& in, const View* values, const View& indices) {
  Reduction reduction{.op = kind("Locate", {device_type(in.dtype), device_type(ordered_type(in.dtype)),
                                            values ? device_type(values->dtype) : "int64_t", most ? "true" : "false"}),
                      .in = &in,
                      .outs = {values, &indices}};
  launch_reduction(reduction);
}
void argmax(const View& in, const View& out, int dim) {
  if (is_refused(in)) return refusals().argmax(in, out, dim);
  if (!can_reduce(in, out)) return through_cpu.reduce.argmax(in, out, dim);
  locate<true>(in, nullptr, out);
}
void argmin(const View& in, const View& out, int dim) {
  if (is_refused(in)) return refusals().argmin(in, out, dim);
  if (!can_reduce(in, out)) return through_cpu.reduce.argmin(in, out, dim);
  locate<false>(in, nullptr, out);
}
void max_with_index(const View& in, const View& values, const View& indices, int dim) {
  if (is_refused(in)) return refusals().max_with_index(in, values, indices, dim);
  if (!can_reduce(in, values)) return through_cpu.reduce.max_with_index(in, values, indices, dim);
  locate<true>(in, &values, indices);
}
void min_with_index(const View& in, const View& values, const View& indices, int dim) {
  if (is_refused(in)) return refusals().min_with_index(in, values, indices, dim);
  if (!can_reduce(in, values)) return through_cpu.reduce.min_with_index(in, values, indices, dim);
  locate<false>(in, &values, indices);
}

// ---- Moments, norms

DType real_accumulator(DType in) { return is_half(in) || in == DType::Float32 ? DType::Float32 : DType::Float64; }

void real_var(const View& in, const View& out, double correction, bool root, const View* mean, bool adds) {
  Reduction reduction{
      .op = kind("Variance", {device_type(in.dtype), device_type(real_accumulator(in.dtype)), device_type(out.dtype),
                              device_type(mean ? mean->dtype : out.dtype), root ? "true" : "false"}),
      .in = &in,
      .outs = {&out, mean}};
  reduction.args.number = correction;
  reduction.args.adds = adds;
  launch_reduction(reduction);
}

/// The real or imaginary part of a complex view.
struct Part {
  int64_t strides[kMaxDims];
  View view;

  Part(const View& whole, int part) : view(whole) {
    view.dtype = real_type(whole.dtype);
    view.data += part * itemsize(view.dtype);
    for (int d = 0; d < whole.ndim; ++d) strides[d] = 2 * whole.strides[d];
    view.strides = strides;
  }
};

void var(const View& in, const View& out, double correction, bool root, const View* mean) {
  const bool fits = is_float(out.dtype) && (!mean || is_complex(in.dtype) == is_complex(mean->dtype));
  if (!fits) return refusals().var(in, out, correction, root, mean);
  if (!can_reduce(in, out)) return through_cpu.reduce.var(in, out, correction, root, mean);
  if (!is_complex(in.dtype)) return real_var(in, out, correction, root, mean, false);
  for (int part = 0; part < 2; ++part) {
    const Part source(in, part);
    if (mean) {
      const Part its_mean(*mean, part);
      real_var(source.view, out, correction, root && part == 1, &its_mean.view, part == 1);
    } else {
      real_var(source.view, out, correction, root && part == 1, nullptr, part == 1);
    }
  }
}

void norm(const View& in, const View& out, double p) {
  const bool is_extreme = p < 0 || std::isinf(p);
  if (!is_float(out.dtype) || (is_extreme && in.numel() == 0 && out.numel() > 0)) return refusals().norm(in, out, p);
  if (!can_reduce(in, out)) return through_cpu.reduce.norm(in, out, p);
  const DType plain = real_accumulator(in.dtype);
  if (std::isinf(p)) return monoid(p > 0 ? "GreatestSize" : "LeastSize", in, plain, out);
  if (p == 1) return monoid("AddSizes", in, plain, out);
  // Squares of large floats must not overflow, and floats cannot count beyond 2^24.
  monoid(p == 0 ? "Count" : p == 2 ? "Squares" : "Powers", in, DType::Float64, out, p);
}

void logsumexp(const View& in, const View& out) {
  if (!is_float(out.dtype) || is_complex(in.dtype)) return refusals().logsumexp(in, out);
  if (!can_reduce(in, out)) return through_cpu.reduce.logsumexp(in, out);
  Reduction reduction{
      .op = kind("LogSumExp", {device_type(in.dtype), device_type(sum_type(out.dtype)), device_type(out.dtype)}),
      .in = &in,
      .outs = {&out, nullptr}};
  launch_reduction(reduction);
}

void drop_nans(const View& values) {
  ValuesArgs args{values.data, values.numel()};
  launch(
      values.device,
      "#include \"segments.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\nADJOINT_KERNEL(ValuesArgs, " +
          std::to_string(kThreads) + ") { drop_nans<" + device_type(values.dtype) + ">(args); }\n",
      args, blocks_for(args.n));
}

}  // namespace

void set_reduce(kernels::Reduce& table) {
  table.sum = sum;
  table.mean = mean;
  table.nansum = nansum;
  table.prod = prod;
  table.amax = amax;
  table.amin = amin;
  table.aminmax = aminmax;
  table.any = any;
  table.all = all;
  table.argmax = argmax;
  table.argmin = argmin;
  table.max_with_index = max_with_index;
  table.min_with_index = min_with_index;
  table.var = var;
  table.norm = norm;
  table.logsumexp = logsumexp;
  table.segments = segments;
  table.drop_nans = drop_nans;
}

}  // namespace adjoint::cuda
