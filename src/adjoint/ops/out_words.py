"""What several ops say of an out= of the wrong type; see Note [Errors] in declaration.py."""

FOUND_DTYPE = "Found dtype {given} but expected {expected}"
EXPECTED_SCALAR_TYPE = "expected scalar type {expected} but found {given}"
CUMULATIVE = "expected scalar_type {expected} but found {given}"
EXPECTED_OBJECT = "Expected object of scalar type {expected} but got scalar type {given} for argument 'out'"
MATCH_INPUT = (
    "Expected the dtype for input and out to match, but got {expected} for input's dtype and {given} for out's dtype."
)
DOT = "result dtype {given} does not match input dtype {expected}"
TENSORDOT = (
    "tensordot: Expected the output tensor to have dtype {expected}, but got an output tensor with dtype {given}"
)
QUANTILE = "quantile() out tensor must be same dtype as the input tensor"
HISTOGRAM = (
    "torch.histogram: input tensor and hist tensor should have the same dtype, "
    "but got input {expected_c} and hist {given_c}"
)
MEDIAN = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; "
    "but type torch.{given}Tensor does not equal torch.{expected}Tensor (while checking arguments for median)",
    "Expected tensor for argument #1 'indices' to have scalar type {expected}; "
    "but got torch.{given}Tensor instead (while checking arguments for median)",
)
SEARCHSORTED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {given} and out_int32 flag is {is_int32}"
)
CAT = TypeError("torch.cat(): input types can't be cast to the desired output type {given}")


def same_scalar_type(name):
    """For an out= that takes elements of `self`."""
    return f"{name}(): self and result must have the same scalar type"


def bool_only(name):
    """For reductions to bool."""
    return f"{name} only supports bool tensor for result, got: {{given}}"


def not_boolean(name):
    """For tests of each element."""
    return f"{name} does not support non-boolean outputs."


def castable(name, result="result"):
    """For an out= that the result cannot be cast to."""
    return (
        f"{name}: Expected {result} to be safely castable from {{expected}} dtype, "
        f"but got {result} with dtype {{given}}"
    )


def transform(name):
    """For Fourier transforms."""
    return f"{name} expects a {{kind}} output tensor, but got {{given}}; give an out= of the result's type"
