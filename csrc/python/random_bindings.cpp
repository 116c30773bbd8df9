// Random tensors: the functions that make them and the fills in place.
#include "python/random_bindings.h"

#include <algorithm>

#include "core/lock.h"
#include "core/mode.h"
#include "cpu/copy.h"
#include "cpu/elementwise.h"
#include "op/op.h"
#include "ops/elementwise.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/error_node.h"
#include "python/interop.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

// ---- History

/// A random fill forgets the values before it, hence their gradient is zero.
class ForgetKind final : public NodeKind {
 public:
  explicit ForgetKind(const char* name) : NodeKind(name) {}

  void apply(Node& node, TensorPtr*, TensorPtr* edges, const ApplyContext& context) const override {
    for (uint32_t i = 0; i < node.n_edges; ++i) {
      if (!context.wanted[i]) continue;
      const OutputMeta& meta = node.outputs()[0];
      edges[i] = zeros(meta.shape->size_span(), meta.dtype, meta.device);
    }
  }
  void release_saved(Node&) const override {}
};

/// The node of a result that depends on its operands only in form; null when nothing is to be recorded.
NodePtr forget(const ForgetKind& kind, std::initializer_list<Tensor*> operands) {
  bool any =
      std::any_of(operands.begin(), operands.end(), [](Tensor* operand) { return operand && requires_grad(operand); });
  if (!any || !recording()) return {};
  NodePtr node = make_node(kind, 1, static_cast<uint32_t>(operands.size()), 0);
  uint32_t i = 0;
  for (Tensor* operand : operands) {
    if (operand) set_edge(*node, i, operand);
    ++i;
  }
  return node;
}

// ---- Filling

/// The dimensions from the outermost in memory to the innermost: the order in which torch fills.
struct MemoryOrder {
  explicit MemoryOrder(const Tensor* tensor) : ndim(tensor->ndim()) {
    int order[kMaxDims];
    for (int i = 0; i < ndim; ++i) order[i] = i;
    if (!tensor->contiguous())
      std::stable_sort(order, order + ndim, [&](int a, int b) { return tensor->stride(a) > tensor->stride(b); });
    for (int i = 0; i < ndim; ++i) {
      dims[i] = order[i];
      sizes[i] = tensor->size(order[i]);
      strides[i] = tensor->stride(order[i]);
    }
  }
  View view(char* data, DType dtype) const { return {data, dtype, ndim, sizes, strides}; }

  int ndim;
  int dims[kMaxDims];
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];
};

/// Runs fill(data, n) on memory in the order of the tensor's elements in memory.
template <class Fill>
void fill_in_order(Tensor* tensor, Fill fill) {
  int64_t n = tensor->numel();
  if (tensor->device == DeviceType::Meta) return;
  if (is_dense(tensor->shape)) {
    WithoutLock unlocked(n);
    fill(tensor->data, n);
    return;
  }
  TensorPtr packed = empty({&n, 1}, tensor->dtype, tensor->device);
  MemoryOrder order(tensor);
  ShapePtr shape = make_shape({order.sizes, static_cast<size_t>(order.ndim)});
  WithoutLock unlocked(n);
  fill(packed->data, n);
  cpu::copy({packed->data, tensor->dtype, order.ndim, shape->sizes(), shape->strides()},
            order.view(tensor->data, tensor->dtype));
}

NormalStream normal_stream(const Tensor* tensor) {
  return tensor->contiguous() ? NormalStream::Blocks : NormalStream::Elementwise;
}

void fill_normal(Tensor* tensor, Generator& generator, double mean, double std) {
  if (tensor->numel() == 0 && std >= 0) return;  // torch does not look at the type then
  fill_in_order(tensor, [&](void* data, int64_t n) {
    adjoint::fill_normal(generator, tensor->dtype, data, n, mean, std, normal_stream(tensor));
  });
}

void fill_uniform(Tensor* tensor, Generator& generator, double low, double high) {
  fill_in_order(tensor,
                [&](void* data, int64_t n) { adjoint::fill_uniform(generator, tensor->dtype, data, n, low, high); });
}

void fill_whole(Tensor* tensor, Generator& generator, int64_t low, int64_t high) {
  fill_in_order(tensor, [&](void* data, int64_t n) { fill_randint(generator, tensor->dtype, data, n, low, high); });
}

