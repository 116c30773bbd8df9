// Random numbers on a device, from a Philox generator: see Note [Counters] in cuda/device/philox.h.
#pragma once

#include "core/generator.h"
#include "core/view.h"
#include "kernels/random.h"

namespace adjoint::cuda {

// As kernels/random.h has them.
void random_uniform(Generator& generator, const View& out, double low, double high);
void random_normal(Generator& generator, const View& out, double mean, double std);
void random_integers(Generator& generator, const View& out, int64_t low, int64_t high);
void random_integers_from(Generator& generator, const View& out, int64_t low);
void random_all_integers(Generator& generator, const View& out);
void random_bernoulli(Generator& generator, const View& out, double p);
void random_bernoulli_each(Generator& generator, const View& out, const View& p);
void random_exponential(Generator& generator, const View& out, double lambda);
void random_geometric(Generator& generator, const View& out, double p);
void random_log_normal(Generator& generator, const View& out, double mean, double std);
void random_cauchy(Generator& generator, const View& out, double median, double sigma);
void random_permutation(Generator& generator, const View& out);
void random_poisson(Generator& generator, const View& rates);
void random_binomial(Generator& generator, const View& counts, const View& chances);
void random_gamma(Generator& generator, const View& shapes);
void shares(const View& numbers, int64_t length, DType type);
void gamma_slopes(const View& shapes, const View& draws);
void beta_slopes(const View& draws, const View& firsts, const View& totals);
bool has_negative(const View& values);

/// The family.
void set_random(kernels::Random& table);

}  // namespace adjoint::cuda
