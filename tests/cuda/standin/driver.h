// What the parts of the stand-in use of its driver (driver.cpp).
#pragma once

#include <cstddef>
#include <functional>

namespace standin {

/// Does this when somebody waits for the device, after what was given before it.
void enqueue(std::function<void()> work);
/// Counts a call by its name; gives the error that a test has told it to have, or 0.
int begin_call(const char* name);
/// Whether a graph is captured, and what takes memory or loads code is refused.
bool is_strict();

/// Addresses from `first` on, without `last`.
struct Span {
  const char* first = nullptr;
  const char* last = nullptr;
  bool holds(const char* place, size_t bytes) const { return place >= first && place + bytes <= last; }
};
/// What device memory a driver's allocation has at this address; empty: none has it.
Span device_piece(const char* place);
/// What pinned memory of the program has it.
Span pinned_piece(const char* place);

}  // namespace standin