/// Ones with the probabilities of `p`, which broadcasts to the tensor.
void fill_bernoulli_tensor(Tensor* tensor, Generator& generator, Tensor* p) {
  if (p->device == DeviceType::Meta) fail("bernoulli: the probabilities are on the meta device, which holds no values");
  int64_t sizes[kMaxDims], strides[kMaxDims];
  bool expands = p->ndim() <= tensor->ndim();
  if (expands) {
    int n = broadcast_sizes(tensor->sizes(), p->sizes(), sizes);
    expands = std::equal(sizes, sizes + n, tensor->sizes().begin());
  }
  if (!expands)
    fail("The expanded size of the tensor must match the existing size; probabilities of shape ", to_string(p->sizes()),
         " do not broadcast to ", to_string(tensor->sizes()));
  broadcast_strides(p->shape, tensor->sizes(), strides);
  MemoryOrder order(tensor);
  int64_t ordered[kMaxDims];
  for (int i = 0; i < order.ndim; ++i) ordered[i] = strides[order.dims[i]];
  TensorPtr packed = empty(make_shape({order.sizes, static_cast<size_t>(order.ndim)}), p->dtype, p->device);
  cpu::copy({p->data, p->dtype, order.ndim, order.sizes, ordered}, packed->view());
  fill_in_order(tensor, [&](void* data, int64_t n) {
    fill_bernoulli(generator, tensor->dtype, data, n, p->dtype, packed->data);
  });
}

/// target *= other, broadcast; `add_in_place` of the tape is its sister.
void multiply_in_place(Tensor* target, const Tensor* other) {
  static const Kernel* mul = find_kernel("mul");
  int64_t strides[kMaxDims];
  broadcast_strides(other->shape, target->sizes(), strides);
  View inputs[2] = {target->view(), {other->data, other->dtype, target->ndim(), target->shape->sizes(), strides}};
  cpu::elementwise(*mul, target->dtype, target->view(), inputs, nullptr);
}

// ---- Methods

/// Changes self by `fill`, as an in-place op of this name does.
template <class Fill>
PyObject* change(PyObject* self, const char* name, const ForgetKind& kind, Fill fill) {
  Tensor* tensor = as_tensor(self);
  check_inplace(tensor, name, requires_grad(tensor));
  check_writable(tensor);
  NodePtr node = forget(kind, {tensor});
  fill(tensor);
  bump_version(tensor, name);
  if (node) {
    set_output_meta(*node, 0, tensor);
    rebase_history(tensor, node.get());
  }
  return Py_NewRef(self);
}

PyObject* method_uniform(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("uniform_", {"from", "to"}, 0, {"generator"});
  static const ForgetKind kind("UniformBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[2]);
    double low = call.real(0, 0), high = call.real(1, 1);
    return change(self, "uniform_", kind, [&](Tensor* tensor) { fill_uniform(tensor, generator, low, high); });
  });
}

PyObject* method_normal(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("normal_", {"mean", "std"}, 0, {"generator"});
  static const ForgetKind kind("NormalBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[2]);
    double mean = call.real(0, 0), std = call.real(1, 1);
    return change(self, "normal_", kind, [&](Tensor* tensor) { fill_normal(tensor, generator, mean, std); });
  });
}

/// random_(), random_(to), random_(from, to): to may be None.
PyObject* method_random(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("random_", {"from", "to"}, 0, {"generator"});
  static const ForgetKind full("RandomBackward2"), bounded("RandomBackward1"), ranged("RandomBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[2]);
    if (nargs == 1 && !call[1]) call.move(0, 1);  // random_(to)
    if (!call[0] && !call[1])
      return change(self, "random_", full, [&](Tensor* tensor) {
        fill_in_order(tensor, [&](void* data, int64_t n) { fill_random_full(generator, tensor->dtype, data, n); });
      });
    if (call[0] && !call[1]) call.require(1);
    int64_t low = call[0] ? call.integer(0) : 0;
    if (call[0] && call[1] == Py_None)
      return change(self, "random_", ranged, [&](Tensor* tensor) {
        fill_in_order(tensor, [&](void* data, int64_t n) { fill_random_from(generator, tensor->dtype, data, n, low); });
      });
    int64_t high = call.integer(1);
    return change(self, "random_", call[0] ? ranged : bounded,
                  [&](Tensor* tensor) { fill_whole(tensor, generator, low, high); });
  });
}

