// A stand-in for NVIDIA's run-time compiler: the C++ compiler makes a library of each text.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"
#include "driver.h"

namespace {

struct Program {
  std::string source, log, code;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::filesystem::path work_folder() {
  const char* folder = std::getenv("ADJOINT_STANDIN_FOLDER");
  return folder ? folder : "/tmp/adjoint-standin";
}

std::string hash_of(const std::string& text) {
  unsigned long long state = 0xcbf29ce484222325ull, other = 0x9e3779b97f4a7c15ull;
  for (unsigned char c : text) {
    state = (state ^ c) * 0x100000001b3ull;
    other = (other + c) * 0xff51afd7ed558ccdull;
    other ^= other >> 29;
  }
  std::ostringstream name;
  name << std::hex << state << other;
  return name.str();
}

int run(const std::string& command, std::string& output) {
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (!pipe) return 1;
  char part[4096];
  while (size_t n = std::fread(part, 1, sizeof(part), pipe)) output.append(part, n);
  return pclose(pipe);
}

/// A header that lies beside this library.
std::string own_header(const char* name) {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&work_folder), &info);
  std::ifstream file(std::filesystem::canonical(info.dli_fname).parent_path() / name);  // a link's own folder lacks it
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  const auto draft = path.string() + "." + std::to_string(getpid());
  std::ofstream(draft) << text;
  std::filesystem::rename(draft, path);
}

std::string compiler() {
  const std::string command = "g++ -std=c++20 -O1 -fPIC -fno-gnu-unique -w -ffp-contract=off -DADJOINT_DEVICE_CODE=1 ";
  if (!standin::checks::wanted()) return command;
  // The calls that the compiler puts in are answered by cuda_shim.h.
  return command +
         "-g1 -fsanitize=thread,alignment,bounds --param tsan-instrument-func-entry-exit=0 "
         "--param tsan-distinguish-volatile=1 -DADJOINT_STANDIN_CHECK=1 ";
}

/// The folder of the headers, with a precompiled prelude.
std::filesystem::path headers_folder(const Program& program) {
  const std::string shim = own_header("cuda_shim.h"), thread = own_header("standin_thread.h");
  std::string all = compiler() + shim + thread;
  for (const auto& [name, text] : program.headers) all += name + text;
  const auto folder = work_folder() / ("headers-" + hash_of(all));
  if (std::filesystem::exists(folder / "prelude.h.gch")) return folder;
  for (const auto& [name, text] : program.headers)
    if (name.find('.') != std::string::npos && name != "std.h") write(folder / name, text);
  write(folder / "cuda_shim.h", shim);
  write(folder / "standin_thread.h", thread);
  write(folder / "prelude.h", "#include \"cuda_shim.h\"\n#include \"elementwise.h\"\n");
  std::string log;
  const auto draft = (folder / "prelude").string() + std::to_string(getpid());
  run(compiler() + ("-x c++-header -I" + folder.string()) + " -o " + draft + " " + (folder / "prelude.h").string(),
      log);
  if (std::filesystem::exists(draft)) std::filesystem::rename(draft, folder / "prelude.h.gch");
  if (!log.empty()) std::fprintf(stderr, "stand-in: %s\n", log.c_str());
  return folder;
}

int compile(Program& program) {
  const auto headers = headers_folder(program);
  const auto library = work_folder() / ("kernel-" + hash_of(headers.string() + program.source) + ".so");
  if (!std::filesystem::exists(library)) {
    const auto source = library.string() + "." + std::to_string(getpid()) + ".cpp";
    write(source, program.source);
    const std::string object = source + ".o", draft = source + ".so";
    const std::string command = compiler() + "-c -include " + (headers / "prelude.h").string() + " -I" +
                                headers.string() + " -o " + object + " " + source + " && g++ -shared -o " + draft +
                                " " + object;
    if (run(command, program.log) != 0) return 6;
    std::filesystem::rename(draft, library);
    for (const std::string& done : {source, object}) std::filesystem::remove(done);
  }
  program.code = "standin:" + library.string();
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  const char* given = std::getenv("ADJOINT_STANDIN_NVRTC");
  const int version = given ? std::atoi(given) : 1300;
  *major = version / 100;
  *minor = version % 100;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int count, const char* const* texts,
                       const char* const* names) {
  *program = new Program{source, {}, {}, {}};
  for (int i = 0; i < count; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  standin::begin_call("nvrtcCompileProgram");
  return compile(*program);
}
int nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

}  // extern "C"
