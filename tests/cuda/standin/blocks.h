// Runs the threads of a kernel's blocks on the CPU, one after the other: each has a stack of its own, and goes on until
// it ends or meets a barrier.
#pragma once

#include <string>

#include "driver.h"
#include "standin_thread.h"

namespace standin {

/// A compiled text.
struct Module {
  explicit Module(const std::string& path);
  void* handle = nullptr;  ///< null where it could not be opened
  std::string path;
  Span image;   ///< its addresses
  Span shared;  ///< of these, what is __shared__: all that has no first value
};

struct Kernel {
  const Module* module;
  void (*function)(void**);
  size_t parameter_bytes;
  unsigned most_shared = 48 << 10;  ///< bytes that a launch may ask for
};

struct Launch {
  Kernel kernel;
  StandinIndex grid, block;
  size_t shared_bytes;
  void* parameter;
};
void run(const Launch& launch);

/// The thread that runs, and its stack.
const StandinThread& running_thread();
Span running_stack();

}  // namespace standin
