"""The packages, the versions of them and of what they need, and how exact their numbers must be.

Every version stands here, once, so that a run today and one in a year are of the same programs. Nothing that depends
on torch is left to pip: it would bring another torch.
"""

import dataclasses

# What the packages need, beyond the libraries that the tests of Adjoint have anyway (NumPy, SciPy, Jinja2, ...).
VERSIONS = {
    "absl-py": "2.5.1",
    "aiohappyeyeballs": "2.7.1",
    "aiohttp": "3.14.5",
    "aiosignal": "1.4.0",
    "annotated-doc": "0.0.6",
    "annotated-types": "0.8.0",
    "anyio": "4.16.0",
    "attrs": "26.1.0",
    "axial-positional-embedding": "0.3.12",
    "certifi": "2026.10.18",
    "charset-normalizer": "3.5.2",
    "click": "8.5.1",
    "cloudpickle": "3.1.2",
    "contourpy": "1.3.3",
    "cycler": "0.12.1",
    "einconv": "0.1.0",
    "einx": "0.4.3",
    "farama-notifications": "0.0.6",
    "fonttools": "4.68.0",
    "frozendict": "2.5.1",
    "frozenlist": "1.8.0",
    "grpcio": "1.85.1",
    "gymnasium": "1.4.0",
    "h11": "0.16.0",
    "hf-xet": "1.8.0",
    "hoptorch": "0.1.4",
    "httpcore2": "2.16.0",
    "httpx2": "2.16.0",
    "huggingface-hub": "2.4.0",
    "hyper-connections": "0.4.11",
    "idna": "3.20",
    "importlib-metadata": "10.2.0",
    "iopath": "0.1.10",
    "joblib": "1.6.0",
    "kiwisolver": "1.5.1",
    "kornia-rs": "0.2.0",
    "lazy-importer": "0.1.0",
    "lightning-utilities": "0.15.3",
    "loguru": "0.7.3",
    "markdown": "3.11.3",
    "matplotlib": "3.11.2",
    "multidict": "7.2.1",
    "multipledispatch": "1.0.0",
    "narwhals": "2.28.0",
    "opt-einsum": "3.4.0",
    "opt-einsum-fx": "0.1.4",
    "orjson": "3.13.0",
    "pandas": "3.0.6",
    "pillow": "13.0.0",
    "portalocker": "4.4.2",
    "propcache": "0.5.4",
    "protobuf": "7.36.2",
    "psutil": "7.2.2",
    "pydantic": "2.14.3",
    "pydantic-core": "2.50.4",
    "pyparsing": "3.3.3",
    "pyre-extensions": "0.0.32",
    "pyro-api": "0.1.2",
    "python-dateutil": "4.0.0",
    "pytorch-fid": "0.3.0",
    "pytorch-lightning": "2.6.6",
    "pytorch-ranger": "0.1.1",
    "pyvers": "0.2.3",
    "pyyaml": "6.0.3",
    "qpsolvers": "4.13.0",
    "quadprog": "0.1.14",
    "regex": "2026.11.9",
    "requests": "2.34.2",
    "scikit-base": "1.0.2",
    "scikit-learn": "1.9.1",
    "shellingham": "1.5.4",
    "tabulate": "0.10.0",
    "tensorboard": "2.21.0",
    "tensorboard-data-server": "0.7.2",
    "termcolor": "3.3.0",
    "threadpoolctl": "3.8.0",
    "tokenizers": "0.23.3",
    "torch-einops-utils": "0.2.0",
    "torchtyping": "0.1.5",
    "tqdm": "4.70.1",
    "trampoline": "0.1.2",
    "truststore": "0.10.5",
    "typeguard": "2.13.3",
    "typer": "0.29.0",
    "typing-inspect": "0.9.0",
    "typing-inspection": "0.4.5",
    "tzdata": "2026.6",
    "unfoldnd": "0.2.3",
    "urllib3": "2.8.0",
    "wadler-lindig": "0.1.8",
    "werkzeug": "3.1.9",
    "xxhash": "4.1.0",
    "yacs": "0.1.8",
    "yarl": "1.25.1",
    "zipp": "4.1.2",
}
BOARD = ("tensorboard", "absl-py", "grpcio", "markdown", "protobuf", "tensorboard-data-server", "werkzeug")
WEB = ("aiohttp", "aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict", "propcache", "yarl")
HUB = (
    *("huggingface-hub", "click", "hf-xet", "httpx2", "httpcore2", "tqdm", "anyio", "idna", "truststore", "h11"),
    "pyyaml",
)
REQUESTS = ("requests", "certifi", "charset-normalizer", "idna", "urllib3")
LEARN = ("scikit-learn", "joblib", "narwhals", "threadpoolctl", "cloudpickle")
PLOTS = (
    "matplotlib",
    "contourpy",
    "cycler",
    "fonttools",
    "kiwisolver",
    "pillow",
    "pyparsing",
    "python-dateutil",
    "tzdata",
)
EINX = ("einops", "einx", "torch-einops-utils", "loguru", "frozendict")
METADATA = ("importlib-metadata", "zipp", "lazy-importer")
LIGHTNING = ("lightning-utilities", "torchmetrics", "tqdm", "pytorch-lightning", "pyyaml", *WEB)
TRANSFORMERS = (
    *("transformers", *HUB, "regex", "tokenizers", "typer", "annotated-doc", "shellingham"),
    *("pydantic", "pydantic-core", "annotated-types", "typing-inspection"),
)


