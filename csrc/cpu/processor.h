// What the processor has that no loop here is compiled for.
#pragma once

namespace adjoint::cpu {

/// Whether it multiplies tiles of halves.
bool has_amx_fp16();

}  // namespace adjoint::cpu
