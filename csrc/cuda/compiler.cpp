#include "cuda/compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "cuda/api/nvrtc.h"
#include "cuda/runtime.h"
#include "cuda/streams.h"

namespace adjoint::cuda {
namespace {

namespace fs = std::filesystem;

const nvrtc::Functions& compiler() {
  static Library library(nvrtc::kFiles);
  static const nvrtc::Functions found = [] {
    if (!library.open())
      fail("CUDA kernels are compiled by NVRTC, which was not found (", library.reason(),
           "); install it with: pip install ", wheel_name("cuda-nvrtc"));
    nvrtc::Functions functions;
    if (const std::string missing = functions.find(library); !missing.empty())
      fail("NVRTC has no ", missing, "; install a newer one with: pip install -U ", wheel_name("cuda-nvrtc"));
    int major = 0, minor = 0;
    functions.version(&major, &minor);
    if (major * 100 + minor < 1203)  // has no __builtin_bit_cast
      fail("NVRTC ", major, ".", minor, " is too old, kernels need 12.3; install a newer one with: pip install -U ",
           wheel_name("cuda-nvrtc"));
    return functions;
  }();
  return found;
}

/// sm_90 has instructions, those of groups of warps, that no later architecture has: they come with its full name.
std::string architecture_of(int capability) {
  return "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
}

/// FNV's hash of 64 bits, of which two from different beginnings make a name.
uint64_t hashed(uint64_t state, const std::string& text) {
  for (unsigned char c : text) state = (state ^ c) * 0x100000001b3ull;
  return (state ^ text.size()) * 0x100000001b3ull;
}

std::string headers_text() {
  std::string all;
  for (const DeviceSource* header = device_headers; header->name; ++header) (all += header->name) += header->text;
  return all;
}

std::string key_of(const std::string& source, int capability) {
  static const std::array<uint64_t, 2> headers = [] {
    int major = 0, minor = 0;
    compiler().version(&major, &minor);
    const std::string text = headers_text() + std::to_string(major) + "." + std::to_string(minor);
    return std::array{hashed(0xcbf29ce484222325ull, text), hashed(0x9e3779b97f4a7c15ull, text)};
  }();
  std::ostringstream name;
  name << std::hex << hashed(headers[0], source) << '-' << hashed(headers[1], source) << "-"
       << architecture_of(capability) << ".cubin";
  return name.str();
}

/// Where compiled kernels are kept; empty: nowhere.
const fs::path& cache_folder() {
  static const fs::path folder = [] {
    auto value = [](const char* name) { return fs::path(std::getenv(name) ? std::getenv(name) : ""); };
    fs::path chosen = value("ADJOINT_CACHE");
    if (chosen.empty() && !value("XDG_CACHE_HOME").empty()) chosen = value("XDG_CACHE_HOME") / "adjoint" / "kernels";
    if (chosen.empty() && !value("HOME").empty()) chosen = value("HOME") / ".cache" / "adjoint" / "kernels";
    std::error_code error;
    fs::create_directories(chosen, error);
    return error ? fs::path() : chosen;
  }();
  return folder;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

/// Whole or not at all: under another name first.
void write_file(const fs::path& path, const std::string& content) {
  const auto thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const fs::path draft = path.string() + "." + std::to_string(getpid()) + "." + std::to_string(thread);
  std::error_code error;
  {
    std::ofstream file(draft, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) {
      fs::remove(draft, error);
      return;
    }
  }
  fs::rename(draft, path, error);
  if (error) fs::remove(draft, error);
}

/// What profilers call a text's kernel: the words of its first line, if that is a comment; else the function that it
/// calls, with the op that this is for.
std::string name_of(const std::string& source) {
  auto word_at = [&](size_t at) {
    size_t end = at;
    while (end < source.size() && (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '_')) ++end;
    return source.substr(at, end - at);
  };
  if (source.starts_with("// ")) return "adjoint_" + word_at(3);
  const size_t declared = source.find("ADJOINT_KERNEL("), body = source.find('{', declared);
  if (declared == std::string::npos || body == std::string::npos) return "kernel";
  size_t call = source.find_first_not_of(" \n", body + 1);
  constexpr std::string_view kSpace = "adjoint::cuda::";
  if (source.compare(call, kSpace.size(), kSpace) == 0) call += kSpace.size();
  std::string name = "adjoint_" + word_at(call);
  constexpr std::string_view kOp = "using Op = ";
  if (const size_t op = source.find(kOp); op < declared) name += "_" + word_at(op + kOp.size());
  return name;
}

/// What is known of the texts of kernels.
struct Code {
  Code() { compiler(); }  // so that it ends before the compiler does
  ~Code() {
    if (getpid() != owner) static_cast<void>(new auto(std::move(begun)));  // a forked child has not the threads
  }
  Code(const Code&) = delete;
  const pid_t owner = getpid();
  std::mutex mutex;
  std::unordered_map<std::string, Function> loaded[kMaxDevices];
  /// By architecture and text; the end of the program waits for them.
  std::map<std::pair<int, std::string>, std::future<std::string>> begun;
};
Code& code() {
  static Code all;
  return all;
}

/// The file of a text's machine code; empty where none is kept.
fs::path cached_path(const std::string& source, int capability) {
  return cache_folder().empty() ? fs::path() : cache_folder() / key_of(source, capability);
}

std::string compile_and_keep(const std::string& source, int capability, const fs::path& path) {
  std::string text = compile(source, capability);
  if (!path.empty()) write_file(path, text);
  return text;
}

}  // namespace

std::string compile(const std::string& source, int capability) {
  const nvrtc::Functions& api = compiler();
  std::vector<const char*> names, texts;
  for (const DeviceSource* header = device_headers; header->name; ++header) {
    names.push_back(header->name);
    texts.push_back(header->text);
  }
  nvrtc::Program program = nullptr;
  const auto count = static_cast<int>(names.size());
  if (api.create(&program, source.c_str(), "kernel.cu", count, texts.data(), names.data()) != nvrtc::kOk)
    fail("NVRTC took no program");
  const std::string architecture = "--gpu-architecture=" + architecture_of(capability);
  const std::string name = "-DADJOINT_KERNEL_NAME=" + name_of(source);
  const char* options[] = {architecture.c_str(),      "--std=c++20", "-default-device",
                           "-DADJOINT_DEVICE_CODE=1", name.c_str(),  "-diag-suppress=177"};
  const int result = api.compile(program, static_cast<int>(std::size(options)), options);
  size_t size = 0;
  std::string text;
  if (result != nvrtc::kOk) {
    api.log_size(program, &size);
    text.resize(size);
    api.log(program, text.data());
    api.destroy(&program);
    fail("a kernel does not compile for sm_", capability, ":\n", text, "\n", source);
  }
  api.code_size(program, &size);
  text.resize(size);
  api.code(program, text.data());
  api.destroy(&program);
  return text;
}

Function compiled(int device, const std::string& source) {
  std::lock_guard lock(code().mutex);
  auto& loaded = code().loaded[device];
  if (const auto entry = loaded.find(source); entry != loaded.end()) [[likely]]
    return entry->second;
  if (const char* folder = std::getenv("ADJOINT_CUDA_KEEP_SOURCES"))
    write_file(fs::path(folder) / (std::to_string(std::hash<std::string>()(source)) + ".cu"), source);
  const int capability = use(device).capability;
  const RelaxedCapture relaxed;
  const fs::path path = cached_path(source, capability);
  Module module = nullptr;
  Function function = nullptr;
  const std::string name = name_of(source);
  auto find = [&] { return driver().get_function(&function, module, name.c_str()); };
  std::string text;
  if (const auto begun = code().begun.find({capability, source}); begun != code().begun.end()) {
    std::future<std::string> future = std::move(begun->second);
    code().begun.erase(begun);
    text = future.get();
  } else if (!path.empty()) {
    text = read_file(path);
  }
  // A file may be spoilt, or of a version that gave kernels other names.
  if (text.empty() || driver().load_module(&module, text.data()) != kSuccess || find() != kSuccess) {
    text = compile_and_keep(source, capability, path);
    check(driver().load_module(&module, text.data()), "loading a kernel");
    check(find(), "finding a kernel");
  }
  return loaded[source] = function;
}

void open_compiler() {
  try {
    compiler();
  } catch (const Error&) {  // whoever needs it says so
  }
}

bool is_new(int device, const std::string& source) {
  std::lock_guard lock(code().mutex);
  return !code().loaded[device].contains(source);
}

void compile_ahead(int device, const std::string& source) {
  const int capability = use(device).capability;
  std::lock_guard lock(code().mutex);
  if (code().loaded[device].contains(source) || code().begun.contains({capability, source})) return;
  const fs::path path = cached_path(source, capability);
  std::error_code error;
  if (!path.empty() && fs::exists(path, error)) return;
  try {
    code().begun[{capability, source}] = std::async(std::launch::async, compile_and_keep, source, capability, path);
  } catch (const std::system_error&) {  // the system gives no more threads
    code().begun.erase({capability, source});
  }
}

}  // namespace adjoint::cuda
