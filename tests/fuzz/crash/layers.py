"""Modules, optimizers and schedules to fuzz: arguments of their constructors, and what is done with them."""

POINTWISE = """CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax Mish
PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink Dropout
AlphaDropout FeatureAlphaDropout Flatten"""
LOSSES = """BCELoss BCEWithLogitsLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss
MultiLabelMarginLoss MultiLabelSoftMarginLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss CosineEmbeddingLoss
MarginRankingLoss TripletMarginLoss TripletMarginWithDistanceLoss MultiMarginLoss NLLLoss CrossEntropyLoss CTCLoss"""


def dimensional():
    """The layers that come for one, two and three dimensions."""
    for n in (1, 2, 3):
        image = (2, 2, *[5] * n)
        yield f"Conv{n}d", "2, 4, 2", [image]
        yield f"ConvTranspose{n}d", "2, 4, 2", [image]
        yield f"LazyConv{n}d", "4, 2", [image]
        yield f"LazyConvTranspose{n}d", "4, 2", [image]
        yield f"BatchNorm{n}d", "2", [image]
        yield f"InstanceNorm{n}d", "2, affine=True", [image]
        yield f"LazyBatchNorm{n}d", "", [image]
        yield f"MaxPool{n}d", "2", [image]
        yield f"AvgPool{n}d", "2", [image]
        yield f"LPPool{n}d", "2.0, 2", [image]
        yield f"MaxUnpool{n}d", "2", [image, image]
        yield f"AdaptiveAvgPool{n}d", "3", [image]
        yield f"AdaptiveMaxPool{n}d", "3", [image]
        yield f"Dropout{n}d", "0.5", [image]
        for pad in ("Circular", "Constant", "Reflection", "Replication", "Zero"):
            yield f"{pad}Pad{n}d", "1, 0.5" if pad == "Constant" else "1", [image]
    for n in (2, 3):
        yield f"FractionalMaxPool{n}d", "2, output_size=2", [(2, 2, *[5] * n)]


LAYERS = [
    *((name, "", [(2, 4)]) for name in POINTWISE.split()),
    *((name, "", [(3, 4), (3, 4), (3, 4)]) for name in LOSSES.split()),
    *dimensional(),
    ("Linear", "3, 2", [(2, 3)]),
    ("LazyLinear", "2", [(2, 3)]),
    ("Bilinear", "3, 3, 2", [(2, 3), (2, 3)]),
    ("Embedding", "5, 3", [(2, 3)]),
    ("EmbeddingBag", "5, 3", [(2, 3)]),
    ("LayerNorm", "3", [(2, 3)]),
    ("RMSNorm", "3", [(2, 3)]),
    ("GroupNorm", "2, 4", [(2, 4, 3)]),
    ("LocalResponseNorm", "2", [(2, 4, 3)]),
    ("CosineSimilarity", "", [(2, 3), (2, 3)]),
    ("PairwiseDistance", "", [(2, 3), (2, 3)]),
    ("RNN", "3, 2, 2", [(4, 2, 3)]),
    ("LSTM", "3, 2, 2, bidirectional=True", [(4, 2, 3)]),
    ("GRU", "3, 2", [(4, 2, 3)]),
    ("RNNCell", "3, 2", [(2, 3)]),
    ("LSTMCell", "3, 2", [(2, 3)]),
    ("GRUCell", "3, 2", [(2, 3)]),
    ("MultiheadAttention", "4, 2", [(3, 2, 4), (3, 2, 4), (3, 2, 4)]),
    ("TransformerEncoderLayer", "4, 2, 5", [(3, 2, 4)]),
    ("TransformerDecoderLayer", "4, 2, 5", [(3, 2, 4), (3, 2, 4)]),
    ("Transformer", "4, 2, 1, 1, 5", [(3, 2, 4), (3, 2, 4)]),
    ("PixelShuffle", "2", [(1, 4, 3, 3)]),
    ("PixelUnshuffle", "3", [(1, 4, 3, 3)]),
    ("ChannelShuffle", "2", [(1, 4, 3, 3)]),
    ("Upsample", "scale_factor=2", [(1, 2, 3, 3)]),
    ("UpsamplingBilinear2d", "3", [(1, 2, 3, 3)]),
    ("UpsamplingNearest2d", "3", [(1, 2, 3, 3)]),
    ("Fold", "(4, 4), (2, 2)", [(1, 8, 9)]),
    ("Unfold", "2", [(1, 2, 4, 4)]),
    ("Unflatten", "1, (2, 2)", [(2, 4)]),
    ("Softmax2d", "", [(1, 2, 3, 3)]),
    ("ZeroPad2d", "1", [(1, 2, 3, 3)]),
    ("Threshold", "0.5, 1.0", [(2, 3)]),
    ("AdaptiveLogSoftmaxWithLoss", "4, 10, [3, 6]", [(3, 4), (3,)]),
    ("CrossMapLRN2d", "2", [(1, 2, 3, 3)]),
    ("SyncBatchNorm", "2", [(2, 2, 3)]),
    ("Sequential", "torch.nn.Linear(3, 2), torch.nn.ReLU()", [(2, 3)]),
    ("ModuleList", "[torch.nn.Linear(3, 2)]", []),
    ("ModuleDict", "{'a': torch.nn.Linear(3, 2)}", []),
    ("ParameterList", "[torch.ones(2)]", []),
    ("ParameterDict", "{'a': torch.ones(2)}", []),
]

