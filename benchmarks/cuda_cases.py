"""What benchmarks/cuda.py measures: programs on one GPU, written for both libraries."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A program: `make(torch)` gives its step."""

    name: str
    title: str
    make: Any
    aim: str


def chain(torch):
    x = torch.ones(8, device="cuda", requires_grad=True)

    def step():
        y = x
        for _ in range(100):
            y = y * x
        y.sum().backward()
        x.grad = None

    return step


def neural_ode(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 50), torch.nn.Tanh(), torch.nn.Linear(50, 2)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    start = torch.randn(64, 2, device="cuda")

    def step():
        y, h = start, 0.05
        for _ in range(40):
            a = net(y)
            b = net(y + h / 2 * a)
            c = net(y + h / 2 * b)
            d = net(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        optimizer.zero_grad()
        y.square().mean().backward()
        optimizer.step()

    return step


def mlp(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    x, target = torch.randn(64, 784, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()

    return step


def gpt_model(torch, layers, width, heads, words, length):
    """A decoder of the usual kind."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.joint, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, time, _ = x.shape
            q, k, v = self.joint(self.first(x)).split(width, 2)
            q, k, v = (t.view(batch, time, heads, width // heads).transpose(1, 2) for t in (q, k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
            return x + self.down(functional.gelu(self.up(self.second(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def forward(self, x):
            y = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                y = block(y)
            return self.norm(y) @ self.words.weight.t()

    return Gpt().cuda()


def gpt(layers, width, heads, words, batch, length, kind="float32"):
    def make(torch):
        model = gpt_model(torch, layers, width, heads, words, length)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        text = torch.randint(0, words, (batch, length + 1), device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"

        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind == "bfloat16"):
                scores = model(text[:, :-1])
                loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
            loss.backward()
            optimizer.step()

        return step

    return make


def pinn(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    points = torch.rand(16384, 2, device="cuda")

    def step():
        x = points.detach().requires_grad_()
        u = net(x)
        (g,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        second = sum(torch.autograd.grad(g[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2))
        loss = (second + torch.sin(math.pi * x).prod(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def cnn(torch):
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

        def forward(self, x):
            y = self.norms[0](self.first(x)).relu()
            return (x + self.norms[1](self.second(y))).relu()

    parts = [nn.Conv2d(3, 64, 3, padding=1), *(Residual(64) for _ in range(3)), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    net = nn.Sequential(*parts, nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, target = torch.randn(128, 3, 32, 32, device="cuda"), torch.randint(0, 10, (128,), device="cuda")

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()

    return step


def lstm(torch):
    net = torch.nn.LSTM(512, 512, num_layers=2).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    x = torch.randn(100, 64, 512, device="cuda")

    def step():
        optimizer.zero_grad()
        net(x)[0].square().mean().backward()
        optimizer.step()

    return step


def padded(torch):
    """Sentences of different lengths through encoders that drop out."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True, norm_first=True)
    net = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x, lengths = torch.randn(32, 512, 512, device="cuda"), torch.randint(200, 512, (32, 1), device="cuda")
    is_padding = torch.arange(512, device="cuda") >= lengths

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(x, src_key_padding_mask=is_padding).square().mean()
        loss.backward()
        optimizer.step()

    return step


def elementwise(torch):
    x, y, z = (torch.randn(64 << 20, device="cuda", requires_grad=True) for _ in range(3))

    def step():
        torch.nn.functional.gelu(x * y + z).sum().backward()
        x.grad = y.grad = z.grad = None

    return step


def rows_and_columns(torch):
    x = torch.randn(8192, 8192, device="cuda", requires_grad=True)

    def step():
        y = x.softmax(1) + torch.nn.functional.layer_norm(x, (8192,)) + x.log_softmax(0)
        (y.sum(0).square().sum() + y.sum(1).square().sum()).backward()
        x.grad = None

    return step


def embedding_backward(torch):
    table = torch.randn(50257, 768, device="cuda", requires_grad=True)
    words = torch.randint(0, 50257, (16384,), device="cuda")
    g = torch.randn(16384, 768, device="cuda")

    def step():
        torch.nn.functional.embedding(words, table).backward(g)
        table.grad = None

    return step


def call(make):
    """A case of one call: `make(torch)` gives a function and its arguments."""

    def made(torch):
        function, *args = make(torch)
        return lambda: function(*args)

    return made


def _index_add(torch):
    x, index = torch.zeros(100_000, 64, device="cuda"), torch.randint(0, 100_000, (1_000_000,), device="cuda")
    return x.index_add, 0, index, torch.randn(1_000_000, 64, device="cuda")


def _product(torch):
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return torch.mm, a, b


CASES = [
    Case("chain", "100 small muls, forward and backward", chain, "3x"),
    Case("ode", "neural ODE, 40 steps of RK4, Adam", neural_ode, "3x"),
    Case("mlp", "MLP 784-256-256-10, batch 64, Adam", mlp, "3x"),
    Case("gpt", "GPT of 4 layers, width 128, 8 x 128, AdamW", gpt(4, 128, 4, 100, 8, 128), "3x"),
    Case("pinn", "PINN of 16 k points, second derivatives", pinn, "2x"),
    Case("cnn", "residual CNN at 32 x 32, batch 128", cnn, "1x"),
    Case("gpt2_bf16", "GPT-2 124M, 16 x 1024, bfloat16", gpt(12, 768, 12, 50257, 16, 1024, "bfloat16"), "1x"),
    Case("gpt2_even", "the same with 50304 words", gpt(12, 768, 12, 50304, 16, 1024, "bfloat16"), "1x"),
    Case("gpt2_tf32", "GPT-2 124M, 16 x 1024, TF32", gpt(12, 768, 12, 50257, 16, 1024, "tf32"), "1x"),
    Case("padded", "transformer of 6 layers, 32 x 512 words, padding, dropout, bfloat16", padded, "1x"),
    Case("lstm", "LSTM of 2 layers, width 512, 64 x 100 steps, Adam", lstm, "1x"),
    Case("gelu", "gelu(x * y + z).sum() of 64 M, forward and backward", elementwise, "1x"),
    Case("rows", "softmax, layer_norm, log_softmax, sums of 8192 x 8192", rows_and_columns, "3x"),
    Case("embedding", "embedding backward, 16 k words of 50 k x 768", embedding_backward, "1x"),
    Case("index_add", "index_add of 1 M rows of 64", call(_index_add), "1x"),
    Case("sort", "sort of 16 M", call(lambda torch: (torch.sort, torch.randn(16 << 20, device="cuda"))), "1x"),
    Case(
        "cumsum",
        "cumsum of 4096 x 8192",
        call(lambda torch: (torch.cumsum, torch.randn(4096, 8192, device="cuda"), 1)),
        "1x",
    ),
    Case(
        "topk",
        "topk 50 of 4096 x 50257",
        call(lambda torch: (torch.topk, torch.randn(4096, 50257, device="cuda"), 50)),
        "1x",
    ),
    Case("matmul", "product of 8192 x 8192, bfloat16", call(_product), "0.98x"),
]
