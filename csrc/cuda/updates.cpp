#include "cuda/updates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "core/error.h"
#include "cuda/allocator.h"
#include "cuda/launch.h"

namespace adjoint::cuda {
namespace {

const char* text_of(const char* name) {
  for (const DeviceSource* update = device_updates; update->name; ++update)
    if (std::strcmp(update->name, name) == 0) return update->text;
  fail("there is no device code for the update ", name);
}

constexpr const char* kNames = "using namespace adjoint;\nusing namespace adjoint::cuda;\n";

std::string source_of(const char* name, const char* args, const std::string& call) {
  return std::string("// ") + name + "\n#include \"update.h\"\nnamespace adjoint::cuda {\n" + text_of(name) + "}\n" +
         kNames + "ADJOINT_KERNEL(" + args + ", " + std::to_string(kThreads) + ") {\n  " + call + "\n}\n";
}

/// Fills a list with so many tensors; returns the number of its blocks.
int64_t fill_list(TensorList& list, const int64_t* sizes, char* const* places, size_t count, int arrays, DType dtype) {
  const int64_t length = kChunkBytes / itemsize(dtype);
  list.tensors = static_cast<int32_t>(count);
  int64_t blocks = 0;
  for (size_t i = 0; i < count; ++i) {
    list.first_block[i] = static_cast<uint32_t>(blocks);
    list.sizes[i] = sizes[i];
    blocks += (sizes[i] + length - 1) / length;
  }
  list.first_block[count] = static_cast<uint32_t>(blocks);
  std::copy_n(places, count * static_cast<size_t>(arrays), list.places);
  return blocks;
}

size_t most_tensors(int arrays) {
  return static_cast<size_t>(std::min(kListTensors, kListPlaces / std::max(arrays, 1)));
}

}  // namespace

bool is_updated(DType dtype) {
  const DType real = is_complex(dtype) ? real_type(dtype) : dtype;
  return real == DType::Float32 || real == DType::Float64 || real == DType::Float16 || real == DType::BFloat16;
}

const UpdateKernels& update_kernels(Device device, const char* name, DType dtype, int arrays, int kept,
                                    std::optional<DType> kept_type) {
  using Key = std::tuple<int, const char*, DType, int>;
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<UpdateKernels>> known;
  std::lock_guard lock(mutex);
  const DType stored = is_complex(dtype) ? real_type(dtype) : dtype;
  auto& entry = known[Key(device.index, name, stored, kept_type ? static_cast<int>(*kept_type) : -1)];
  if (entry) return *entry;
  auto made = std::make_unique<UpdateKernels>();
  const DType computed = compute_type(stored);
  const std::string t = device_type(computed);
  *made = {device, stored, computed, arrays, kept, nullptr, nullptr};
  made->update = compiled(device.index, source_of(name, "UpdateArgs",
                                                  "update_chunk<kArrays, kWritten, kUsed, " + t + ", " +
                                                      device_type(stored) + ">(args, [](const " + t + "* uniforms, " +
                                                      t + "* values) { update(uniforms, values); });"));
  if (kept_type) {
    const std::string s = device_type(*kept_type);
    made->prepare = compiled(
        device.index,
        source_of(name, "PrepareArgs",
                  "prepare_uniforms<" + s + ", " + t +
                      ">(args, [](double* kept, bool first, const double* numbers, double* uniforms) { prepare<" + s +
                      ">(kept, first, numbers, uniforms); });"));
  }
  entry = std::move(made);
  return *entry;
}

UpdateBatch::UpdateBatch(const UpdateKernels& kernels, const double* uniforms)
    : kernels_(&kernels), prepares_(uniforms == nullptr) {
  if (uniforms) std::copy_n(uniforms, kUniforms, uniforms_);
}

bool UpdateBatch::takes(const UpdateKernels& kernels, const double* uniforms) const {
  if (kernels_ != &kernels || prepares_ != (uniforms == nullptr)) return false;
  return !uniforms || std::memcmp(uniforms, uniforms_, sizeof(uniforms_)) == 0;
}

void UpdateBatch::add(char* const* kept, char* const* arrays, int64_t n, bool first) {
  sizes_.push_back(n);
  arrays_.insert(arrays_.end(), arrays, arrays + kernels_->arrays);
  if (!prepares_) return;
  kept_.insert(kept_.end(), kept, kept + kernels_->kept);
  first_.push_back(first);
}

void UpdateBatch::launch(const UpdateNumbers& numbers) const {
  const size_t most = std::min(most_tensors(kernels_->arrays), most_tensors(kernels_->kept));
  for (size_t begin = 0; begin < sizes_.size(); begin += most)
    launch_part(begin, std::min(most, sizes_.size() - begin), numbers);
}

void UpdateBatch::launch_part(size_t begin, size_t count, const UpdateNumbers& numbers) const {
  UpdateArgs args;
  const auto arrays = static_cast<size_t>(kernels_->arrays), kept = static_cast<size_t>(kernels_->kept);
  const int64_t blocks = fill_list(args.list, sizes_.data() + begin, arrays_.data() + begin * arrays, count,
                                   kernels_->arrays, kernels_->stored);
  args.prepared = nullptr;
  std::optional<Scratch> prepared;
  if (prepares_) {
    prepared.emplace(count * 8 * kUniforms, kernels_->device);
    PrepareArgs first = {};
    first.tensors = static_cast<int32_t>(count);
    first.kept = kernels_->kept;
    first.prepared = prepared->data();
    for (size_t i = 0; i < count; ++i)
      if (first_[begin + i]) first.first[i / 32] |= 1u << i % 32;
    for (int i = 0; i < kUniforms; ++i) {
      first.numbers[i] = numbers.values[i];
      first.number_places[i] = numbers.places[i];
      first.number_is_double[i] = numbers.is_double[i];
    }
    std::copy_n(kept_.data() + begin * kept, count * kept, first.places);
    cuda::launch(kernels_->device, kernels_->prepare, &first, blocks_for(first.tensors));
    args.prepared = prepared->data();
  } else if (kernels_->computed == DType::Float64) {
    std::memcpy(args.uniforms, uniforms_, sizeof(uniforms_));
  } else {
    float narrow[kUniforms];
    for (int i = 0; i < kUniforms; ++i) narrow[i] = static_cast<float>(uniforms_[i]);
    std::memcpy(args.uniforms, narrow, sizeof(narrow));
  }
  cuda::launch(kernels_->device, kernels_->update, &args, blocks);
}

void unscale(Device device, DType dtype, std::span<char* const> arrays, std::span<const int64_t> sizes,
             const float* inverse, float* found) {
  const std::string source = std::string("#include \"update.h\"\n") + kNames + "ADJOINT_KERNEL(UnscaleArgs, " +
                             std::to_string(kThreads) + ") { unscale_chunk<" + device_type(compute_type(dtype)) + ", " +
                             device_type(dtype) + ">(args); }\n";
  const size_t most = most_tensors(1);
  for (size_t begin = 0; begin < sizes.size(); begin += most) {
    const size_t count = std::min(most, sizes.size() - begin);
    UnscaleArgs args;
    args.inverse = inverse;
    args.found = found;
    const int64_t blocks = fill_list(args.list, sizes.data() + begin, arrays.data() + begin, count, 1, dtype);
    launch(device, source, args, blocks);
  }
}

void norms(Device device, DType dtype, double order, std::span<char* const> arrays, std::span<const int64_t> sizes,
           char* out) {
  const char* kind = order == 1 ? "Sum" : order == 2 ? "Squares" : "Greatest";
  auto source = [&](const char* step) {
    return std::string("#include \"norms.h\"\n") + kNames + "ADJOINT_KERNEL(NormArgs, " + std::to_string(kThreads) +
           ") { " + step + "<NormKind::" + kind + ", " + device_type(dtype) + ">(args); }\n";
  };
  const std::string first = source("norm_of_chunk"), second = source("norm_of_chunks");
  const size_t most = most_tensors(1);
  for (size_t begin = 0; begin < sizes.size(); begin += most) {
    const size_t count = std::min(most, sizes.size() - begin);
    NormArgs args;
    const int64_t blocks = fill_list(args.list, sizes.data() + begin, arrays.data() + begin, count, 1, dtype);
    const Scratch partial(static_cast<size_t>(blocks * itemsize(dtype)), device);
    args.partial = partial.data();
    args.out = out + static_cast<int64_t>(begin) * itemsize(dtype);
    launch(device, first, args, blocks);
    launch(device, second, args, static_cast<int64_t>(count));
  }
}

}  // namespace adjoint::cuda
