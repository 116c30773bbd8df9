"""Which blocks of the scores of attention are needed at all, and which of these whole."""

from ... import _C
from ...ops import language

DEFAULT_BLOCK = 128
_TENSORS = (
    *("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"),
    *("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"),
)


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing.

    >>> import adjoint as torch
    >>> torch.nn.attention.flex_attention.noop_mask(torch.tensor(0), 0, 0, 0)
    tensor(True)
    """
    return batch.new_ones((), dtype=_C.bool)


def _sliced_mask_mod(*_):
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset: places in the slice are not those that the function was written for. Set sliced.mask_mod to one that "
        "knows where the slice begins."
    )


_sliced_mask_mod.__name__ = "_sliced_mask_mod_error"


def to_ordered(blocks):
    """(numbers, places) of the blocks that are needed in each row of a table of zeros and ones."""
    blocks = blocks.to(_C.int32)
    places = language.argsort(blocks, dim=-1, descending=True, stable=True)
    return blocks.sum(-1).to(_C.int32), places.to(_C.int32)


def to_table(numbers, places, columns):
    """The table of zeros and ones, the other way round."""
    used = _C.arange(places.shape[-1], device=places.device) < numbers.unsqueeze(-1)
    # What is not used goes to a column that is cut off.
    where = language.where(used, places.long(), columns)
    table = _C.zeros(*places.shape[:-1], columns + 1, dtype=_C.int32, device=places.device)
    return table.scatter(-1, where, 1)[..., :columns]


def _transposed(numbers, places, columns):
    return to_ordered(to_table(numbers, places, columns).transpose(-2, -1))


class BlockMask:
    """Which blocks of [queries, keys] are needed: made by create_block_mask, given to flex_attention.

    `kv_num_blocks` and `kv_indices` say for each block of queries which blocks of keys it needs in part, and
    `full_kv_num_blocks` and `full_kv_indices` which it needs whole; those with q, the same for blocks of keys.

    >>> from adjoint.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 8, 8, BLOCK_SIZE=4).to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """

    __module__ = "adjoint.nn.attention.flex_attention"

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(DEFAULT_BLOCK, DEFAULT_BLOCK),
        mask_mod=noop_mask,
        *,
        dq_write_order=None,
        dq_write_order_full=None,
        dq_kv_order=None,
        dq_kv_order_spt=None,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for side, first, second in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (first is None) != (second is None):
                raise AssertionError(f"full_{side}_num_blocks and full_{side}_indices must be both provided or omitted")
        self.seq_lengths = tuple(seq_lengths)
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod
        # Orders in which kernels of GPUs write: kept, and of no use here.
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=DEFAULT_BLOCK,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
        **orders,
    ):
        """A mask from the blocks of keys that each block of queries needs."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        q = full_q = (None, None)
        columns = kv_indices.shape[-1]
        if compute_q_blocks:
            q = _transposed(kv_num_blocks, kv_indices, columns)
            if full_kv_indices is not None:
                full_q = _transposed(full_kv_num_blocks, full_kv_indices, columns)
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * sizes[0], columns * sizes[1])
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q, sizes,
            noop_mask if mask_mod is None else mask_mod, **orders,
        )  # fmt: skip

    # ---- What it says

    @property
    def shape(self):
        """The batch and heads, and the numbers of queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of scores."""
        total = 1
        for size in self.shape:
            total *= size
        return total

    def sparsity(self):
        """The part of the scores, in percent, that no block needs; below zero where blocks reach beyond."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        computed = blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to_dense(self):
        """A table with 1 for the blocks that are needed."""
        columns = self.kv_indices.shape[-1]
        table = to_table(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is not None:
            table = table | to_table(self.full_kv_num_blocks, self.full_kv_indices, columns)
        return table

    def as_tuple(self, flatten=True):
        """All of it in one tuple, numbers of sizes each for themselves if `flatten`."""
        sizes = tuple(self.BLOCK_SIZE) if flatten else (self.BLOCK_SIZE,)
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        orders = (self.dq_write_order, self.dq_write_order_full, self.dq_kv_order, self.dq_kv_order_spt)
        return (*lengths, *(getattr(self, name) for name in _TENSORS), *orders, *sizes, self.mask_mod)

    # ---- Others like it

    def __getitem__(self, index):
        places = index if isinstance(index, tuple) else (index,)
        places = tuple(slice(place, place + 1 or None) if isinstance(place, int) else place for place in places)

        def part(tensor):
            return None if tensor is None else tensor[places]

        return BlockMask.from_kv_blocks(
            part(self.kv_num_blocks),
            part(self.kv_indices),
            part(self.full_kv_num_blocks),
            part(self.full_kv_indices),
            self.BLOCK_SIZE,
            _sliced_mask_mod,
            self.seq_lengths,
            self.q_indices is not None,
        )

    def _adjust(self, new_q_len, new_kv_len):
        """The mask for other lengths: the blocks of its upper left corner."""
        rows, columns = (-(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True))

        def cut(numbers, places):
            if numbers is None:
                return None, None
            return to_ordered(to_table(numbers, places, places.shape[-1])[..., :rows, :columns])

        return BlockMask.from_kv_blocks(
            *cut(self.kv_num_blocks, self.kv_indices),
            *cut(self.full_kv_num_blocks, self.full_kv_indices),
            self.BLOCK_SIZE,
            self.mask_mod,
            (new_q_len, new_kv_len),
        )

    def to(self, device):
        """The mask on a device."""
        moved = [None if each is None else each.to(device) for each in (getattr(self, name) for name in _TENSORS)]
        return BlockMask(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)

    # ---- Printing

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of the blocks of the first batches and heads: whole, in part, or not needed.

        `grid_size` bounds the picture; -1 shows each block.
        """
        table = self.to_dense()
        rows, columns = table.shape[-2:]
        if isinstance(grid_size, int):
            grid_size = (grid_size, grid_size)
        high, wide = (1 if size == -1 else -(-n // size) for n, size in zip((rows, columns), grid_size, strict=True))
        names = [()]
        for size in table.shape[:-2]:
            names = [(*name, place) for name in names for place in range(size)]
        pictures = []
        for name in names[:limit]:
            lines = []
            for top in range(0, rows, high):
                cells = [table[name][top : top + high, left : left + wide] for left in range(0, columns, wide)]
                lines.append("".join(_cell(cell) for cell in cells))
            pictures.append("\n".join([str(name), *lines]))
        text = "\n\n".join(pictures)
        if len(names) > limit:
            return (
                f"{text}\n\n...\nTo print out more, set BlockMask.to_string(limit=N)\n"
                "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
            )
        return f"{text}\n"

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self):
        lines = []
        for name in _TENSORS:
            value = getattr(self, name)
            lines.append(f"    {name}={None if value is None else value.shape},\n")
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (
            f"BlockMask(\n{''.join(lines)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={name}\n)"
        )


def _cell(blocks):
    count = int(blocks.sum())
    return "  " if count == 0 else "██" if count == blocks.numel() else "░░"
