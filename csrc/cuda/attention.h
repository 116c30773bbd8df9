// Attention on a device; kernels/attention.h says what each function does.
#pragma once

#include "kernels/attention.h"

namespace adjoint::cuda {

bool attention_takes_halves(const View& query);
bool attention_takes_extras(const View& query);
void attention(const kernels::AttentionInputs& of, const View& out, const View& logsumexp);
void attention_backward(const kernels::AttentionInputs& of, const View& grad, const View& out, const View& logsumexp,
                        const View& for_query, const View& for_key, const View& for_value);
void attention_kept(const View& draws, double dropped, const View& out);

}  // namespace adjoint::cuda
