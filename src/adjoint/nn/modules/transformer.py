"""Transformer, its encoder, decoder and layers."""

import copy
import math
import warnings

from ... import _C
from ...ops.attention import added_mask
from .. import functional as F
from .. import init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _causal_mask(size, device=None, dtype=None):
    return _C.full((size, size), -math.inf, dtype=dtype, device=device).triu(1)


def _is_causal(mask, is_causal, size):
    """Whether a mask lets each position see only those up to it: as told, or found out by looking."""
    if is_causal is None and mask is not None and tuple(mask.shape) in ((size, size), (1, size, size)):
        expected = _causal_mask(size, mask.device, mask.dtype if mask.is_floating_point() else _C.float32)
        return bool((mask == expected).all())
    return is_causal is True


def _sequence_length(source, batch_first):
    return source.size(1 if source.dim() == 3 and batch_first else 0)


def _get_clones(module, count):
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation):
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        return getattr(F, activation)
    return activation


class _Layer(Module):
    """What the layers of encoder and decoder share: attention to itself, and the feed-forward block."""

    __constants__ = ("norm_first",)
    blocks = 2  # how many blocks there are, each with its norm and its dropout

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        place = {"device": device, "dtype": dtype}

        def attention():
            return MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)

        self.self_attn = attention()
        if self.blocks == 3:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        for i in range(self.blocks):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in range(self.blocks):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _attend(self, attention, x, memory, attn_mask, key_padding_mask, is_causal):
        options = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return attention(x, memory, memory, **options, need_weights=False)[0]

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        last = self.dropout2 if self.blocks == 2 else self.dropout3
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _through(self, x, *blocks):
        """x through the blocks, each of them added to what went in, with its norm before or after."""
        for i, block in enumerate(blocks):
            norm = getattr(self, f"norm{i + 1}")
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network.

    >>> import adjoint as torch
    >>> torch.nn.TransformerEncoderLayer(d_model=8, nhead=2)(torch.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """The source through the layer."""
        src_key_padding_mask = added_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        src_mask = added_mask(src_mask, "src_mask", src.dtype)
        return self._through(
            src, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal), self._ff_block
        )


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result, and a feed-forward network.

    >>> import adjoint as torch
    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> layer(torch.zeros(4, 3, 8), torch.zeros(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    blocks = 3

    def _mha_block(self, x, memory, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self._attend(self.multihead_attn, x, memory, attn_mask, key_padding_mask, is_causal))

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """The target through the layer."""
        return self._through(
            tgt,
            lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal),
            lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal),
            self._ff_block,
        )


class TransformerEncoder(Module):
    """Encoder layers, one after the other.

    >>> import adjoint as torch
    >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    __constants__ = ("norm",)

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check
        if reason := self._why_not_nested(encoder_layer):
            if enable_nested_tensor:
                warnings.warn(
                    f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
                )
        else:
            self.use_nested_tensor = enable_nested_tensor

    @staticmethod
    def _why_not_nested(layer):
        """Torch's reason for not using its nested tensors: it warns of it, and so do we. None are used here."""
        if not isinstance(layer, TransformerEncoderLayer):
            return "encoder_layer was not TransformerEncoderLayer"
        if layer.norm_first:
            return "encoder_layer.norm_first was True"
        if not layer.self_attn.batch_first:
            return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
        if not layer.self_attn._qkv_same_embed_dim:
            return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
        if layer.self_attn.in_proj_bias is None:
            return "encoder_layer.self_attn was passed bias=False"
        if layer.activation not in (F.relu, F.gelu):
            return "encoder_layer.activation_relu_or_gelu was not True"
        if layer.norm1.eps != layer.norm2.eps:
            return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
        if layer.self_attn.num_heads % 2:
            return "num_head is odd"
        return ""

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """The source through all layers."""
        src_key_padding_mask = added_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = added_mask(mask, "mask", src.dtype)
        length = _sequence_length(src, self.layers[0].self_attn.batch_first)
        is_causal = _is_causal(mask, is_causal, length)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """Decoder layers, one after the other.

    >>> import adjoint as torch
    >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(d_model=8, nhead=2), num_layers=2)
    >>> decoder(torch.zeros(4, 3, 8), torch.zeros(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    __constants__ = ("norm",)

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """The target through all layers, each of which looks at the memory."""
        length = _sequence_length(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al., 2017).

    >>> import adjoint as torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(torch.zeros(3, 5, 8), torch.zeros(3, 4, 8)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        place = {"device": device, "dtype": dtype}

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **place)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*options, **place)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*options, **place)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """A mask that lets each position see only those up to it: 0 where it may look, -inf elsewhere."""
        return _causal_mask(sz, device, dtype)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """The target decoded with the encoded source in view."""
        batched = src.dim() == 3
        batch = 0 if self.batch_first else 1
        if batched and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
