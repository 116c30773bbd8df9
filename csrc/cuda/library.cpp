#include "cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <limits>

namespace adjoint::cuda {
namespace {

std::vector<std::string>& folders() {
  static std::vector<std::string> known;
  return known;
}
int newest_cuda = std::numeric_limits<int>::max();

/// Folders as a program names them, and those of wheels.
std::vector<std::string> places_before_the_system() {
  std::vector<std::string> places;
  if (const char* chosen = std::getenv("ADJOINT_CUDA_LIBRARIES")) places.emplace_back(chosen);
  places.insert(places.end(), folders().begin(), folders().end());
  return places;
}

/// Where CUDA puts itself without telling the loader.
std::vector<std::string> places_after_the_system() {
  std::vector<std::string> places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name)) places.push_back(std::string(root) + "/lib64");
  places.emplace_back("/usr/local/cuda/lib64");
  return places;
}

/// Opens a file. A wheel finds what it needs only beside itself; what it misses is looked for in all other folders.
/// `complaint` is the loader's first one of a file that is there.
void* open_file(const std::string& path, const std::vector<std::string>& places, std::string& complaint) {
  for (std::string before;;) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const std::string words = dlerror();
    const std::string missed = words.substr(0, words.find(": cannot open shared object file"));
    if (missed == path) return nullptr;
    void* needed = nullptr;
    std::string other;
    if (missed != words && missed != before)
      for (const std::string& place : places)
        if (!needed) needed = open_file(place + "/" + missed, places, other);
    if (!needed) {
      if (complaint.empty()) complaint = words;
      return nullptr;
    }
    before = missed;
  }
}

void* open_first(std::span<const LibraryFile> files, std::string& path, std::string& complaint) {
  const std::vector<std::string> before = places_before_the_system(), after = places_after_the_system();
  auto attempt = [&](const std::string& folder) -> void* {
    for (const LibraryFile& file : files)
      if (file.cuda <= newest_cuda)
        if (void* handle = open_file(path = folder + file.name, before, complaint)) return handle;
    return nullptr;
  };
  for (const std::string& place : before)
    if (void* handle = attempt(place + "/")) return handle;
  if (void* handle = attempt("")) return handle;
  for (const std::string& place : after)
    if (void* handle = attempt(place + "/")) return handle;
  path.clear();
  return nullptr;
}

}  // namespace

void set_library_folders(std::vector<std::string> known) { folders() = std::move(known); }
void set_newest_cuda(int major) { newest_cuda = major; }

std::string wheel_name(const std::string& library) {
  const bool old = newest_cuda < 13;
  if (library == "cudnn") return old ? "nvidia-cudnn-cu12" : "nvidia-cudnn-cu13";
  return "nvidia-" + library + (old ? "-cu12" : "");
}

bool Library::open() {
  if (!tried_) handle_ = open_first(files_, path_, complaint_);
  tried_ = true;
  return handle_ != nullptr;
}

std::string Library::reason() const {
  if (!complaint_.empty()) return complaint_;
  std::string names;
  for (const LibraryFile& file : files_)
    if (file.cuda <= newest_cuda) (names += names.empty() ? "no " : ", no ") += file.name;
  return names + " on this machine";
}

void* Library::find(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace adjoint::cuda