@dataclasses.dataclass(frozen=True)
class Package:
    """A package, by the name that pip knows; its program is programs/use_NAME.py."""

    name: str
    version: str
    needs: tuple = ()
    quick: bool = False  # small, and nothing but Python: run on every change
    within: float | None = None  # how far numbers may lie from torch's, where it is not what running.WITHIN says
    because: str = ""  # why

    def requirements(self):
        """What pip installs for it, as "name==version"."""
        versions = VERSIONS | {package.name: package.version for package in PACKAGES} | {self.name: self.version}
        return [f"{name}=={versions[name]}" for name in dict.fromkeys((self.name, *self.needs))]

    def program(self):
        """The name of its program."""
        return f"use_{self.name.lower().replace('-', '_')}.py"


PACKAGES = (
    Package("accelerate", "1.15.0", (*HUB, "psutil")),
    Package("asteroid-filterbanks", "0.4.0"),
    Package("auraloss", "0.4.0"),
    Package("backpack-for-pytorch", "1.7.1", ("torchvision", "pillow", "einops", "unfoldnd")),
    Package("beartype", "0.23.1"),
    Package(
        "botorch",
        "0.18.1",
        ("gpytorch", "linear-operator", "multipledispatch", "pyre-extensions", "typing-inspect", *LEARN),
    ),
    Package("captum", "0.9.0", (*PLOTS, "tqdm")),
    Package(
        "curvlinops-for-pytorch",
        "3.0.1",
        (
            "einops",
            "tqdm",
            "backpack-for-pytorch",
            "einconv",
            "linear-operator",
            "opt-einsum",
            "unfoldnd",
            "torchvision",
            "pillow",
        ),
    ),
    Package(
        "denoising-diffusion-pytorch",
        "2.3.4",
        ("einops", "pytorch-fid", "ema-pytorch", "accelerate", *HUB, "psutil", "torchvision", "pillow"),
    ),
    Package("diffusers", "0.42.1", (*HUB, *REQUESTS, *METADATA, "regex", "pillow")),
    Package("e3nn", "0.6.0", ("opt-einsum", "opt-einsum-fx")),
    Package("efficientnet-pytorch", "0.7.1"),
    Package("einops", "0.8.2", quick=True),
    Package("ema-pytorch", "0.8.3", quick=True),
    Package("entmax", "1.3", quick=True),
    Package(
        "fvcore", "0.1.5.post20221221", ("iopath", "termcolor", "yacs", "pillow", "tabulate", "tqdm", "portalocker")
    ),
    Package("geoopt", "0.5.1", quick=True),
    Package("gpytorch", "1.15.2", ("linear-operator", *LEARN)),
    Package("higher", "0.2.1", quick=True),
    Package("jaxtyping", "0.3.11", ("beartype", "wadler-lindig")),
    Package("julius", "0.2.8", quick=True),
    Package("kornia", "0.9.0", ("kornia-rs",)),
    Package("lightning", "2.6.6", LIGHTNING),
    Package("linear-operator", "0.6.1"),
    Package("linformer", "0.2.3", quick=True),
    Package("lion-pytorch", "0.2.5", quick=True),
    Package(
        "local-attention",
        "1.11.2",
        ("einops", "hyper-connections", "torch-einops-utils"),
        within=5e-5,
        because="a number for each stream is the float32 sum of all features, which nearly cancels",
    ),
    Package("madgrad", "1.3", quick=True),
    Package("monai", "1.6.1"),
    Package("nflows", "0.14", (*BOARD, *PLOTS, "tqdm")),
    Package("normflows", "1.7.3"),
    Package("opacus", "1.6.0", ("opt-einsum",)),
    Package("peft", "0.21.2", ("accelerate", "psutil", *TRANSFORMERS)),
    Package("perceiver-pytorch", "0.11.0", ("einops",)),
    Package(
        "performer-pytorch", "1.1.4", ("einops", "local-attention", "axial-positional-embedding", "hyper-connections")
    ),
    Package("prodigyopt", "1.1.2", quick=True),
    Package("pypose", "0.9.5", within=1e-9, because="the errors of a fit that has converged are differences"),
    Package("pyro-ppl", "1.9.2", ("opt-einsum", "pyro-api", "tqdm")),
    Package("pytorch-crf", "0.7.2", quick=True),
    Package(
        "pytorch-forecasting",
        "1.8.0",
        ("lightning", *LIGHTNING, *LEARN, "pandas", "scikit-base", "python-dateutil", "tzdata"),
        within=1e-8,
        because="gradients nearly cancel in layer norms over two values",
    ),
    Package("pytorch-ignite", "0.5.5"),
    Package("pytorch-metric-learning", "2.9.0", ("tqdm", *LEARN)),
    Package("pytorch-msssim", "1.0.0", quick=True),
    Package("pytorch-optimizer", "4.1.0", within=1e-6, because="SOAP takes its QR in float32"),
    Package("pytorch-tabnet", "4.1.0", (*LEARN, "tqdm", "pandas", "python-dateutil", "tzdata")),
    Package("pytorch-warmup", "0.2.0", quick=True),
    Package("rotary-embedding-torch", "0.9.1", ("einops",), quick=True),
    Package("sbi", "0.27.0", (*BOARD, "nflows", "zuko", "skorch", *LEARN, *PLOTS, "tqdm", "tabulate")),
    Package("schedulefree", "1.4.1", quick=True),
    Package("segmentation-models-pytorch", "0.6.0", ("timm", "torchvision", "pillow", *HUB)),
    Package("sentence-transformers", "6.2.0", (*TRANSFORMERS, *LEARN)),
    Package("skorch", "1.4.0", ("tabulate", "tqdm", *LEARN)),
    Package("snntorch", "1.0.0"),
    Package("stable-baselines3", "2.9.2", ("gymnasium", "cloudpickle", "farama-notifications")),
    Package("tensordict", "0.15.3", ("pyvers", "cloudpickle")),
    Package("tensorly", "0.10.0"),
    Package(
        "timm",
        "1.0.30",
        ("torchvision", "pillow", *HUB),
        within=1e-7,
        because="torch's gradient of hardsigmoid takes 1/6 in float32, whatever it is given",
    ),
    Package("torch-ema", "0.3", quick=True),
    Package("torch-geometric", "2.8.1", (*WEB, *REQUESTS, "psutil", "pyparsing", "tqdm", "xxhash")),
    Package("torch-optimizer", "0.3.0", ("pytorch-ranger",)),
    Package("torch-pruning", "1.6.1"),
    Package("torchcde", "0.2.5", ("torchdiffeq", "torchsde", "trampoline")),
    Package("torchdiffeq", "0.2.5", quick=True),
    Package("torchinfo", "1.8.0", quick=True),
    Package("torchjd", "0.18.0", ("qpsolvers", "quadprog")),
    Package("torchmetrics", "1.9.0", ("lightning-utilities",)),
    Package("torchode", "1.0.1", ("torchtyping", "typeguard")),
    Package("torchrl", "0.14.1", ("tensordict", "hoptorch", "pyvers", "cloudpickle", "orjson", *METADATA)),
    Package("torchsde", "0.2.6", ("trampoline",), quick=True),
    Package("torchvision", "0.28.0", ("pillow",)),
    Package("transformers", "5.22.2", TRANSFORMERS),
    Package("vector-quantize-pytorch", "1.32.0", EINX),
    Package("vit-pytorch", "1.26.11", ("einops", "torchvision", "pillow")),
    Package("x-transformers", "2.31.10", EINX),
    Package("zuko", "1.6.0"),
)