PyObject* method_bernoulli(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("bernoulli_", {"p"}, 0, {"generator"});
  static const ForgetKind of_number("BernoulliBackward2"), of_tensor("BernoulliBackward1");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[1]);
    if (call[0] && is_tensor(call[0]))
      return change(self, "bernoulli_", of_tensor,
                    [&](Tensor* tensor) { fill_bernoulli_tensor(tensor, generator, call.tensor(0)); });
    double p = call.real(0, 0.5);
    return change(self, "bernoulli_", of_number, [&](Tensor* tensor) {
      fill_in_order(tensor, [&](void* data, int64_t n) { fill_bernoulli(generator, tensor->dtype, data, n, p); });
    });
  });
}

PyObject* method_exponential(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("exponential_", {"lambd"}, 0, {"generator"});
  static const ForgetKind kind("ExponentialBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[1]);
    double lambda = call.real(0, 1);
    return change(self, "exponential_", kind, [&](Tensor* tensor) {
      fill_in_order(tensor,
                    [&](void* data, int64_t n) { fill_exponential(generator, tensor->dtype, data, n, lambda); });
    });
  });
}

PyObject* method_geometric(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("geometric_", {"p"}, 1, {"generator"});
  static const ForgetKind kind("GeometricBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[1]);
    double p = call.real(0, 0);
    return change(self, "geometric_", kind, [&](Tensor* tensor) {
      fill_in_order(tensor, [&](void* data, int64_t n) { fill_geometric(generator, tensor->dtype, data, n, p); });
    });
  });
}

PyObject* method_log_normal(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("log_normal_", {"mean", "std"}, 0, {"generator"});
  static const ForgetKind kind("LogNormalBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[2]);
    double mean = call.real(0, 1), std = call.real(1, 2);
    return change(self, "log_normal_", kind, [&](Tensor* tensor) {
      fill_in_order(tensor,
                    [&](void* data, int64_t n) { fill_log_normal(generator, tensor->dtype, data, n, mean, std); });
    });
  });
}

PyObject* method_cauchy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("cauchy_", {"median", "sigma"}, 0, {"generator"});
  static const ForgetKind kind("CauchyBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[2]);
    double median = call.real(0, 0), sigma = call.real(1, 1);
    return change(self, "cauchy_", kind, [&](Tensor* tensor) {
      fill_in_order(tensor,
                    [&](void* data, int64_t n) { fill_cauchy(generator, tensor->dtype, data, n, median, sigma); });
    });
  });
}

// ---- Functions

/// A new tensor of these sizes, filled by `fill`; or out=, given its values.
template <class Fill>
Object make_random(const Call& call, Tensor* out, const Options& options, ShapePtr shape, DType fallback, Fill fill) {
  DType dtype = options.dtype.value_or(fallback);
  check_requires_grad(dtype, options.requires_grad);
  if (out) check_writable(out);
  // Numbers are drawn in the order of memory.
  if (out && same_sizes(out->shape, shape.get())) shape = dense_shape(out->shape);
  TensorPtr result = empty(std::move(shape), dtype, options.place());
  fill(result.get());
  return out ? into_out(call.name(), out, result.get(), options) : finish(std::move(result), options);
}

PyObject* py_rand(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("rand", {"*size"}, 1, {"generator", "out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 2, options);
    Generator& generator = to_generator(call[1]);
    return make_random(call, out, options, make_shape(call.sizes(0)), default_dtype(),
                       [&](Tensor* t) { fill_uniform(t, generator, 0, 1); })
        .take();
  });
}

PyObject* py_randn(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("randn", {"*size"}, 1, {"generator", "out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 2, options);
    Generator& generator = to_generator(call[1]);
    return make_random(call, out, options, make_shape(call.sizes(0)), default_dtype(),
                       [&](Tensor* t) { fill_normal(t, generator, 0, 1); })
        .take();
  });
}

/// randint(high, size) and randint(low, high, size).
PyObject* py_randint(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("randint", {"low", "high", "size"}, 0, {"generator", "out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    if (nargs == 2 && call[1] && !call[2]) {
      call.move(1, 2);
      call.move(0, 1);
    } else if (nargs == 1 && !call[1]) {
      call.move(0, 1);
    }
    call.require(1);
    call.require(2);
    Options options = call.options();
    Tensor* out = read_out(call, 4, options);
    Generator& generator = to_generator(call[3]);
    int64_t low = call[0] ? call.integer(0) : 0, high = call.integer(1);
    return make_random(call, out, options, make_shape(call.sizes(2)), DType::Int64,
                       [&](Tensor* t) { fill_whole(t, generator, low, high); })
        .take();
  });
}

