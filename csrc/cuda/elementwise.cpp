#include "cuda/elementwise.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/device/elementwise_args.h"
#include "cuda/geometry.h"
#include "cuda/launch.h"
#include "cuda/through_cpu.h"
#include "cuda/together.h"
#include "kernels/operand.h"

namespace adjoint::cuda {
namespace {

/// What a launch computes with one set of types: the text of its kernel follows from it.
struct Variant {
  enum class Lies : uint8_t { Packed, Single, Number, Strided, Repeated };
  struct Operand {
    DType dtype;
    Lies lies;
    bool operator==(const Operand&) const = default;
  };

  const char* body;
  DType compute, result, out;
  int device;
  int inputs;
  Operand operands[kernels::kMaxInputs] = {};
  int width = 1;         ///< elements of a thread
  bool strided = false;  ///< at any strides
  bool wide = false;     ///< numbers of elements of 64 bits
  bool many = false;     ///< for many tensors
  bool operator==(const Variant&) const = default;
};

struct HashVariant {
  size_t operator()(const Variant& v) const {
    auto hash = reinterpret_cast<size_t>(v.body);
    auto add = [&](auto value) { hash = (hash ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15ull; };
    add(v.compute);
    add(v.out);
    add(v.device);
    add(v.width * 8 + v.strided * 4 + v.wide * 2 + v.many);
    for (int i = 0; i < v.inputs; ++i)
      add(static_cast<int>(v.operands[i].dtype) * 8 + static_cast<int>(v.operands[i].lies));
    return hash;
  }
};

/// For conversions, which compute in the type that they read.
constexpr const char* kCopy = "template <class T>\ninline auto body(const Scalar*, T x_) { return x_; }\n";

/// A body under a name of its own.
std::string numbered(const char* body, size_t number) {
  std::string text = body;
  const std::string name = "inline auto body(";
  return text.replace(text.find(name), name.size(), "inline auto body_" + std::to_string(number) + "(");
}

/// The call of a template of device/elementwise.h that runs a variant.
std::string call_of(const Variant& v, size_t number, const std::string& args) {
  constexpr const char* lies[] = {"Packed", "Single", "Number", "Strided", "Repeated"};
  std::ostringstream text;
  text << "  " << (v.many ? "packed_many<" : v.strided ? "strided<" : "packed<") << v.width << ", ";
  text << (v.wide ? "int64_t" : "uint32_t") << ", " << device_type(v.compute) << ", " << device_type(v.result) << ", "
       << device_type(v.out);
  for (int i = 0; i < v.inputs; ++i)
    text << ", Input<" << device_type(v.operands[i].dtype) << ", Lies::" << lies[static_cast<int>(v.operands[i].lies)]
         << ", " << i + 1 << ">";
  text << ">(" << args << ", [](const Scalar* params, auto... values) { return body_" << number << "<"
       << device_type(v.compute) << ">(params, values...); });\n";
  return text.str();
}

const char* name_of(const char* body) {
  for (const DeviceSource* known = device_bodies; known->name; ++known)
    if (known->text == body) return known->name;
  return "copy";
}

/// The text of a kernel of some variants, all of the same number of elements.
std::string source_of(std::span<const Variant> variants) {
  const bool many = variants[0].many;
  const std::string part = variants[0].strided ? "StridedArgs" : "PackedArgs";
  const std::string args = many ? "ManyArgs" : "Parts<" + part + ", " + std::to_string(variants.size()) + ">";
  std::string name, bodies, calls;
  for (size_t i = 0; i < variants.size(); ++i) {
    name.append(i ? "_and_" : "// ").append(name_of(variants[i].body));
    bodies += numbered(variants[i].body, i);
    calls += call_of(variants[i], i, many ? "args" : "args.parts[" + std::to_string(i) + "]");
  }
  std::ostringstream text;
  text << name << "\n#include \"elementwise" << (many ? "_many" : "") << ".h\"\nnamespace adjoint::cuda {\n"
       << bodies << "}\nusing namespace adjoint;\n"
       << "using namespace adjoint::cuda;\nusing KernelArgs = " << args << ";\nADJOINT_KERNEL(KernelArgs, " << kThreads
       << ") {\n"
       << calls << "}\n";
  return text.str();
}

// By spans, too: a search copies nothing.
struct HashVariants {
  using is_transparent = void;
  size_t operator()(std::span<const Variant> variants) const {
    size_t hash = variants.size();
    for (const Variant& variant : variants) hash = hash * 31 + HashVariant()(variant);
    return hash;
  }
};
struct SameVariants {
  using is_transparent = void;
  bool operator()(std::span<const Variant> a, std::span<const Variant> b) const { return std::ranges::equal(a, b); }
};

Function function_of(std::span<const Variant> variants) {
  static std::mutex mutex;
  static std::unordered_map<std::vector<Variant>, Function, HashVariants, SameVariants> known;
  std::lock_guard lock(mutex);
  if (const auto entry = known.find(variants); entry != known.end()) [[likely]]
    return entry->second;
  const Function function = compiled(variants[0].device, source_of(variants));
  known.emplace(std::vector<Variant>(variants.begin(), variants.end()), function);
  return function;
}

// ---- Computations that are put together

/// One that waits for others, with which it shares its launch.
struct Waiting {
  Device device;
  Variant variant;
  StridedArgs args;
};
/// As many as the parameter of a kernel has room for.
constexpr size_t kTogether = 3;
thread_local bool gathering = false;
thread_local std::vector<Waiting> waiting;

/// `args`: as many parts as there are variants.
void launch_variants(Device device, std::span<const Variant> variants, void* args, int64_t numel) {
  const int64_t width = variants[0].width;
  launch(device, function_of(variants), args, blocks_for((numel + width - 1) / width));
}

template <class Args>
void launch_parts(std::span<const Waiting> parts) {
  cuda::Parts<Args, kTogether> args;
  Variant variants[kTogether];
  for (size_t i = 0; i < parts.size(); ++i) {
    args.parts[i] = parts[i].args;
    variants[i] = parts[i].variant;
  }
  launch_variants(parts[0].device, {variants, parts.size()}, &args, parts[0].args.numel);
}

void launch_waiting() {
  if (waiting.empty()) return;
  struct Cleared {
    ~Cleared() { waiting.clear(); }
  } whatever_happens;
  if (waiting[0].variant.strided) {
    launch_parts<StridedArgs>(waiting);
  } else {
    launch_parts<PackedArgs>(waiting);
  }
}

void launch_or_wait(Device device, const Variant& variant, StridedArgs& args) {
  if (!gathering) return launch_variants(device, {&variant, 1}, &args, args.numel);
  if (!waiting.empty()) {
    const Waiting& first = waiting[0];
    const bool fits = waiting.size() < kTogether && first.device == device && first.args.numel == args.numel &&
                      first.variant.width == variant.width && first.variant.strided == variant.strided &&
                      first.variant.wide == variant.wide;
    if (!fits) launch_waiting();
  }
  waiting.push_back({device, variant, args});
}

const char* body_of(const char* name) {
  static const std::unordered_map<std::string_view, const char*> bodies = [] {
    std::unordered_map<std::string_view, const char*> all;
    for (const DeviceSource* body = device_bodies; body->name; ++body) all[body->name] = body->text;
    return all;
  }();
  auto entry = bodies.find(name);
  return entry == bodies.end() ? nullptr : entry->second;
}

/// The most elements that a thread can take at once from operands of these types at these places.
int vector_width(const View& out, const View* inputs, const Variant& variant) {
  int64_t largest = itemsize(out.dtype);
  auto places = reinterpret_cast<uintptr_t>(out.data);
  for (int i = 0; i < variant.inputs; ++i) {
    if (variant.operands[i].lies != Variant::Lies::Packed) continue;
    largest = std::max(largest, itemsize(inputs[i].dtype));
    places |= reinterpret_cast<uintptr_t>(inputs[i].data);
  }
  return places % 16 == 0 ? static_cast<int>(std::min<int64_t>(16 / largest, 8)) : 1;
}

/// The same of operands at any strides, along their last dimension.
int strided_width(const Geometry& geometry, const View* const* views, const Variant& variant) {
  const int last = geometry.ndim - 1;
  if (last >= kMaxCollapsed || geometry.strides[0][last] != 1) return 1;
  int64_t width = 8;
  for (int v = 0; v < geometry.views; ++v) {
    const bool moves = v == 0 || variant.operands[v - 1].lies == Variant::Lies::Strided;
    if (!moves || geometry.strides[v][last] == 0) continue;
    if (geometry.strides[v][last] != 1) return 1;
    const int64_t item = itemsize(views[v]->dtype);
    auto fits = [&](int64_t count) {
      bool all = count * item <= 16 && geometry.sizes[last] % count == 0 &&
                 reinterpret_cast<uintptr_t>(views[v]->data) % static_cast<uintptr_t>(count * item) == 0;
      for (int d = 0; d < last; ++d) all = all && geometry.strides[v][d] % count == 0;
      return all;
    };
    while (width > 1 && !fits(width)) width /= 2;
  }
  return static_cast<int>(width);
}

DType result_of(const Kernel& kernel, DType compute) {
  if (kernel.result == ResultKind::Bool) return DType::Bool;
  return kernel.result == ResultKind::Real ? real_type(compute) : compute;
}

/// The part of a geometry of more dimensions than a kernel takes, by loops over those in front.
template <class Run>
void by_slices(const Geometry& geometry, StridedArgs& args, const int64_t* item_sizes, Run run) {
  if (geometry.ndim <= kMaxCollapsed) {
    args.ndim = geometry.ndim;
    args.numel = geometry.numel;
    std::copy_n(geometry.sizes, geometry.ndim, args.sizes);
    for (int v = 0; v < geometry.views; ++v) std::copy_n(geometry.strides[v], geometry.ndim, args.strides[v]);
    run();
    return;
  }
  Geometry inner = geometry;
  inner.ndim = geometry.ndim - 1;
  inner.numel = geometry.numel / geometry.sizes[0];
  std::copy_n(geometry.sizes + 1, inner.ndim, inner.sizes);
  for (int v = 0; v < geometry.views; ++v) std::copy_n(geometry.strides[v] + 1, inner.ndim, inner.strides[v]);
  char* places[kMaxOperands];
  std::copy_n(args.data, geometry.views, places);
  for (int64_t i = 0; i < geometry.sizes[0]; ++i) {
    for (int v = 0; v < geometry.views; ++v) args.data[v] = places[v] + i * geometry.strides[v][0] * item_sizes[v];
    by_slices(inner, args, item_sizes, run);
  }
  std::copy_n(places, geometry.views, args.data);
}

/// Launches a kernel over packed elements together with others of its kind.
void launch_with_others(Together& others, Variant& variant, const PackedArgs& args, const View& out, const View* inputs,
                        int param_count) {
  int64_t bytes[kMaxOperands] = {args.numel * itemsize(out.dtype)}, number_bytes[kMaxOperands] = {};
  for (int i = 0; i < variant.inputs; ++i) {
    const int64_t size = itemsize(inputs[i].dtype);
    const Variant::Lies lies = variant.operands[i].lies;
    bytes[i + 1] = lies == Variant::Lies::Number ? 0 : lies == Variant::Lies::Single ? size : args.numel * size;
    number_bytes[i + 1] = lies == Variant::Lies::Number ? size : 0;
  }
  variant.many = true;
  others.add({out.device, function_of({&variant, 1}), &args, variant.inputs + 1, param_count, variant.width, bytes,
              number_bytes});
}

/// Runs a body of which everything but how its operands lie is known.
void run(Variant variant, const View& out, const View* inputs, const Scalar* params, int param_count) {
  const View* views[kMaxOperands] = {&out};
  StridedArgs args;
  int64_t item_sizes[kMaxOperands] = {itemsize(out.dtype)};
  args.data[0] = out.data;
  for (int i = 0; i < variant.inputs; ++i) {
    views[i + 1] = &inputs[i];
    args.data[i + 1] = inputs[i].data;
    item_sizes[i + 1] = itemsize(inputs[i].dtype);
  }
  std::copy_n(params, param_count, args.params);
  Geometry geometry = joint_geometry({views, static_cast<size_t>(variant.inputs + 1)});
  if (geometry.numel == 0) return;
  bool packed = geometry.is_packed(0);
  for (int i = 0; i < variant.inputs; ++i) {
    Variant::Operand& operand = variant.operands[i];
    operand.dtype = inputs[i].dtype;
    if (inputs[i].device.type == DeviceType::Cpu) {
      operand.lies = Variant::Lies::Number;
      std::memcpy(args.numbers[i + 1].bytes, inputs[i].data, static_cast<size_t>(itemsize(inputs[i].dtype)));
    } else if (geometry.is_single(i + 1)) {
      operand.lies = Variant::Lies::Single;
    } else if (geometry.is_packed(i + 1)) {
      operand.lies = Variant::Lies::Packed;
    } else {
      packed = false;
    }
  }
  constexpr int64_t kNarrow = int64_t{1} << 31;
  if (packed) {
    variant.width = vector_width(out, inputs, variant);
    variant.wide = geometry.numel >= kNarrow;
    args.numel = geometry.numel;
    if (Together* others = Together::current())
      return launch_with_others(*others, variant, args, out, inputs, param_count);
    return launch_or_wait(out.device, variant, args);
  }
  variant.strided = true;
  for (int v = 0; v <= variant.inputs; ++v) {
    int64_t reach = 1;
    for (int d = 0; d < geometry.ndim; ++d) {
      reach += (geometry.sizes[d] - 1) * std::abs(geometry.strides[v][d]);
      variant.wide |= geometry.strides[v][d] < 0;
    }
    variant.wide |= reach >= kNarrow || geometry.numel >= kNarrow;
    if (v > 0 && variant.operands[v - 1].lies == Variant::Lies::Packed)
      variant.operands[v - 1].lies = Variant::Lies::Strided;
  }
  variant.width = strided_width(geometry, views, variant);
  if (variant.width > 1) {
    const int last = geometry.ndim - 1;
    geometry.sizes[last] /= variant.width;
    for (int v = 0; v <= variant.inputs; ++v) {
      if (v > 0 && variant.operands[v - 1].lies == Variant::Lies::Strided && geometry.strides[v][last] == 0)
        variant.operands[v - 1].lies = Variant::Lies::Repeated;
      geometry.strides[v][last] *= variant.width;
    }
  }
  by_slices(geometry, args, item_sizes, [&] { launch_or_wait(out.device, variant, args); });
}

}  // namespace

void elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params) {
  const char* body = body_of(kernel.name);
  bool known = body && !is_stored(out.dtype) && !is_stored(compute);
  for (int i = 0; i < kernel.inputs; ++i) known = known && !is_stored(inputs[i].dtype);
  if (!known) return through_cpu.elementwise.run(kernel, compute, out, inputs, params);
  const DType type = compute_type(compute);
  Variant variant{body, type, result_of(kernel, type), out.dtype, out.device.index, kernel.inputs};
  run(variant, out, inputs, params, kernel.params);
}

void elementwise_packed(const Kernel& kernel, DType compute, const Tensor& out, const Operand* operands, int n,
                        const Scalar* params) {
  static constexpr int64_t nothing[kMaxDims] = {};
  const View result = out.view();
  View inputs[kernels::kMaxInputs];
  alignas(16) char numbers[kernels::kMaxInputs][16];
  for (int i = 0; i < n; ++i) {
    if (operands[i].is_number()) {
      dispatch(compute, [&](auto tag) {
        *reinterpret_cast<decltype(tag)*>(numbers[i]) = operands[i].number.to<decltype(tag)>();
      });
      inputs[i] = {numbers[i], compute, result.ndim, result.sizes, nothing};
    } else {
      inputs[i] = operands[i].view(result.ndim, result.sizes, operands[i].shape->strides());
    }
  }
  elementwise(kernel, compute, result, inputs, params);
}

void gather_elementwise(bool begin) {
  gathering = begin;
  if (!begin) launch_waiting();
}

void convert_elements(const View& in, const View& out) {
  if (is_stored(in.dtype) || is_stored(out.dtype)) return through_cpu.memory.copy(in, out);
  Variant variant{kCopy, in.dtype, in.dtype, out.dtype, out.device.index, 1};
  run(variant, out, &in, nullptr, 0);
}

std::string elementwise_source(const char* name, DType compute) {
  const Kernel* kernel = on(DeviceType::Cpu).elementwise.kernel(name);
  const char* body = body_of(name);
  if (!kernel || !body) fail("there is no elementwise kernel ", name);
  const DType type = compute_type(compute);
  Variant variant{body, type, result_of(*kernel, type), result_of(*kernel, compute), 0, kernel->inputs};
  for (int i = 0; i < kernel->inputs; ++i) variant.operands[i] = {compute, Variant::Lies::Packed};
  variant.width = static_cast<int>(std::min<int64_t>(16 / itemsize(compute), 8));
  return source_of({&variant, 1});
}

}  // namespace adjoint::cuda
