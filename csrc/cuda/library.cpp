#include "cuda/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "cuda/driver.h"

namespace adjoint::cuda {
namespace {

std::vector<std::string>& folders() {
  static std::vector<std::string> known;
  return known;
}

/// Those of CUDA 13: an older driver does not load what they make.
constexpr const char* kNew[] = {"libnvrtc.so.13", "libcublas.so.13", "libcufft.so.12", "libcusolver.so.12"};

bool is_too_new(const std::string& name) {
  if (std::ranges::find(kNew, name) == std::end(kNew)) return false;
  const int version = driver_version();
  return version > 0 && version < 13000;
}

void* open_first(std::vector<std::string> names, std::string& reason) {
  const bool older = std::erase_if(names, is_too_new) > 0;
  auto attempt = [&](const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle && reason.empty()) reason = dlerror();
    return handle;
  };
  std::vector<std::string> places;
  if (const char* chosen = std::getenv("ADJOINT_CUDA_LIBRARIES")) places.emplace_back(chosen);
  places.insert(places.end(), folders().begin(), folders().end());
  for (const std::string& place : places)
    for (const std::string& name : names)
      if (void* handle = attempt(place + "/" + name)) return handle;
  reason.clear();
  for (const std::string& name : names)
    if (void* handle = attempt(name)) return handle;
  if (older) reason += "; the driver is older than CUDA 13: it takes wheels whose names end with -cu12";
  return nullptr;
}

}  // namespace

void set_library_folders(std::vector<std::string> known) { folders() = std::move(known); }

bool Library::open() {
  if (!tried_) handle_ = open_first(names_, reason_);
  tried_ = true;
  return handle_ != nullptr;
}

void* Library::find(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace adjoint::cuda