/// Slots: input, generator, memory_format.
template <class Fill>
PyObject* random_like(const Call& call, int memory_format, Fill fill) {
  Tensor* input = call.tensor(0);
  Options options = call.options();
  options.device = options.place(input);
  return make_random(call, nullptr, options, shape_like(input, call.memory_format(memory_format)), input->dtype, fill)
      .take();
}

PyObject* py_rand_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("rand_like", {"input"}, 1, {"generator", "memory_format"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[1]);
    return random_like(call, 2, [&](Tensor* t) { fill_uniform(t, generator, 0, 1); });
  });
}
PyObject* py_randn_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("randn_like", {"input"}, 1, {"generator", "memory_format"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Generator& generator = to_generator(call[1]);
    return random_like(call, 2, [&](Tensor* t) { fill_normal(t, generator, 0, 1); });
  });
}
/// randint_like(input, high) and randint_like(input, low, high).
PyObject* py_randint_like(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("randint_like", {"input", "low", "high"}, 1, {"generator", "memory_format"},
                                   kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    if (nargs == 2 && !call[2]) call.move(1, 2);
    call.require(2);
    Generator& generator = to_generator(call[3]);
    int64_t low = call[1] ? call.integer(1) : 0, high = call.integer(2);
    return random_like(call, 4, [&](Tensor* t) { fill_whole(t, generator, low, high); });
  });
}

PyObject* py_randperm(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("randperm", {"n"}, 1, {"generator", "out"}, kAllOptions);
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 2, options);
    Generator& generator = to_generator(call[1]);
    int64_t n = call.integer(0);
    DType dtype = options.dtype.value_or(DType::Int64);
    ShapePtr shape = make_shape({&n, 1});
    if (dtype == DType::Bool || is_complex(dtype)) fail_not_implemented("randperm", dtype);
    if (dtype == DType::Float16 && n > 2049) fail("n cannot be greater than 2049 for Half type.");
    if (dtype == DType::BFloat16 && n > 257) fail("n cannot be greater than 257 for BFloat16 type.");
    if (dtype == DType::Float32 && n > (int64_t{1} << 24) + 1) fail("n cannot be greater than 2^24+1 for Float type.");
    if (is_integral(dtype)) check_fits(Scalar::of(n), dtype);
    auto fill = [&](Tensor* tensor) {
      if (tensor->device == DeviceType::Meta) return;
      TensorPtr order =
          tensor->dtype == DType::Int64 ? TensorPtr::borrow(tensor) : empty({&n, 1}, DType::Int64, tensor->device);
      WithoutLock unlocked(n);
      randperm(generator, order->as<int64_t>(), n);
      if (order.get() != tensor) cpu::copy(order->view(), tensor->view());
    };
    return make_random(call, out, options, std::move(shape), DType::Int64, fill).take();
  });
}

/// Throws unless every standard deviation is 0 or more (or nan).
void check_deviations(const Tensor* std) {
  if (is_complex(std->dtype)) fail("normal expects standard deviation to be non-complex");
  TensorPtr values = cast(const_cast<Tensor*>(std), DType::Float64);
  TensorPtr packed = contiguous(values.get());
  const double* data = packed->as<double>();
  if (std::any_of(data, data + packed->numel(), [](double value) { return value < 0; }))
    fail("normal expects all elements of std >= 0.0");
}

/// Normal numbers whose mean or deviation (or both) are tensors.
TensorPtr normal_of(const Call& call, Generator& generator, Tensor* mean, Tensor* std, double mean_value,
                    double std_value, DType dtype) {
  int64_t sizes[kMaxDims];
  Sizes of_mean = mean ? mean->sizes() : Sizes(), of_std = std ? std->sizes() : Sizes();
  for (Tensor* tensor : {mean, std})
    if (tensor && tensor->device == DeviceType::Meta)
      fail(call.name(), "(): a tensor on the meta device holds no values");
  auto ndim = static_cast<size_t>(broadcast_sizes(of_mean, of_std, sizes));
  if (std) check_deviations(std);
  if (mean && is_complex(mean->dtype) && !is_complex(dtype))
    fail("result type ", info(mean->dtype).legacy_name, " can't be cast to the desired output type ",
         info(dtype).legacy_name, "; give normal() an out= of the mean's type");
  TensorPtr result = empty({sizes, ndim}, dtype, mean ? mean->device : std->device);
  if (std) {
    fill_normal(result.get(), generator, 0, 1);
    multiply_in_place(result.get(), std);
    if (!mean && mean_value != 0) add_in_place(result.get(), scalar_tensor(mean_value, real_type(dtype)).get());
  } else {
    fill_normal(result.get(), generator, 0, std_value);
  }
  if (mean) add_in_place(result.get(), mean);
  return result;
}

