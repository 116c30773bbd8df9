// cuSOLVER, found when linear algebra first needs it.
#pragma once

#include "core/view.h"
#include "cuda/api/cusolver.h"

namespace adjoint::cuda {

/// Whether both libraries are there. Warns once where they are not, of what to install.
bool has_cusolver();
/// Whether the library has eigenvalues of general matrices.
bool has_general_eigenvalues();

/// The routines for a type and what they are given, on the device's current stream, for this thread.
struct Solver {
  const cusolver::TypedRoutines& of;
  const cusolver::CommonRoutines& common;
  cusolver::Handle handle;
  cublas::Handle blas;
  cusolver::EigenOptions eigen;
  cusolver::SingularOptions singular;
  cusolver::Parameters parameters;
  int type;  ///< NVIDIA's number of it
  bool is_complex;
  Device device;

  /// Fails where a status says so; `what` was being done.
  void check(int status, const char* what) const;
};
Solver solver_for(Device device, DType dtype);

}  // namespace adjoint::cuda
