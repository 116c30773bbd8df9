"""torch.nested, by name: there are no nested tensors here, and each function says what to use in their place."""

from ._absent import refusing

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

_PADDED = (
    "there are no nested tensors here; torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True) pads sequences, and "
    "a mask hides the rest: attn_mask= of scaled_dot_product_attention, key_padding_mask= of MultiheadAttention"
)
_PACKED = (
    "there are no nested tensors here; torch.nn.attention.varlen.varlen_attn takes sequences that lie behind one "
    "another with the places where they begin, and torch.tensor_split(values, offsets[1:-1]) takes them apart"
)

nested_tensor = refusing("nested", "nested_tensor", _PADDED)
as_nested_tensor = refusing("nested", "as_nested_tensor", _PADDED)
to_padded_tensor = refusing("nested", "to_padded_tensor", _PADDED)
nested_tensor_from_jagged = refusing("nested", "nested_tensor_from_jagged", _PACKED)
narrow = refusing("nested", "narrow", _PADDED)
masked_select = refusing("nested", "masked_select", _PADDED)
