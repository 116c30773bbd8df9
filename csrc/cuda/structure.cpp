#include "cuda/structure.h"

#include "core/error.h"
#include "cuda/device/structure_args.h"
#include "cuda/faults.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/scan_counts.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

bool triangle(const View& in, int64_t diagonal, const View& out, bool lower) {
  const int row = in.ndim - 2, column = in.ndim - 1;
  if (row < 0) return false;
  const View inputs{in.data, in.dtype, row, in.sizes, in.strides, in.device},
      outputs{out.data, out.dtype, row, out.sizes, out.strides, out.device};
  const View* views[] = {&inputs, &outputs};
  const Geometry matrices = ordered_geometry(views);
  if (!fits(matrices)) return false;
  TriangleArgs args{in.data,
                    out.data,
                    in.numel(),
                    in.sizes[row],
                    in.sizes[column],
                    diagonal,
                    in.strides[row],
                    in.strides[column],
                    out.strides[row],
                    out.strides[column],
                    lower,
                    {}};
  set_walk(matrices, args.walk);
  const View* whole[] = {&in, &out};
  const std::string call = std::string("triangle<") + word_type(itemsize(in.dtype)) + ", " +
                           index_type(is_narrow(ordered_geometry(whole))) + ">";
  launch(out.device, kernel_text("structure.h", "TriangleArgs", call), args, blocks_for(args.numel));
  return true;
}

}  // namespace

void tril(const View& in, int64_t diagonal, const View& out) {
  if (!triangle(in, diagonal, out, true)) through_cpu.structure.tril(in, diagonal, out);
}
void triu(const View& in, int64_t diagonal, const View& out) {
  if (!triangle(in, diagonal, out, false)) through_cpu.structure.triu(in, diagonal, out);
}

void triangle_places(int64_t row, int64_t col, int64_t offset, bool lower, const View& out) {
  TrianglePlaceArgs args{out.data, out.sizes[1], row, col, offset, lower};
  const std::string call = std::string("triangle_places<") + device_type(out.dtype) + ">";
  launch(out.device, kernel_text("structure.h", "TrianglePlaceArgs", call), args, blocks_for(args.n));
}

void roll(const View& in, int dim, int64_t start, const View& out) {
  // By the result's strides: those of dimensions of size 1 may be anything in the input.
  RollArgs args{in.data, out.data, out.numel(), out.sizes[dim], out.strides[dim], start};
  const std::string call =
      std::string("roll<") + word_type(itemsize(in.dtype)) + ", " + index_type(2 * args.numel < int64_t{1} << 31) + ">";
  launch(out.device, kernel_text("structure.h", "RollArgs", call), args, blocks_for(args.numel));
}

int64_t total_repeats(const View& repeats) {
  Scratch sum(sizeof(int64_t), repeats.device);
  RepeatArgs args{repeats.as<const int64_t>(), reinterpret_cast<int64_t*>(sum.data()), repeats.numel(), 0,
                  fault_record(repeats.device.index)};
  launch(repeats.device, kernel_text("structure.h", "RepeatArgs", "total_repeats", kRepeatThreads), args, 1,
         kRepeatThreads);
  int64_t total = 0;
  to_host({sum.data(), DType::Int64, 0, nullptr, nullptr, repeats.device},
          {reinterpret_cast<char*>(&total), DType::Int64, 0, nullptr, nullptr});
  return total;
}

void check_repeats(const View& repeats, int64_t expected) {
  const int64_t total = total_repeats(repeats);
  if (total != expected)
    fail("allocated size does not match required size; the repeats add up to ", total, ", output_size is ", expected);
}

void repeat_places(const View& repeats, const View& out) {
  const int64_t n = repeats.numel();
  if (out.numel() == 0) return;
  Scratch starts(static_cast<size_t>(n + 1) * sizeof(int64_t), repeats.device);
  View copied = repeats;
  copied.data = starts.data();
  copy(repeats, copied);
  scan_counts(repeats.device, copied.as<int64_t>(), n);
  RepeatArgs args{copied.as<const int64_t>(), out.as<int64_t>(), n, out.numel(), {}};
  launch(out.device, kernel_text("structure.h", "RepeatArgs", "repeat_places"), args, blocks_for(args.total));
}

}  // namespace adjoint::cuda
