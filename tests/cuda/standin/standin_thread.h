// What a thread of a kernel knows of itself, and whom it asks: written by blocks.cpp, read by cuda_shim.h.
#pragma once

#include <cstddef>

struct StandinIndex {
  unsigned x, y, z;
};
struct StandinThread {
  StandinIndex thread, block, block_size, grid_size;
  char* shared;
  // `code`: the place in the kernel, for messages
  void (*barrier)(int scope, const void* code);                                // 0: the block, 1: the warp
  void (*exchange)(const void* mine, void* all, int size, const void* code);   // of a warp
  void (*access)(const void* place, size_t bytes, int how, const void* code);  // checks.h
  void (*report)(const char* what, const void* code);
  // Copies of 16 bytes into shared memory; from nothing: of zeros. They are made when they are waited for.
  void (*begin_copy)(void* to, const void* from, const void* code);
  void (*close_group)();
  void (*wait_for_groups)(size_t open, const void* code);
  unsigned lanes;  // of this warp
};
