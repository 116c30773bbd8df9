// Counts, gamma numbers and orders: what draws until something is accepted, and what needs no draws of its own.
#include <algorithm>
#include <bit>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/device/philox.h"
#include "cuda/device/random_args.h"
#include "cuda/device/slopes_args.h"
#include "cuda/faults.h"
#include "cuda/geometry.h"
#include "cuda/graphs.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/random.h"
#include "cuda/through_cpu.h"

namespace adjoint::cuda {
namespace {

std::string text_of(const char* args, const std::string& call, int threads = kThreads) {
  return std::string("#include \"random_counts.h\"\nusing namespace adjoint;\nusing namespace adjoint::cuda;\n") +
         "ADJOINT_KERNEL(" + args + ", " + std::to_string(threads) + ") { " + call + "(args); }\n";
}

/// Launches a kernel that changes each of these numbers.
void change_each(Generator& generator, const View& numbers, const View* given, const std::string& call) {
  const int64_t n = numbers.numel();
  if (n == 0) return;
  FillArgs args = {};
  args.data = numbers.data;
  args.n = n;
  args.key = take_draws(generator, numbers.device);
  args.given = given ? given->data : nullptr;
  args.faults = fault_record(numbers.device.index);
  launch(numbers.device, text_of("FillArgs", call), args, blocks_for(n));
}

}  // namespace

void random_poisson(Generator& generator, const View& rates) { change_each(generator, rates, nullptr, "poisson_fill"); }

void random_binomial(Generator& generator, const View& counts, const View& chances) {
  change_each(generator, counts, &chances, "binomial_fill");
}

void random_gamma(Generator& generator, const View& shapes) {
  change_each(generator, shapes, nullptr, std::string("gamma_fill<") + device_type(shapes.dtype) + ">");
}

void random_permutation(Generator& generator, const View& out) {
  const int64_t n = out.numel();
  if (n == 0) return;
  ShuffleArgs args = {};
  args.data = reinterpret_cast<int64_t*>(out.data);
  args.n = n;
  args.key = take_draws(generator, out.device);
  if (n <= kMostRanked) {
    const int threads = static_cast<int>((n + 31) / 32 * 32);
    return launch(out.device, text_of("ShuffleArgs", "ranked", kMostRanked), args, 1, threads);
  }
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)));
  args.left_bits = bits / 2;
  args.right_bits = bits - args.left_bits;
  launch(out.device, text_of("ShuffleArgs", "shuffle"), args, blocks_for(n));
}

void shares(const View& numbers, int64_t length, DType type) {
  const int64_t n = numbers.numel();
  if (n == 0) return;
  SharesArgs args = {reinterpret_cast<double*>(numbers.data), n / length, length};
  const std::string call = std::string("share<") + device_type(type) + ">";
  launch(numbers.device, text_of("SharesArgs", call), args, blocks_for(args.rows * 32));
}

namespace {

void launch_slopes(const View& out, const View& first, const View* second, const std::string& call) {
  static const LegendreNodes<20> nodes = legendre_nodes<20>();
  SlopeArgs args = {reinterpret_cast<double*>(out.data), first.data,
                    second ? reinterpret_cast<const double*>(second->data) : nullptr, out.numel(), nodes};
  const std::string text =
      "#include \"slopes.h\"\nusing namespace adjoint;\nusing adjoint::cuda::SlopeArgs;\n"
      "ADJOINT_KERNEL(SlopeArgs, 128) { adjoint::cuda::" +
      call + "(args); }\n";
  if (args.n > 0) launch(out.device, text, args, blocks_for(args.n, 128), 128);
}

}  // namespace

void gamma_slopes(const View& shapes, const View& draws) {
  launch_slopes(shapes, draws, nullptr, std::string("gamma_slopes<") + device_type(draws.dtype) + ">");
}

void beta_slopes(const View& draws, const View& firsts, const View& totals) {
  launch_slopes(draws, firsts, &totals, "beta_slopes");
}

bool has_negative(const View& values) {
  const View* views[] = {&values};
  const Geometry geometry = joint_geometry(views);
  if (geometry.numel == 0) return false;
  if (is_stored(values.dtype) || !geometry.is_packed(0)) return through_cpu.random.has_negative(values);
  const View found = {nullptr, DType::Int32, 0, nullptr, nullptr, values.device};
  Scratch flag(sizeof(int32_t), values.device);
  View place = found;
  place.data = flag.data();
  clear(place);
  NegativeArgs args = {values.data, geometry.numel, reinterpret_cast<int32_t*>(flag.data())};
  const int64_t blocks = std::min<int64_t>(blocks_for(geometry.numel), 4 * use(values.device).multiprocessors);
  launch(values.device, text_of("NegativeArgs", std::string("find_negative<") + device_type(values.dtype) + ">"), args,
         blocks);
  return read(place).to<int64_t>() != 0;
}

}  // namespace adjoint::cuda