OPTIMIZERS = [
    "Adafactor",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "ASGD",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
]
OPTIONS = [
    "lr",
    "betas",
    "eps",
    "weight_decay",
    "momentum",
    "dampening",
    "nesterov",
    "amsgrad",
    "maximize",
    "foreach",
    "capturable",
    "differentiable",
    "fused",
    "rho",
    "lambd",
    "alpha",
    "t0",
    "etas",
    "step_sizes",
    "centered",
    "initial_accumulator_value",
    "lr_decay",
    "max_iter",
    "history_size",
    "line_search_fn",
    "tolerance_grad",
    "ns_steps",
    "decoupled_weight_decay",
    "beta2_decay",
    "d",
]

# Entries of optimizers' states.
STATES = """step exp_avg exp_avg_sq max_exp_avg_sq exp_inf momentum_buffer sum square_avg acc_delta row_var col_var
variance ax eta mu mu_product prev step_size d t n_iter al old_dirs old_stps ro func_evals prev_flat_grad"""
OPTIMIZER_ENDS = """
o.load_state_dict(o.state_dict())
o.zero_grad()
o.load_state_dict(<v>)
o.load_state_dict({'param_groups': <v>, 'state': <v>})
o.load_state_dict({**o.state_dict(), 'param_groups': [<v>]})
o.load_state_dict({**o.state_dict(), 'param_groups': [{'params': <v>}]})
o.load_state_dict({**o.state_dict(), 'state': <v>})
o.load_state_dict({**o.state_dict(), 'state': {0: <v>}})
o.load_state_dict({**o.state_dict(), 'state': {0: {'step': <v>}}})
o.add_param_group(<v>)
o.add_param_group({'params': <v>})
o.param_groups.append(<v>)
""".strip().splitlines()

_TWO = "[torch.optim.lr_scheduler.StepLR(o, 2), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)]"
SCHEDULES = [
    ("StepLR", ["o", "2", "0.5"]),
    ("MultiStepLR", ["o", "[1, 2]"]),
    ("ConstantLR", ["o", "0.5", "2"]),
    ("LinearLR", ["o", "0.5", "1.0", "2"]),
    ("ExponentialLR", ["o", "0.9"]),
    ("PolynomialLR", ["o", "2"]),
    ("CosineAnnealingLR", ["o", "2"]),
    ("CosineAnnealingWarmRestarts", ["o", "2", "2"]),
    ("CyclicLR", ["o", "0.1", "1.0", "2"]),
    ("OneCycleLR", ["o", "0.1", "5"]),
    ("LambdaLR", ["o", "lambda epoch: 0.5"]),
    ("MultiplicativeLR", ["o", "[lambda epoch: 0.5]"]),
    ("ReduceLROnPlateau", ["o", "'min'", "0.5", "0"]),
    ("SequentialLR", ["o", _TWO, "[1]"]),
    ("ChainedScheduler", [_TWO]),
]
SCHEDULE_STEPS = """
s.step()
s.step(<v>)
s.step(1.0)
s.get_last_lr()
s.load_state_dict(s.state_dict())
s.load_state_dict(<v>)
s.load_state_dict({**s.state_dict(), 'last_epoch': <v>})
s.load_state_dict({**s.state_dict(), '_schedulers': <v>, 'lr_lambdas': <v>})
s.load_state_dict({name: value for name, value in s.state_dict().items() if name != 'lr_lambdas' and name[0] != '_'})
o.param_groups[0].pop('initial_lr', 0)
o.param_groups[0].pop('lr', 0)
o.add_param_group({'params': [<t>]})
""".strip().splitlines()