/// normal(mean, std) with tensors, normal(mean, std, size) with numbers.
PyObject* py_normal(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("normal", {"mean", "std", "size"}, 1, {"generator", "out"}, kAllOptions);
  static const ForgetKind of_mean("NormalBackward1"), of_std("NormalBackward2"), of_both("NormalBackward3");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Options options = call.options();
    Tensor* out = read_out(call, 4, options);
    Generator& generator = to_generator(call[3]);
    // With sizes, tensors without dimensions are numbers.
    Tensor* mean = !call[2] && is_tensor(call[0]) ? call.tensor(0) : nullptr;
    Tensor* std = !call[2] && call[1] && is_tensor(call[1]) ? call.tensor(1) : nullptr;
    double mean_value = mean ? 0 : call.real(0, 0), std_value = std ? 1 : call.real(1, 1);
    if (!mean && !std) {
      call.require(1);
      call.require(2);
      auto fill = [&](Tensor* t) { fill_normal(t, generator, mean_value, std_value); };
      return make_random(call, out, options, make_shape(call.sizes(2)), default_dtype(), fill).take();
    }
    for (int i = 0; out && i < 2; ++i)
      if (call[i]) refuse_out("normal", call[i]);
    DType dtype = (out ? out : mean ? mean : std)->dtype;
    TensorPtr result = normal_of(call, generator, mean, std, mean_value, std_value, dtype);
    if (out) return into_out(call.name(), out, result.get(), options).take();
    if (NodePtr node = forget(mean && std ? of_both : mean ? of_mean : of_std, {mean, std}))
      set_history(result.get(), node.get(), 0);
    return finish(std::move(result), Options()).take();
  });
}

PyObject* py_bernoulli(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("bernoulli", {"input", "p"}, 1, {"generator", "out"});
  static const ForgetKind kind("BernoulliBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Tensor* input = call.tensor(0);
    Generator& generator = to_generator(call[2]);
    Options options;
    Tensor* out = read_out(call, 3, options);
    auto fill = [&](Tensor* tensor) {
      if (!call.has(1)) return fill_bernoulli_tensor(tensor, generator, input);
      double p = call.real(1, 0.5);
      fill_in_order(tensor, [&](void* data, int64_t n) { fill_bernoulli(generator, tensor->dtype, data, n, p); });
    };
    options.device = options.place(input);
    NodePtr node = out ? NodePtr() : forget(kind, {input});
    Object result = make_random(call, out, options, make_shape(input->sizes()), input->dtype, fill);
    if (node) set_history(as_tensor(result.get()), node.get(), 0);
    return result.take();
  });
}

/// The values of a tensor, broadcast to these sizes, as packed doubles of their own.
TensorPtr doubles(Tensor* tensor, Sizes sizes) {
  int64_t strides[kMaxDims];
  broadcast_strides(tensor->shape, sizes, strides);
  TensorPtr result = empty(sizes, DType::Float64, tensor->device);
  cpu::copy({tensor->data, tensor->dtype, static_cast<int>(sizes.size()), sizes.data(), strides}, result->view());
  return result;
}

PyObject* py_poisson(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("poisson", {"input", "generator"}, 1, {});
  static const ForgetKind kind("PoissonBackward0");
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Tensor* input = call.tensor(0);
    Generator& generator = to_generator(call[1]);
    if (!is_float(input->dtype)) fail_not_implemented("poisson_cpu", input->dtype);
    TensorPtr result = empty(make_shape(input->sizes()), input->dtype, input->device);
    if (input->device != DeviceType::Meta) {
      TensorPtr counts = doubles(input, input->sizes());
      fill_poisson(generator, counts->as<double>(), counts->numel());
      cpu::copy(counts->view(), result->view());
    }
    if (NodePtr node = forget(kind, {input})) set_history(result.get(), node.get(), 0);
    return finish(std::move(result), Options()).take();
  });
}

