"""One fuzzed program, written line by line while it runs: a call, or a few that feed each other, and what follows."""

import random
import re

import adjoint

from . import layers, pool, scenes
from .targets import targets

HOLE = re.compile(r"<(\w)>")
# Calls that are told how often to do something, and would take years: iterations, layers, powers of Python's integers.
LONG = r"(2\*\*|10\*\*)"
ENDLESS = re.compile(
    rf"\.(svd_lowrank|pca_lowrank|Transformer|RNN|LSTM|GRU|spectral_norm|trunc_normal_)\(.*{LONG}"
    rf"|\({LONG}.*\.__r?(pow|lshift)__"
)
# What is larger than LARGE repeats a few elements, and what is done with it takes as long as it says.
LARGE = 1 << 27
# So many elements are printed, saved or differentiated without a thought for time.
SMALL = 1 << 16


class Writer:
    """Chooses the lines of one program. `run` runs a line and returns what it gave, or None."""

    def __init__(self, seed, index, run):
        self.random = random.Random(f"{seed}/{index}")
        self.run_line = run
        self.ended = False
        self.names = []  # of tensors that lines before have made
        self.count = 0

    def run(self, line):
        """Runs a line unless it would take years; what it gave, or None."""
        if self.ended or ENDLESS.search(line):
            return None
        value = self.run_line(line)
        self.ended = isinstance(value, adjoint.Tensor) and value.numel() > LARGE
        return value

    # ---- Arguments

    def chance(self, probability):
        return self.random.random() < probability

    def tensor(self):
        return self.random.choice(self.names) if self.names and self.chance(0.5) else pool.tensor(self.random)

    def fill(self, template, result="x"):
        """The template with every hole filled."""
        kinds = {
            "t": self.tensor,
            "u": lambda: self.random.choice(self.names) if self.names else pool.tensor(self.random),
            "v": lambda: pool.value(self.random),
            "i": lambda: pool.integer(self.random),
            "s": lambda: pool.sizes(self.random),
            "d": lambda: f"torch.{self.random.choice(pool.DTYPES)}",
            "r": lambda: result,
        }
        return HOLE.sub(lambda hole: kinds[hole[1]](), template)

    def named(self, text):
        """A tensor that later lines can use, too."""
        name = f"x{self.count}"
        self.count += 1
        if isinstance(self.run(f"{name} = {text}"), adjoint.Tensor):
            self.names.append(name)
            return name
        return text

    def mutated(self, args, kwargs):
        """The arguments of a call with none to three of them changed."""
        args, kwargs = list(args), dict(kwargs)
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            self.mutate(args, kwargs)
        return args, kwargs

    def mutate(self, args, kwargs):
        choice = self.random.randrange(20)
        place = self.random.randrange(len(args)) if args else None
        if choice < 7 and args:
            args[place] = pool.value(self.random)
        elif choice < 11 and args:
            args[place] = self.tensor()
        elif choice < 13 and kwargs:
            kwargs[self.random.choice(list(kwargs))] = pool.value(self.random)
        elif choice == 13:
            kwargs["out"] = self.tensor() if self.chance(0.8) else pool.value(self.random)
        elif choice == 14:
            kwargs[self.random.choice(pool.KEYWORDS)] = pool.value(self.random)
        elif choice == 15 and args:
            del args[place]
        elif choice == 16 and args:
            other = self.random.randrange(len(args))
            args[place], args[other] = args[other], args[place]
        elif choice == 17 and args:
            args.insert(place, args[self.random.randrange(len(args))])
        elif choice == 18 and args:
            args[place] = self.nudged(args[place])
        else:
            args.append(pool.value(self.random))

    def nudged(self, text):
        """A number near the one that was there, or a tensor in another layout or state."""
        if re.fullmatch(r"-?\d+", text):
            return self.random.choice([str(int(text) + 1), str(int(text) - 1), f"-{text.lstrip('-')}", *pool.HUGE])
        if text.startswith("torch.") and "(" in text:
            text = text.removesuffix(".requires_grad_()")
            return pool.state(self.random, pool.layout(self.random, text, 2), self.random.choice(["float32", "int64"]))
        return f"[{text}]"

    def joined(self, args, kwargs):
        return ", ".join([*args, *(f"{name}={text}" for name, text in kwargs.items())])

    # ---- Programs

    def call(self):
        """A call of one public name, as function, method, property or in place."""
        transforms = self.chance(0.15)
        target = self.random.choice(SAMPLED if transforms else TARGETS)
        args, kwargs = self.random.choice(target.calls)
        if not transforms or self.chance(0.5):  # much else can be wrong with a transform
            args, kwargs = self.mutated(args, kwargs)
        args = list(args)
        if self.names and args and self.chance(0.3):
            args[self.random.randrange(len(args))] = self.random.choice(self.names)
        # Tensors get names, so that lines after can use and change them.
        args = [self.named(text) if text.startswith(("torch.l", "torch.r", "torch.a")) else text for text in args]
        text = self.called(target, args, kwargs)
        return self.result(self.transformed(text) if transforms else text)

    def called(self, target, args, kwargs):
        """The call of a name as text."""
        if target.home != "Tensor":
            return f"{target.path}({self.joined(args, kwargs)})"
        if not args:
            args = [self.tensor()]
        if not callable(getattr(adjoint.Tensor, target.name)):
            return f"({args[0]}).{target.name}"
        if not args[0].startswith(("torch.", "x", "r")):  # a method of something else would answer for itself
            return f"torch.Tensor.{target.name}({self.joined(args, kwargs)})"
        return f"({args[0]}).{target.name}({self.joined(args[1:], kwargs)})"

    def transformed(self, text):
        """A call under vmap or another transform, over some of the tensors that are named in it; others are shared."""
        names = [name for name in self.names if re.search(rf"\b{name}\b", text)] or [self.named(self.tensor())]
        names = [name for name in names if self.chance(0.8)] or names[:1]
        if not all(name.isidentifier() for name in names):
            return text
        if self.chance(0.3):
            after = self.fill(self.random.choice(scenes.AFTER), "y")
            text = text if " = " in after else f"(lambda y: (y, {after})[{self.random.randrange(2)}])({text})"
        function = f"lambda {', '.join(names)}: {text}"
        given = f"({', '.join(names)},)"
        stacked = f"[torch.stack([a, a]) for a in {given}]" if self.chance(0.7) else given
        form = self.random.choice(scenes.TRANSFORMS)
        return self.fill(form.replace("<f>", function).replace("<a>", given).replace("<b>", stacked))

    def scene(self):
        for line in self.fill(self.random.choice(scenes.SCENES)).split("; "):
            self.run(line)

    def layer(self):
        """A module, made and called, and its parameters' gradients."""
        name, construct, inputs = self.random.choice(layers.LAYERS)
        args = construct.split(", ") if construct and "(" not in construct and "[" not in construct else [construct]
        if self.chance(0.5):
            args = [self.random.choice([pool.value(self.random), pool.integer(self.random), text]) for text in args]
        if self.chance(0.3):
            args.append(f"{self.random.choice(pool.KEYWORDS)}={pool.value(self.random)}")
        if self.run(f"m = torch.nn.{name}({', '.join(filter(None, args))})") is None:
            return None
        tensors = [self.named(pool.tensor(self.random, shape, self.dtype())) for shape in inputs]
        calls, kwargs = self.mutated(tensors, {}) if self.chance(0.6) else (tensors, {})
        text = f"m({self.joined(calls, kwargs)})"
        result = self.result(self.transformed(text) if self.chance(0.2) else text)
        for line in ("repr(m)", "m.state_dict()", "copy.deepcopy(m)", "m.eval()", "m.to(torch.float64)", "m.half()"):
            if self.chance(0.1):
                self.run(line)
        return result

    def dtype(self):
        return "float32" if self.chance(0.8) else self.random.choice(pool.DTYPES)

    def optimizer(self):
        """A few steps with gradients, options and state that may be anything."""
        self.run(f"p = {self.tensor()}")
        options = {self.random.choice(layers.OPTIONS): pool.value(self.random) for _ in range(self.random.randrange(3))}
        parameters = self.random.choice(
            ["[p]", "[p]", "[p, p]", "[{'params': [p]}]", self.fill("<v>"), self.fill("[p, <t>]")]
        )
        self.run(f"o = torch.optim.{self.random.choice(layers.OPTIMIZERS)}({self.joined([parameters], options)})")
        for _ in range(2):
            self.run(
                self.random.choice(
                    ["p.grad = torch.ones_like(p)", self.fill("p.grad = <t>"), "(p * p).sum().backward()"]
                )
            )
            self.run("o.step(lambda: (p * p).sum())" if self.chance(0.3) else "o.step()")
            if self.chance(0.4):
                key = self.random.choice(layers.STATES.split())
                ways = [f"o.state[p][{key!r}] = <v>"] * 3 + [f"o.state[p].pop({key!r}, 0)", "o.state[p] = <v>"]
                self.run(self.fill(self.random.choice([*ways, "o.state[<t>] = <v>"])))
            if self.chance(0.2):
                key = self.random.choice(layers.OPTIONS)
                ways = [f"o.param_groups[0][{key!r}] = <v>"] * 3 + [f"o.param_groups[0].pop({key!r}, 0)"]
                self.run(self.fill(self.random.choice(ways)))
            if self.chance(0.1):
                self.run(self.fill("p.data = <t>"))
        if self.chance(0.3):
            self.run(self.fill(self.random.choice(layers.OPTIMIZER_ENDS)))
            self.run("o.step()")

    def schedule(self):
        """A learning rate schedule of any options, and states that may be anything."""
        self.run("p = torch.ones(2, 3, requires_grad=True)")
        self.run(self.random.choice(["o = torch.optim.SGD([p], 0.1, momentum=0.9)", "o = torch.optim.Adam([p])"]))
        name, construct = self.random.choice(layers.SCHEDULES)
        args = self.mutated(construct, {})[0] if self.chance(0.7) else construct
        self.run(f"s = torch.optim.lr_scheduler.{name}({self.joined(args, {})})")
        for _ in range(3):
            self.run(self.fill(self.random.choice(layers.SCHEDULE_STEPS)))

    def data(self):
        """Datasets, samplers and loaders of any options."""
        for line in self.fill(self.random.choice(scenes.DATA)).split("; "):
            self.run(line)

    def result(self, text):
        """Runs a call; its result, or the first tensor in it, gets a name."""
        name = f"r{self.count}"
        self.count += 1
        value = self.run(f"{name} = {text}")
        if isinstance(value, tuple | list) and value and isinstance(value[0], adjoint.Tensor):
            value = self.run(f"{name} = {name}[0]")
        if not isinstance(value, adjoint.Tensor):
            return None
        if value.numel() < SMALL:
            self.names.append(name)
            return name
        return None

    def write(self):
        """The whole program."""
        choice = self.random.random()
        if choice < 0.15:
            self.scene()
        elif choice < 0.23:
            self.after(self.layer(), 2)
        elif choice < 0.25:
            self.optimizer()
        elif choice < 0.26:
            self.schedule()
        elif choice < 0.265:
            self.data()
        elif choice < 0.85:
            self.after(self.call(), self.random.randrange(3))
        else:
            for _ in range(self.random.randint(2, 4)):
                self.after(self.call(), 1)

    def after(self, result, count):
        if result is None:
            return
        for _ in range(count):
            self.run(self.fill(self.random.choice(scenes.AFTER), result))


TARGETS = targets()
SAMPLED = [target for target in TARGETS if target.sampled]
