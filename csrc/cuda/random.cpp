#include "cuda/random.h"

#include <cmath>
#include <numbers>

#include "core/whole_range.h"
#include "cuda/allocator.h"
#include "cuda/device/philox.h"
#include "cuda/device/random_args.h"
#include "cuda/faults.h"
#include "cuda/geometry.h"
#include "cuda/graphs.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/through_cpu.h"
#include "kernels/backend.h"

namespace adjoint::cuda {
namespace {

/// Whether device code has the type; complex32 is drawn as halves.
bool is_drawn(DType dtype) { return !is_stored(dtype) || dtype == DType::Complex32; }

/// Lets the CPU look at the arguments of a fill, which it does before the first draw: it fills nothing.
template <class... Parameters, class... Args>
void check_on_cpu(void (*kernels::Random::*fill)(Generator&, const View&, Parameters...), DType dtype, Args... args) {
  static Generator unused;
  static constexpr int64_t none[] = {0}, step[] = {1};
  (on(DeviceType::Cpu).random.*fill)(unused, View{nullptr, dtype, 1, none, step}, args...);
}

/// A generator of the CPU whose numbers follow from those of a device's, for types that device code does not have.
uint64_t seed_for_cpu(Generator& generator) {
  const Philox now = generator.take();
  return philox(now.seed, now.offset / 4, 0).pair(0);
}
template <class... Parameters, class... Args>
void fill_on_cpu(void (*kernels::Random::*fill)(Generator&, const View&, Parameters...), Generator& generator,
                 const View& out, Args... args) {
  Generator here(seed_for_cpu(generator));
  (through_cpu.random.*fill)(here, out, args...);
}

/// A fill: the source of its elements ("Uniform"), and what that reads.
struct Fill {
  const char* source;
  int per_counter;  ///< 0: as many as there are of the real type
  FillArgs args = {};
  DType given = DType::Float32;  ///< the type of args.given
};

/// How many elements of a type a thread makes, as `fill` of device/random.h has it.
int64_t thread_elements(DType dtype, int per) { return std::max<int64_t>(per, 16 / itemsize(dtype)); }

void launch_fill(Fill& fill, DType dtype, char* data, int64_t n, Device device) {
  const bool wide = dtype == DType::Float64 || (is_integral(dtype) && itemsize(dtype) >= 4);
  const int per = fill.per_counter ? fill.per_counter : wide ? 2 : 4;
  std::string source = fill.source;
  source += std::string("<") + device_type(dtype);
  if (fill.args.given) source += std::string(", ") + device_type(fill.given);
  source += ">";
  const std::string text =
      "#include \"random.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n"
      "ADJOINT_KERNEL(FillArgs, " +
      std::to_string(kThreads) + ") {\n  fill<" + device_type(dtype) + ">(args, " + source + "{args});\n}\n";
  fill.args.data = data;
  fill.args.n = n;
  const int64_t width = thread_elements(dtype, per);
  launch(device, text, fill.args, blocks_for((n + width - 1) / width));
}

/// Runs make(data, n) on memory in the order in which the elements of a view lie, whose geometry this is.
template <class Make>
void in_memory_order(const View& out, const Geometry& geometry, Make make) {
  if (geometry.numel == 0) return;
  if (geometry.is_packed(0)) return make(out.data, geometry.numel);
  Scratch scratch(static_cast<size_t>(geometry.numel * itemsize(out.dtype)), out.device);
  make(scratch.data(), geometry.numel);
  int64_t packed[kMaxDims], step = 1;
  for (int d = geometry.ndim - 1; d >= 0; --d) {
    packed[d] = step;
    step *= geometry.sizes[d];
  }
  copy({scratch.data(), out.dtype, geometry.ndim, geometry.sizes, packed, out.device},
       {out.data, out.dtype, geometry.ndim, geometry.sizes, geometry.strides[0], out.device});
}

void run(Generator& generator, const View& out, Fill fill) {
  const View* views[] = {&out};
  in_memory_order(out, joint_geometry(views), [&](char* data, int64_t n) {
    fill.args.key = take_draws(generator, out.device);
    const bool complex = is_complex(out.dtype) || out.dtype == DType::Complex32;
    const DType real = out.dtype == DType::Complex32 ? DType::Float16 : complex ? real_type(out.dtype) : out.dtype;
    launch_fill(fill, real, data, complex ? 2 * n : n, out.device);
  });
}

Fill made_of(const char* source, double first = 0, double second = 0) {
  Fill fill{source, 0};
  fill.args.first = first;
  fill.args.second = second;
  return fill;
}

void run_whole(Generator& generator, const View& out, WholeRange range) {
  // Beyond this length 32 bits would be visibly uneven.
  const bool narrow = range.length != 0 && range.length < (uint64_t{1} << 28);
  Fill fill = narrow ? Fill{"Whole32", 4} : Fill{"Whole64", 2};
  fill.args.low = range.low;
  fill.args.length = range.length;
  run(generator, out, fill);
}

}  // namespace

void random_uniform(Generator& generator, const View& out, double low, double high) {
  check_on_cpu(&kernels::Random::uniform, out.dtype, low, high);
  run(generator, out, made_of("Uniform", low, high));
}

void random_normal(Generator& generator, const View& out, double mean, double std) {
  check_on_cpu(&kernels::Random::normal, out.dtype, mean, std);
  if (out.numel() == 0) return;
  const bool complex = is_complex(out.dtype) || out.dtype == DType::Complex32;
  if (!complex && !is_float(out.dtype)) return fill_on_cpu(&kernels::Random::normal, generator, out, mean, std);
  run(generator, out, made_of("Normal", mean, complex ? std / std::numbers::sqrt2 : std));
}

void random_integers(Generator& generator, const View& out, int64_t low, int64_t high) {
  if (!is_drawn(out.dtype)) return fill_on_cpu(&kernels::Random::integers, generator, out, low, high);
  run_whole(generator, out, bounded_range(out.dtype, low, high));
}

void random_integers_from(Generator& generator, const View& out, int64_t low) {
  if (!is_drawn(out.dtype)) return fill_on_cpu(&kernels::Random::integers_from, generator, out, low);
  run_whole(generator, out, half_open_range(out.dtype, low));
}

void random_all_integers(Generator& generator, const View& out) {
  if (!is_drawn(out.dtype)) return fill_on_cpu(&kernels::Random::all_integers, generator, out);
  check_on_cpu(&kernels::Random::all_integers, out.dtype);
  run_whole(generator, out, half_open_range(out.dtype, 0));
}

void random_bernoulli(Generator& generator, const View& out, double p) {
  if (is_stored(out.dtype)) return fill_on_cpu(&kernels::Random::bernoulli, generator, out, p);
  check_on_cpu(&kernels::Random::bernoulli, out.dtype, p);
  Fill fill{"Bernoulli", 4};
  fill.args.length = static_cast<uint64_t>(std::ceil(p * 0x1p32));
  run(generator, out, fill);
}

void random_bernoulli_each(Generator& generator, const View& out, const View& p) {
  if (is_stored(out.dtype) || is_stored(p.dtype)) {
    Generator here(seed_for_cpu(generator));
    return through_cpu.random.bernoulli_each(here, out, p);
  }
  static constexpr int64_t none[] = {0}, step[] = {1};
  const View nothing = {nullptr, p.dtype, 1, none, step};
  check_on_cpu(&kernels::Random::bernoulli_each, out.dtype, nothing);
  const View* views[] = {&out, &p};
  const Geometry geometry = joint_geometry(views);
  if (geometry.numel == 0) return;
  Fill fill{"BernoulliEach", p.dtype == DType::Float64 ? 2 : 4};
  fill.given = p.dtype;
  fill.args.faults = fault_record(out.device.index);
  // The chances in the order of the output, and not where that is written.
  int64_t packed[kMaxDims], next = 1;
  for (int d = geometry.ndim - 1; d >= 0; --d) {
    packed[d] = next;
    next *= geometry.sizes[d];
  }
  const bool here = p.device == out.device && geometry.is_packed(1) && p.data != out.data;
  Scratch scratch(here ? 0 : static_cast<size_t>(geometry.numel * itemsize(p.dtype)), out.device);
  if (!here) {
    const View chances = {p.data, p.dtype, geometry.ndim, geometry.sizes, geometry.strides[1], p.device};
    const View moved = {scratch.data(), p.dtype, geometry.ndim, geometry.sizes, packed, out.device};
    p.device.type == DeviceType::Cpu ? from_host(chances, moved) : copy(chances, moved);
  }
  fill.args.given = here ? p.data : scratch.data();
  const View ordered = {out.data, out.dtype, geometry.ndim, geometry.sizes, geometry.strides[0], out.device};
  in_memory_order(ordered, geometry, [&](char* data, int64_t n) {
    fill.args.key = take_draws(generator, out.device);
    launch_fill(fill, out.dtype, data, n, out.device);
  });
}

void random_exponential(Generator& generator, const View& out, double lambda) {
  check_on_cpu(&kernels::Random::exponential, out.dtype, lambda);
  run(generator, out, made_of("Exponential", lambda));
}

void random_geometric(Generator& generator, const View& out, double p) {
  if (is_stored(out.dtype)) return fill_on_cpu(&kernels::Random::geometric, generator, out, p);
  check_on_cpu(&kernels::Random::geometric, out.dtype, p);
  run(generator, out, made_of("Geometric", p, std::log1p(-p)));
}

void random_log_normal(Generator& generator, const View& out, double mean, double std) {
  check_on_cpu(&kernels::Random::log_normal, out.dtype, mean, std);
  run(generator, out, made_of("LogNormal", mean, std));
}

void random_cauchy(Generator& generator, const View& out, double median, double sigma) {
  check_on_cpu(&kernels::Random::cauchy, out.dtype, median, sigma);
  run(generator, out, made_of("Cauchy", median, sigma));
}

void set_random(kernels::Random& table) {
  table.uniform = random_uniform;
  table.normal = random_normal;
  table.integers = random_integers;
  table.integers_from = random_integers_from;
  table.all_integers = random_all_integers;
  table.bernoulli = random_bernoulli;
  table.bernoulli_each = random_bernoulli_each;
  table.exponential = random_exponential;
  table.geometric = random_geometric;
  table.log_normal = random_log_normal;
  table.cauchy = random_cauchy;
  table.permutation = random_permutation;
  table.poisson = random_poisson;
  table.binomial = random_binomial;
  table.gamma = random_gamma;
  table.shares = shares;
  table.gamma_slopes = gamma_slopes;
  table.beta_slopes = beta_slopes;
  table.has_negative = has_negative;
}

}  // namespace adjoint::cuda
