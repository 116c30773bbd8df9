"""What an op declares: its signature, its options and its derivative rules, checked.

Shared by the running package and by the generator, so it imports nothing.
"""

AUTOCASTS = (
    *(None, "lower", "float32", "promote", "off"),
    *("none, float32", "none, promote", "none, lower", "float32, none", "float32, promote", "promote, none"),
    "off, lower",
)
INTEGER_CHECKS = (None, "divisor", "exponent")
# The keywords of functions that make tensors; csrc/op/creation.h has them in the same order.
CREATION = "dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False"
KINDS = ("elementwise", "op", "view", "composite")
RESULTS = ("same", "bool", "real")
PROMOTIONS = ("same", "float", "never")
REFUSED = ("bool", "integer", "complex")
TYPES = ("float", "half", "complex", "integer", "bool")


class DeclarationError(ValueError):
    """A declaration that cannot be right; the message names the op, the argument and the place."""


def parameter_names(function):
    """The names of the parameters of a Python function, in order."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parse_signature(signature):
    """Splits "add(input, other, *, alpha=1)" into (name, argument names, defaults by name, positional count).

    The argument that is called from, a word of Python, is written from_.
    """
    name, opening, rest = signature.partition("(")
    if not name.isidentifier() or not opening or not rest.endswith(")"):
        raise DeclarationError(f"{signature!r}: expected a signature such as 'add(input, other, *, alpha=1)'")
    arguments, defaults, positional = [], {}, None
    for part in split_arguments(rest[:-1]):
        if part == "*" and positional is None:
            positional = len(arguments)
            continue
        argument, equals, default = part.partition("=")
        if not argument.isidentifier() or argument in arguments or (defaults and not equals and positional is None):
            raise DeclarationError(f"{signature!r}: the argument list is not valid Python at {part!r}")
        argument = "from" if argument == "from_" else argument
        arguments.append(argument)
        if equals:
            defaults[argument] = literal(signature, default)
    return name, tuple(arguments), defaults, len(arguments) if positional is None else positional


def split_arguments(text):
    """The arguments of a signature: what stands between commas, but for those inside of brackets."""
    parts = text.split(", ") if text else []
    if "(" not in text and "[" not in text:
        return parts
    joined = []
    for part in parts:
        if joined and joined[-1].count("(") + joined[-1].count("[") > joined[-1].count(")") + joined[-1].count("]"):
            joined[-1] += f", {part}"
        else:
            joined.append(part)
    return joined


# The defaults that signatures have, by how they are written: few, and each is in many of them.
_literals = {}


def literal(signature, text):
    """The value of a default."""
    if text not in _literals:
        try:
            _literals[text] = eval(text, {"__builtins__": {"inf": float("inf")}})
        except (SyntaxError, NameError) as error:
            raise DeclarationError(f"{signature!r}: defaults must be literals; came {text!r} ({error})") from None
    return _literals[text]


def creation_signature(signature, out):
    """The signature with the keywords of functions that make tensors."""
    head = signature.removesuffix(")")
    star = "" if " *, " in head else "*, "
    return f"{head}, {star}{CREATION}{', out=None' if out else ''})"


def node_name(name):
    """The name torch gives to the node of an op: logical_not -> LogicalNotBackward0, log1p -> Log1PBackward0."""
    letters, capital = [], True
    for letter in name:
        letters.append(letter.upper() if capital else letter)
        capital = letter == "_" or letter.isdigit()
    return "".join(letters).replace("_", "") + "Backward0"


def parse_terms(linear):
    """Splits "input + mat1 * mat2" into its terms, each a tuple of names: (("input",), ("mat1", "mat2"))."""
    return tuple(tuple(term.split(" * ")) for term in linear.split(" + ")) if linear else ()


# The fields of what composites return; those of ops stand in their declarations.
COMPOSITE_FIELDS = {
    "_lu_with_info": ("LU", "pivots", "info"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}
_return_types = {}


def return_type(name, fields=None):
    """The tuple type torch.return_types.<name>."""
    if name not in _return_types:
        _return_types[name] = _make_return_type(name, fields or COMPOSITE_FIELDS[name])
    return _return_types[name]


def _make_return_type(name, fields):
    import copyreg

    from .. import _C

    def represent(self):
        items = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{items})"

    made = _C._struct_sequence(f"torch.return_types.{name}", fields)
    made.__repr__ = represent
    # By its own name it would be looked for in torch.
    copyreg.pickle(made, lambda value: (restored, (name, tuple(value))))
    return made


def restored(name, values):
    """A named result that was pickled."""
    return return_type(name)(values)


def resolve_types(types):
    """The set of type families of "complex integer": floats always, unless the list begins with "only"."""
    words = types.split()
    if words[:1] == ["only"]:
        return frozenset(words[1:])
    return frozenset(words) | {"float", "half"}


class Declaration:
    """One op of the table. Attributes are the options below; derived from the signature are

    name        the op's name
    arguments   all argument names, in order
    defaults    default by argument name
    positional  how many arguments may be passed by position
    operands    elementwise: the arguments without default, each a tensor or a number
    params      elementwise: the arguments with a numeric default, passed to kernels as scalars
    rules       rule (or None: not differentiable) by argument name
    refusals    the error of a backward that asks for the gradient, given in a rule's place, by argument name
    uses        names that each rule's parameters ask for, by argument name
    fused_uses  the same of each fused form
    derived     elementwise: True when the rules are to be derived from the expression

    Options that need a word: `public=False` makes an op for the table alone, neither a function nor a method;
    `inplace` adds the form with a trailing underscore ("only": nothing but that form);
    `inplace_node` is the node's name in that form, where it differs; `inplace_native` its own C++ function, see
    Note [In place]; `uniform`: the results are all equal, so that in-place targets may have elements that share memory;
    `out` adds the keyword out= ("exact": of the result's type only; "kind": complex as the result is, or real and no
    integer; "typed": dtype= is by default the type of out=; several words: all of these);
    `out_words` says what an out= of a wrong type is told, where torch has words of the op's own, see Note [Errors];
    `crosses`: the arguments may be on several devices, as in a copy from one to another; of other ops only numbers may
    be tensors that are elsewhere;
    `sparse`: sparse arguments are as good as others, and need no handler of src/adjoint/sparse;
    `short` names the arguments of a second form, with fewer of them: "end" for arange(end), beside arange(start, end);
    `creates`: makes a new tensor. The keywords dtype=, layout=, device=, pin_memory= and requires_grad= are added to
    the signature, and out= if there is one; the C++ function gets them together, as ops::CreationOptions.

    `apart` names the arguments whose memory must not be written to, in place or by out=; `whole` those that may be what
    is written as a whole, but not in part, as may the operands of elementwise ops;
    `varargs` names the argument that takes all further positional arguments as a tuple;
    `number_nodes` gives the node's name when an argument is a number, not a tensor: {"exponent": "PowBackward0"};
    `numbers` names the operands that may be numbers, by default all but the first; "all" is for the operators of
    arithmetic, which take numbers only, too;
    `promote`: integers compute in the default "float" type; "never": the operands must be of one type;
    `stored` names the stored types (Note [Stored types] in csrc/core/dtype.h) that the op takes: "all", "unsigned",
    "float8", "complex32" or the name of one; an elementwise op computes in what stands for them. `widened` names those
    that an op with a C++ function gets converted to what stands for them; it gives floats and complex numbers back in
    the type that came, integers as int64, or with "back" as what they were, in its first result; "ordered" does so,
    too, and keeps the order of uint64. Others are refused;
    `loop` is what torch's errors call the loop that a type is not implemented in: by default the name of the op, with
    _cpu behind that of an elementwise one;
    `rounded` names the arguments whose numbers and 0-d tensors half types round to their own precision, before they
    compute in float32: by default the operands;
    a rule that returns a tuple gives the gradients of its argument and of those after it, whose rules are not asked;
    `fused` gives forms of rules by argument name, for a backward that wants no graph of the gradients: they may use
    kernels that have no derivative themselves, and what the forward has found. (Those of elementwise ops are made by
    the generator.)
    `gradient=False` is for what torch does not differentiate: the result never requires grad;
    `autocast` says what happens to floating point arguments while autocast is on: they become the "lower" type of the
    mode, "float32", or the widest among them ("promote"); float64 is left alone. "off": nothing is cast, and nothing
    inside of an op that is written in Python, as with the others. "none, float32" says it of the CPU and of a GPU;
    `shown` is the function that errors name, where several ops share its work: "sum" for sum_all and sum_dim;
    `refuse` gives the errors of types that the op is not defined for, where torch has words of the op's own, see
    Note [Errors];
    `factor` names the parameter that multiplies an operand: it may not be of a higher category than the result;
    `powers` names the ops that stand for this one, for floats, when the second operand is the number 2, 3, 0.5 or
    another one but 0;
    `integers` says that, among integers, the last operand is a "divisor" (not zero) or an "exponent" (not negative);
    `linear` is the op as a sum of products of its arguments, see Note [Linear ops].
    """

    # Note [Errors]
    #
    # An error is given as a string, for a RuntimeError, or as an exception. `refuse` gives it by what is refused, which
    # is looked at in this order:
    #
    #     "bool", "complex"           the type in which an elementwise op computes
    #     "any bool"                  the type of some operand
    #     "integer tensor1 tensor2"   the types of all of these operands; bool counts as integer
    #     "mixed"                     tensors of several types, for promote="never"; a string
    #
    # `out_words` is one error, or a tuple of them, one for each result. In it, {given} is the type of out= and
    # {expected} that of the result, such as Float; {given_c} and {expected_c} the same as C has it, such as float;
    # {kind} is "complex" or "floating point", as the result is; {is_int32} says whether it is of 32-bit integers.

    # Note [In place]
    #
    # The form with a trailing underscore computes a whole new result and copies it into the first argument, unless
    # `inplace_native` names a function of csrc/ops that writes there and nowhere else:
    #
    #     void index_put_(Tensor* input, Indices indices, Tensor* values, bool accumulate);
    #
    # It has the parameters of the op, and must check all of them before it writes, so that an error leaves its input as
    # it was. An op that has no other form (`inplace="only"`) may leave out `native`.

    # Note [Linear ops]
    #
    # `linear` names the arguments in which an op is linear, and how they meet, as a formula of names:
    #
    #     "input"                 linear in it: views, sums, Fourier transforms
    #     "input + other"         linear in both together: add, where, scatter_add
    #     "input * other"         linear in each while the other is fixed: mul, matmul
    #     "input + mat1 * mat2"   a sum of such terms: addmm, convolution with its bias
    #
    # Signs, factors and all other arguments are constants here, and left out. An argument may be a list of tensors
    # (cat), which counts as one; a number (the value of masked_fill), whose tangent is zero; or None, a factor of one.
    # Linear means over the real numbers, f(ax + by) = a f(x) + b f(y) for real a and b, so that conj() and
    # view_as_real() are linear, too. It speaks of the results that carry gradients, and must hold whatever the other
    # arguments are: an op that is linear for reduce="sum" alone is not.
    #
    # The tangent of such an op is the op itself, with tangents in the place of arguments: `substitutions` lists the
    # calls to be added. tests/test_linear.py finds the formula of every op from its values, and compares.

    __slots__ = (
        "alias",
        "apart",
        "arguments",
        "autocast",
        "batch",
        "composed",
        "creates",
        "crosses",
        "defaults",
        "derived",
        "doc",
        "expression",
        "factor",
        "forward",
        "function",
        "fused",
        "fused_uses",
        "gradient",
        "inplace",
        "inplace_native",
        "inplace_node",
        "integers",
        "jvp",
        "kind",
        "linear",
        "loop",
        "method",
        "mixed",
        "name",
        "namespace",
        "native",
        "node",
        "number_nodes",
        "numbers",
        "operands",
        "out",
        "out_words",
        "outputs",
        "params",
        "positional",
        "powers",
        "promote",
        "refusals",
        "refused",
        "result",
        "rounded",
        "rules",
        "short",
        "shown",
        "signature",
        "sparse",
        "stored",
        "types",
        "uniform",
        "uses",
        "varargs",
        "whole",
        "widened",
    )

    def __init__(
        self,
        kind,
        signature,
        expression=None,
        *,
        native=None,
        composed=None,
        forward=None,
        outputs=None,
        result="same",
        promote="same",
        types="",
        stored="",
        widened="",
        loop=None,
        node=None,
        number_nodes=None,
        numbers=None,
        rounded=None,
        gradient=True,
        integers=None,
        factor=None,
        powers=(),
        refuse=None,
        shown=None,
        autocast=None,
        varargs=None,
        linear="",
        jvp=None,
        batch=None,
        inplace=None,
        inplace_native=None,
        inplace_node=None,
        uniform=False,
        out=None,
        out_words=None,
        apart=(),
        creates=False,
        short="",
        crosses=False,
        sparse=False,
        whole=(),
        public=True,
        method=True,
        function=True,
        namespace="",
        alias=(),
        doc=None,
        fused=None,
        **rules,
    ):
        self.kind = kind
        if creates:
            signature = creation_signature(signature, out)
        self.signature = signature
        self.name, self.arguments, self.defaults, self.positional = parse_signature(signature)
        self.expression = expression
        self.native = native
        self.composed = composed
        self.forward = forward
        self.outputs = outputs
        self.result = result
        self.promote = promote
        self.types = resolve_types(types)
        self.stored = tuple(stored.split())
        self.widened = tuple(widened.split())
        self.loop = loop or (f"{self.name}_cpu" if kind == "elementwise" else None)
        self.node = node or node_name(self.name)
        self.number_nodes = number_nodes or {}
        self.numbers = numbers
        self.rounded = rounded
        self.gradient = gradient
        self.integers = integers
        self.factor = factor
        self.powers = powers
        self.shown = shown or self.name
        self.autocast = autocast
        self.varargs = varargs
        self.linear = parse_terms(linear)
        self.jvp = jvp
        self.batch = batch
        self.inplace = kind == "elementwise" and result != "real" if inplace is None else inplace
        self.inplace_native = inplace_native
        self.inplace_node = inplace_node
        self.uniform = uniform
        self.out = kind == "elementwise" if out is None else out
        self.out_words = out_words
        self.apart = apart
        self.creates = creates
        self.short = tuple(short.split())
        self.crosses = crosses
        self.sparse = sparse
        self.whole = whole
        self.method = public and method
        self.function = public and function
        self.namespace = namespace
        self.alias = alias
        self.doc = doc
        self.set_rules(rules)
        self.fused = fused or {}
        self.fused_uses = {argument: parameter_names(rule) for argument, rule in self.fused.items()}
        self.operands = ()
        self.params = ()
        self.derived = False
        self._check_options()
        self._set_refused(refuse or {})
        if kind == "elementwise":
            self._check_elementwise()
        self._check_rules()
        self._check_linear()

    def set_rules(self, rules):
        """Takes the rules by argument name, and notes what each of them asks for."""
        self.refusals = {argument: rule for argument, rule in rules.items() if isinstance(rule, str)}
        self.rules = {argument: None if argument in self.refusals else rule for argument, rule in rules.items()}
        self.uses = {argument: parameter_names(rule) for argument, rule in self.rules.items() if rule is not None}

    @property
    def result_type(self):
        """The named tuple of an op with several named results, or None."""
        return return_type(self.name.removesuffix("_dim"), self.outputs) if self.outputs else None

    @property
    def place(self):
        """Where the declaration stands, as "file:line", as far as its functions tell."""
        for function in (self.expression, self.forward, *self.rules.values()):
            if hasattr(function, "__code__"):
                return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        return ""

    @property
    def identity_rules(self):
        """The arguments whose gradient is the incoming one as it is."""
        plain = (lambda g: g).__code__
        return tuple(
            argument
            for argument, rule in self.rules.items()
            if rule is not None and self.uses[argument] == ("g",) and rule.__code__.co_code == plain.co_code
        )

    @property
    def unit_rules(self):
        """The arguments whose gradient is the incoming one as it is where the factor is 1: rules of both of them."""
        g = object()

        def passes(rule):
            try:
                return rule(g, 1) is g
            except TypeError:  # it does something to g
                return False

        wanted = ("g", self.factor)
        return tuple(name for name, rule in self.rules.items() if self.uses.get(name) == wanted and passes(rule))

    @property
    def substitutions(self):
        """The calls whose sum is the tangent of a linear op: pairs of names, (those that their tangents replace, those
        that zeros replace). Arguments that share no term are replaced together: addmm takes two calls, add one."""
        names = tuple(dict.fromkeys(name for term in self.linear for name in term))

        def meets(name, others):
            return any(name in term and other in term for term in self.linear for other in others)

        groups = []
        for name in names:
            group = next((group for group in groups if not meets(name, group)), None)
            if group is None:
                groups.append([name])
            else:
                group.append(name)
        return tuple((tuple(group), tuple(name for name in names if not meets(name, group))) for group in groups)

    @property
    def jvp_uses(self):
        """The names that the parameters of `jvp` ask for."""
        return parameter_names(self.jvp) if self.jvp else ()

    @property
    def batch_rule(self):
        """The batch rule as a function, or None; the words of batching.py are looked up there."""
        if not isinstance(self.batch, str):
            return self.batch
        from .batching import rule_of

        return rule_of(self.batch, self.arguments)

    @property
    def random(self):
        """Whether the op draws numbers."""
        return "generator" in self.arguments

    @property
    def differentiable(self):
        """Whether results can carry a gradient at all."""
        return self.gradient and self.result != "bool" and bool(self.types & {"float", "complex"})

    def fail(self, problem):
        """Raises a DeclarationError about this declaration."""
        place = self.place
        raise DeclarationError(f"{self.name}: {problem}" + (f" ({place})" if place else ""))

    def _set_refused(self, refuse):
        """Splits the keys of `refuse` into words, the type family first; `mixed` goes apart."""
        refuse = dict(refuse)
        self.mixed = refuse.pop("mixed", None)
        self.refused = {}
        for key, error in refuse.items():
            first, *others = key.split()
            words = (others[0], "any") if first == "any" and len(others) == 1 else (first, *others)
            if words[0] not in REFUSED or (words[1:] != ("any",) and not set(words[1:]) <= set(self.arguments)):
                self.fail(
                    f"refuse has the key {key!r}; expected 'bool', 'any bool', 'bool input' or the like, or 'mixed'"
                )
            self.refused[words] = error
        if (refuse or self.mixed) and self.kind != "elementwise":
            self.fail("refuse is for elementwise ops; other functions refuse types themselves")
        if self.mixed and self.promote != "never":
            self.fail("refuse has the key 'mixed', but the operands are promoted")

    def _check_options(self):
        if self.kind not in KINDS:
            self.fail(f"unknown kind {self.kind!r}; expected one of {', '.join(KINDS)}")
        if self.result not in RESULTS:
            self.fail(f"result={self.result!r} is not one of {', '.join(RESULTS)}")
        if self.promote not in PROMOTIONS:
            self.fail(f"promote={self.promote!r} is not one of {', '.join(PROMOTIONS)}")
        if self.integers not in INTEGER_CHECKS:
            self.fail(f"integers={self.integers!r} is not one of {', '.join(map(str, INTEGER_CHECKS))}")
        if self.autocast not in AUTOCASTS:
            self.fail(f"autocast={self.autocast!r} is not one of {', '.join(map(str, AUTOCASTS))}")
        if not set(self.short) <= set(self.arguments[: self.positional]):
            self.fail(f"short={' '.join(self.short)!r} must name arguments that may be given by position")
        if self.out_words and not self.out:
            self.fail("out_words is given, but the op takes no out=")
        if self.inplace_native and (not self.inplace or self.kind != "op"):
            self.fail("inplace_native is given, but the op has no in-place form that could use it")
        if len(self.powers) not in (0, 4):
            self.fail(f"powers={self.powers!r} must name four ops, for the exponents 2, 3, 0.5 and others")
        unknown = self.types.difference(TYPES)
        if unknown:
            self.fail(f"types names {', '.join(sorted(unknown))}; expected words of {' '.join(TYPES)}")
        if isinstance(self.alias, str):
            self.fail(f"alias={self.alias!r} must be a tuple of names; write alias=({self.alias!r},)")
        if isinstance(self.batch, str) and self.batch != "...":
            for word in self.batch.split():
                if not {*word.strip("+?").split("@")} <= set(self.arguments):
                    self.fail(f"batch has the word {word!r}; arguments are {', '.join(self.arguments)}")
        for argument in self.rules:
            if argument not in self.arguments:
                self.fail(
                    f"{argument!r} is neither an option nor an argument; arguments are {', '.join(self.arguments)}"
                )

    def _check_elementwise(self):
        self.operands = tuple(name for name in self.arguments if name not in self.defaults)
        self.params = tuple(name for name in self.arguments if name in self.defaults)
        self.numbers = self.operands[1:] if self.numbers is None else tuple(self.numbers.split())
        for name in self.numbers:
            if name not in (*self.operands, "all"):
                self.fail(f"numbers names {name!r}; operands are {', '.join(self.operands)}")
        self.rounded = self.operands if self.rounded is None else tuple(self.rounded.split())
        for name in self.rounded:
            if name not in self.arguments:
                self.fail(f"rounded names {name!r}; arguments are {', '.join(self.arguments)}")
        if self.factor not in (None, *self.params):
            self.fail(f"factor names {self.factor!r}; parameters are {', '.join(self.params)}")
        for name in self.params:
            if not isinstance(self.defaults[name], int | float | complex):
                self.fail(f"the default of {name!r} must be a number; came {self.defaults[name]!r}")
        if not callable(self.expression):
            self.fail("the second argument must be the expression, such as lambda input: exp(input)")
        wanted = parameter_names(self.expression)
        if tuple(name for name in wanted if name in self.operands) != self.operands:
            self.fail(f"the expression's parameters are ({', '.join(wanted)}); expected ({', '.join(self.arguments)})")
        for name in wanted:
            if name not in self.arguments:
                self.fail(f"the expression uses {name!r}; expected only {', '.join(self.arguments)}")
        for name in self.params:
            if name in self.rules:
                self.fail(f"{name!r} is a number, not a tensor, and can have no rule")
        if not self.differentiable:
            for name, rule in self.rules.items():
                if rule is not None:
                    self.fail(f"a rule for {name!r} is given, but the results can carry no gradient; remove it")
            self.rules = dict.fromkeys(self.operands) if self.gradient else {}
        elif not self.rules:
            self.derived = True
        else:
            for name in self.operands:
                if name not in self.rules:
                    self.fail(f"the rule for {name!r} is missing; write None if it is not differentiable")

    def _check_rules(self):
        known = {"g", "out", *self.arguments}
        if self.kind != "elementwise":
            known.update(f"{name}_meta" for name in self.arguments)
            known.update(("gs", "out_meta"))
            for name in self.outputs or ():
                known.update((name, f"g_{name}", f"{name}_meta"))
        for what, uses in (("rule", self.uses), ("fused form", self.fused_uses)):
            for argument, names in uses.items():
                for name in names:
                    if name not in known:
                        expected = ", ".join(sorted(known))
                        self.fail(f"the {what} for {argument!r} uses {name!r}; expected only {expected}")
        for argument in self.fused:
            if self.kind == "elementwise" or argument not in self.uses:
                self.fail(f"a fused form for {argument!r} is given, but no rule in Python that it could stand for")

    def _check_linear(self):
        for term in self.linear:
            for name in term:
                if name not in self.arguments:
                    self.fail(f"linear names {name!r}; arguments are {', '.join(self.arguments)}")
            if len(set(term)) < len(term):
                self.fail(f"linear has the term {' * '.join(term)!r}, which is not linear")
        if len(self.linear) < 2:
            return  # each call of `substitutions` replaces one factor of the term
        for replaced, zeroed in self.substitutions:
            for term in self.linear:
                if not {*replaced, *zeroed}.intersection(term):
                    self.fail(
                        f"linear has the term {' * '.join(term)!r}, which would stay in the tangent of "
                        f"{', '.join(replaced)}; leave arguments out until it does not"
                    )


def elementwise(signature, expression, **options):
    """An op that computes each element of its result from the elements of its operands at the same place."""
    return Declaration("elementwise", signature, expression, **options)


def op(signature, **options):
    """An op with a C++ function in csrc/ops (`native=` names it), one written in Python (`forward=`), or a composite in
    C++, a function in csrc/op that calls other ops (`composed=`)."""
    return _with_body(Declaration("op", signature, **options))


def view(signature, **options):
    """An op whose result shares the memory of its first argument."""
    return _with_body(Declaration("view", signature, **options))


def _with_body(declaration):
    bodies = [body for body in (declaration.native, declaration.composed, declaration.forward) if body is not None]
    in_place_alone = declaration.inplace == "only" and declaration.inplace_native is not None
    if len(bodies) > 1 or not (bodies or in_place_alone):
        declaration.fail("give either native=, composed= or forward=")
    if declaration.composed is not None and (declaration.kind != "op" or declaration.rules or declaration.inplace):
        declaration.fail("a composite records through the ops it calls; declare it by op(), without rules and inplace")
    return declaration
