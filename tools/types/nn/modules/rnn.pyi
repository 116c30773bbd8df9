# Recurrent networks: results and states.
from ..utils.rnn import PackedSequence

class RNN(RNNBase):
    @_overload
    def forward(self, input: _Tensor, hx: _Tensor | None = None) -> _tuple[_Tensor, _Tensor]: ...
    @_overload
    def forward(self, input: PackedSequence, hx: _Tensor | None = None) -> _tuple[PackedSequence, _Tensor]: ...

class GRU(RNNBase):
    @_overload
    def forward(self, input: _Tensor, hx: _Tensor | None = None) -> _tuple[_Tensor, _Tensor]: ...
    @_overload
    def forward(self, input: PackedSequence, hx: _Tensor | None = None) -> _tuple[PackedSequence, _Tensor]: ...

class LSTM(RNNBase):
    @_overload
    def forward(
        self, input: _Tensor, hx: _tuple[_Tensor, _Tensor] | None = None
    ) -> _tuple[_Tensor, _tuple[_Tensor, _Tensor]]: ...
    @_overload
    def forward(
        self, input: PackedSequence, hx: _tuple[_Tensor, _Tensor] | None = None
    ) -> _tuple[PackedSequence, _tuple[_Tensor, _Tensor]]: ...

class RNNCell(RNNCellBase):
    def forward(self, input: _Tensor, hx: _Tensor | None = None) -> _Tensor: ...

class GRUCell(RNNCellBase):
    def forward(self, input: _Tensor, hx: _Tensor | None = None) -> _Tensor: ...

class LSTMCell(RNNCellBase):
    def forward(self, input: _Tensor, hx: _tuple[_Tensor, _Tensor] | None = None) -> _tuple[_Tensor, _Tensor]: ...