PyObject* py_binomial(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const Signature signature("binomial", {"count", "prob", "generator"}, 2, {});
  return guarded([&] {
    Call call(signature, args, nargs, kwnames);
    Tensor *count = call.tensor(0), *prob = call.tensor(1);
    Generator& generator = to_generator(call[2]);
    for (Tensor* operand : {count, prob}) {
      if (!is_float(operand->dtype))
        fail(ErrorKind::Value, "binomial only supports floating-point dtypes for ", operand == count ? "count" : "prob",
             ", got: ", info(operand->dtype).legacy_name, "; convert it first");
      if (operand->device == DeviceType::Meta) fail("binomial(): a tensor on the meta device holds no values");
    }
    if (count->dtype != prob->dtype)
      fail("Found dtype ", info(prob->dtype).legacy_name, " but expected ", info(count->dtype).legacy_name,
           "; convert prob to the type of count");
    int64_t sizes[kMaxDims];
    auto ndim = static_cast<size_t>(broadcast_sizes(count->sizes(), prob->sizes(), sizes));
    TensorPtr counts = doubles(count, {sizes, ndim}), chances = doubles(prob, {sizes, ndim});
    fill_binomial(generator, counts->as<double>(), chances->as<double>(), counts->numel());
    TensorPtr result = cast(counts.get(), count->dtype);
    if (recording() && (requires_grad(count) || requires_grad(prob))) {
      const char* message = "derivative for aten::binomial is not implemented; detach() count and prob";
      NodePtr node = make_error_node(checked(PyUnicode_FromString(message)).get(), 1, 0);
      set_history(result.get(), node.get(), 0);
    }
    return finish(std::move(result), Options()).take();
  });
}

/// bernoulli(p=None) as a method.
PyObject* method_bernoulli_copy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + total);
  return py_bernoulli(nullptr, all.data(), nargs + 1, kwnames);
}

PyMethodDef functions[] = {
    {"rand", keyword_function(py_rand), kKeywordCall, "rand(*size): uniform numbers from [0, 1)."},
    {"randn", keyword_function(py_randn), kKeywordCall, "randn(*size): standard normal numbers."},
    {"randint", keyword_function(py_randint), kKeywordCall,
     "randint(low=0, high, size): whole numbers from [low, high)."},
    {"randperm", keyword_function(py_randperm), kKeywordCall, "randperm(n): a random permutation of 0 ... n - 1."},
    {"rand_like", keyword_function(py_rand_like), kKeywordCall,
     "rand_like(input): rand of the input's shape and type."},
    {"randn_like", keyword_function(py_randn_like), kKeywordCall,
     "randn_like(input): randn of the input's shape and type."},
    {"randint_like", keyword_function(py_randint_like), kKeywordCall,
     "randint_like(input, low=0, high): randint of the input's shape and type."},
    {"normal", keyword_function(py_normal), kKeywordCall, "normal(mean, std, size=None): normal numbers."},
    {"bernoulli", keyword_function(py_bernoulli), kKeywordCall,
     "bernoulli(input, p=None): ones with the probabilities of input, or with probability p."},
    {"poisson", keyword_function(py_poisson), kKeywordCall, "poisson(input): counts of events with these rates."},
    {"binomial", keyword_function(py_binomial), kKeywordCall,
     "binomial(count, prob): successes in so many trials with these probabilities."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef random_methods[] = {
    {"uniform_", keyword_function(method_uniform), kKeywordCall, "uniform_(from=0, to=1): uniform numbers in place."},
    {"normal_", keyword_function(method_normal), kKeywordCall, "normal_(mean=0, std=1): normal numbers in place."},
    {"random_", keyword_function(method_random), kKeywordCall, "random_(from=0, to=None): whole numbers in place."},
    {"bernoulli_", keyword_function(method_bernoulli), kKeywordCall,
     "bernoulli_(p=0.5): ones with probability p, else zeros, in place."},
    {"exponential_", keyword_function(method_exponential), kKeywordCall,
     "exponential_(lambd=1): exponential numbers in place."},
    {"geometric_", keyword_function(method_geometric), kKeywordCall, "geometric_(p): geometric numbers in place."},
    {"log_normal_", keyword_function(method_log_normal), kKeywordCall,
     "log_normal_(mean=1, std=2): log-normal numbers in place."},
    {"cauchy_", keyword_function(method_cauchy), kKeywordCall, "cauchy_(median=0, sigma=1): Cauchy numbers in place."},
    {"bernoulli", keyword_function(method_bernoulli_copy), kKeywordCall,
     "bernoulli(p=None): ones with the probabilities of self, or with probability p."},
    {nullptr, nullptr, 0, nullptr},
};

void init_random(PyObject* module) {
  init_generator(module);
  check(PyModule_AddFunctions(module, functions) == 0);
}

}  // namespace adjoint::python
