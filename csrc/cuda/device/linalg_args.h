// The parameters of the kernels around cuSOLVER, as the program fills them and the device reads them.
#pragma once

#include <cstdint>

#include "walk_args.h"

namespace adjoint::cuda {

inline constexpr int kDiagonalThreads = 32;  ///< a warp for each matrix
inline constexpr int kMatrixThreads = 256;   ///< a block for each matrix

/// The walk is over the matrices.
struct AddressArgs {
  char* data;
  char** out;
  int64_t itemsize;
  WalkArgs<1> walk;
};

/// Matrices of which the n elements on the diagonal count, `step` apart; those of the next one begin `matrix` further.
struct DiagonalArgs {
  const char* data;
  int32_t* integers;  ///< infos, or row swaps
  char *out, *logs;
  int64_t n, matrix, step;
};

struct PermutationArgs {
  const int32_t* swaps;
  char* out;
  int64_t count, rows, swaps_each;
};

/// Matrices of so many elements, and what is said of each.
struct FiniteArgs {
  char* data;
  int32_t* marks;
  int64_t size;
};
struct SpoilArgs {
  char *values, *vectors;
  const int32_t* marks;
  int32_t* infos;
  int64_t values_each, vectors_each;
};

/// Square matrices of n columns.
struct MirrorArgs {
  char* data;
  int64_t numel, n;
  int32_t upper;
};

/// Columns of so many rows, of which those from `from` on count.
struct ResidualArgs {
  const char* data;
  char* out;
  int64_t from, rows;
};

/// Eigenvectors of real matrices as LAPACK has them: of a pair, the real and the imaginary part.
struct PairArgs {
  const char *values, *vectors;
  char* out;
  int64_t numel, n;
};

// ---- The exponential

struct OneNormArgs {
  const char* data;
  double* norms;
  int64_t n;
};
/// How often a matrix of this finite norm is halved, and squared in the end. Both sides count alike.
inline int squarings(double norm, double limit) {
  int count = 0;
  for (; norm > limit; norm /= 2) ++count;
  return count;
}
struct ScaleArgs {
  char* data;
  const double* norms;
  int64_t numel, size;
  double limit;
};
/// out = the sum of powers, each times a number, and of a number times the identity.
inline constexpr int kMostPowers = 4;
struct CombineArgs {
  const char* powers[kMostPowers];
  char* out;
  double factors[kMostPowers], identity;
  int64_t numel, n;
  int32_t count;
};
/// a = even + odd, and even - odd in place of even.
struct FractionArgs {
  char *a, *even;
  const char* odd;
  int64_t numel;
};
/// Squares take the place of matrices that have to be squared more than `done` times.
struct SquareArgs {
  char* data;
  const char* squares;
  const double* norms;
  int64_t numel, size;
  double limit;
  int32_t done;
};

}  // namespace adjoint::cuda
