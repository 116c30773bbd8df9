"""Random numbers: tensors made of them, and fills in place.

What torch records for them is a node that passes zeros on: what was there before, or the parameters of a distribution,
have no influence that a derivative could tell.
"""

from .creation import LIKE, MADE
from .language import op, zeros_like

# fmt: off

FILL = {"inplace": "only", "function": False, "input": lambda g: zeros_like(g)}

op("rand(size, *, generator=None)", native="create_rand", varargs="size", **MADE, doc="Uniform numbers from [0, 1).")
op("randn(size, *, generator=None)", native="create_randn", varargs="size", **MADE, doc="Standard normal numbers.")
op("randint(low=0, high=None, size=None, *, generator=None)", native="create_randint", short="high size", **MADE,
   doc="Whole numbers from [low, high).")
op("randperm(n, *, generator=None)", native="create_randperm", **MADE, doc="A random permutation of 0 ... n - 1.")
op("rand_like(input, *, generator=None, memory_format=None)", native="rand_like", **LIKE,
   doc="rand() of the input's shape and type.")
op("randn_like(input, *, generator=None, memory_format=None)", native="randn_like", **LIKE,
   doc="randn() of the input's shape and type.")
op("randint_like(input, low=0, high=None, *, generator=None, memory_format=None)", native="randint_like",
   short="input high", **LIKE, doc="randint() of the input's shape and type.")
op("normal(mean, std=None, size=None, *, generator=None)", native="create_normal", creates=True, out="typed",
   method=False, node="NormalBackward3", number_nodes={"mean": "NormalBackward2", "std": "NormalBackward1"},
   mean=lambda g: zeros_like(g),
   std=lambda g: zeros_like(g),
   doc="Normal numbers, with tensors for the mean or the deviation, or of a size.")

# The type of the result, which an out= gives, is no argument of torch's.
op("bernoulli(input, p=None, *, generator=None, dtype=None)", loop="bernoulli_tensor_cpu_self_",
   native="bernoulli", out="typed",
   input=lambda g: zeros_like(g),
   doc="Ones with the probabilities of input, or with probability p.")
op("poisson(input, generator=None)", native="poisson", method=False,
   input=lambda g: zeros_like(g),
   doc="Counts of events with these rates.")
op("binomial(count, prob, generator=None)", native="binomial", method=False, count=None, prob=None,
   doc="Successes in so many trials with these probabilities.")

op("uniform(input, from_=0.0, to=1.0, *, generator=None)", loop="check_uniform_bounds",
   stored="complex32", inplace_native="uniform_", **FILL,
   doc="Uniform numbers from [from, to).")
op("normal_numbers(input, mean=0.0, std=1.0, *, generator=None)", loop="normal_kernel_cpu", stored="complex32",
   inplace_native="normal_", shown="normal",
   node="NormalBackward0", **FILL, doc="Normal numbers.")
op("random(input, from_=None, to=None, *, generator=None)", inplace_native="random_", short="input to",
   node="RandomBackward2", number_nodes={"from": "RandomBackward0", "to": "RandomBackward1"}, **FILL,
   doc="Whole numbers: from [from, to), or up to the greatest of the type.")
op("bernoulli_numbers(input, p=0.5, *, generator=None)", loop="bernoulli_scalar_cpu_", crosses=True,
   inplace_native="bernoulli_", shown="bernoulli",
   node="BernoulliBackward1", number_nodes={"p": "BernoulliBackward2"}, **FILL,
   p=lambda g: zeros_like(g),
   doc="Ones with probability p, else zeros.")
op("exponential(input, lambd=1.0, *, generator=None)", loop="exponential_cpu", inplace_native="exponential_", **FILL,
   doc="Exponential numbers.")
op("geometric(input, p, *, generator=None)", loop="geometric_cpu",
   inplace_native="geometric_", **FILL, doc="Geometric numbers.")
op("log_normal(input, mean=1.0, std=2.0, *, generator=None)", loop="log_normal_cpu",
   inplace_native="log_normal_", **FILL,
   doc="Log-normal numbers.")
op("cauchy(input, median=0.0, sigma=1.0, *, generator=None)", loop="cauchy_cpu",
   inplace_native="cauchy_", **FILL, doc="Cauchy numbers.")
