#include "cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace adjoint::cuda {
namespace {

std::vector<std::string>& folders() {
  static std::vector<std::string> known;
  return known;
}

void* open_first(const std::vector<std::string>& names, std::string& reason) {
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
