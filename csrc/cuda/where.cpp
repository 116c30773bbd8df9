// Choices between elements: where and masked_fill.
#include <cstring>

#include "cuda/device/elementwise_args.h"
#include "cuda/indexing.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"
#include "cuda/walk.h"

namespace adjoint::cuda {
namespace {

constexpr int kViews = 4;  // the output, the condition, a and b

/// How operands lie, in the words of device/elementwise.h, and the most elements that a thread can take at once.
struct Plan {
  const char* lies[kViews];
  bool packed;
  int width;
};

Plan plan_of(const Geometry& geometry, const View* const* views, StridedArgs& args) {
  Plan plan{{}, geometry.is_packed(0), 1};
  uintptr_t places = 0;
  for (int v = 0; v < kViews; ++v) {
    args.data[v] = views[v]->data;
    plan.lies[v] = "Strided";
    if (views[v]->device.type == DeviceType::Cpu) {
      plan.lies[v] = "Number";
      std::memcpy(args.numbers[v].bytes, views[v]->data, static_cast<size_t>(itemsize(views[v]->dtype)));
    } else if (v > 0 && geometry.is_single(v)) {
      plan.lies[v] = "Single";
    } else if (geometry.is_packed(v)) {
      plan.lies[v] = "Packed";
      places |= reinterpret_cast<uintptr_t>(views[v]->data);
    } else {
      plan.packed = false;
    }
  }
  if (!plan.packed) {
    for (const char*& lies : plan.lies)
      if (*lies == 'P') lies = "Strided";
  } else if (places % 16 == 0) {
    plan.width = static_cast<int>(std::min<int64_t>(16 / itemsize(views[0]->dtype), 8));
  }
  return plan;
}

}  // namespace

void where(const View& condition, const View& a, const View& b, const View& out) {
  const View* views[] = {&out, &condition, &a, &b};
  const Geometry geometry = joint_geometry(views);
  if (geometry.numel == 0) return;
  if (geometry.ndim > kMaxCollapsed) return through_cpu.indexing.where(condition, a, b, out);
  StridedArgs args;
  const Plan plan = plan_of(geometry, views, args);
  const std::string word = word_type(itemsize(out.dtype));
  std::string call = plan.packed ? "where_packed<" + std::to_string(plan.width) + ", " : "where_strided<";
  call += index_type(is_narrow(geometry));
  call += ", " + word;
  for (int v = 1; v < kViews; ++v)
    call += ", Input<" + (v == 1 ? "uint8_t" : word) + ", Lies::" + plan.lies[v] + ", " + std::to_string(v) + ">";
  call += ">";
  args.numel = geometry.numel;
  args.ndim = geometry.ndim;
  std::copy_n(geometry.sizes, geometry.ndim, args.sizes);
  for (int v = 0; v < kViews; ++v) std::copy_n(geometry.strides[v], geometry.ndim, args.strides[v]);
  launch(out.device, kernel_text("where.h", plan.packed ? "PackedArgs" : "StridedArgs", call), args,
         blocks_for((geometry.numel + plan.width - 1) / plan.width));
}

void masked_fill(const View& dst, const View& mask, const void* value) {
  const View number = {static_cast<char*>(const_cast<void*>(value)), dst.dtype, dst.ndim, dst.sizes, kNoStrides};
  where(mask, number, dst, dst);
}

}  // namespace adjoint::cuda
