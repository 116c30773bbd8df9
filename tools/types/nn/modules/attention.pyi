# Attention gives its result, and weights when they are asked for.

class MultiheadAttention(Module):
    def forward(
        self,
        query: _Tensor,
        key: _Tensor,
        value: _Tensor,
        key_padding_mask: _Tensor | None = None,
        need_weights: _bool = True,
        attn_mask: _Tensor | None = None,
        average_attn_weights: _bool = True,
        is_causal: _bool = False,
    ) -> _tuple[_Tensor, _Tensor | _Any]: ...
