#include "cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "cuda/runtime.h"
#include "cuda/waits.h"

namespace adjoint::cuda {

void Staging::note(const View& view) {
  if (view.device.type == DeviceType::Cpu || view.numel() == 0) return;
  char *begin = view.data, *end = view.data + itemsize(view.dtype);
  for (int d = 0; d < view.ndim; ++d) {
    const int64_t reach = (view.sizes[d] - 1) * view.strides[d] * itemsize(view.dtype);
    (reach < 0 ? begin : end) += reach;
  }
  // Regions that overlap it become one with it.
  for (auto region = regions_.begin(); region != regions_.end();) {
    if (region->device == view.device && region->begin < end && begin < region->end) {
      begin = std::min(begin, region->begin);
      end = std::max(end, region->end);
      region = regions_.erase(region);
    } else {
      ++region;
    }
  }
  regions_.push_back({view.device, begin, end, {}, {}});
}

void Staging::fetch() {
  note_wait();
  for (Region& region : regions_) {
    const auto size = static_cast<size_t>(region.end - region.begin);
    region.now.resize(size);
    use(region.device);
    const Stream stream = current_stream(region.device);
    check(driver().copy_to_host(region.now.data(), reinterpret_cast<Pointer>(region.begin), size, stream),
          "copying to the program's memory");
    synchronize(region.device.index, stream);
    region.before = region.now;
  }
}

View Staging::here(const View& view) const {
  if (view.device.type == DeviceType::Cpu) return view;
  View moved = view;
  moved.device = Device();
  if (view.numel() == 0) return moved;
  for (const Region& region : regions_) {
    if (region.device == view.device && region.begin <= view.data && view.data < region.end) {
      moved.data = const_cast<char*>(region.now.data()) + (view.data - region.begin);
      return moved;
    }
  }
  fail("a view was not fetched from its device");
}

void Staging::write_back() {
  for (Region& region : regions_) {
    const size_t size = region.now.size();
    if (std::memcmp(region.now.data(), region.before.data(), size) == 0) continue;
    use(region.device);
    const Stream stream = current_stream(region.device);
    check(driver().copy_to_device(reinterpret_cast<Pointer>(region.begin), region.now.data(), size, stream),
          "copying to a device");
    synchronize(region.device.index, stream);
  }
}

}  // namespace adjoint::cuda
