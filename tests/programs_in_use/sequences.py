"""Programs on sequences: language models, recurrent nets, attention, transformers, CTC, time series."""

import math

TEXT = "the quick brown fox jumps over the lazy dog and the dog jumps over the fox "


def vocabulary():
    chars = sorted(set(TEXT))
    return {c: i for i, c in enumerate(chars)}, dict(enumerate(chars))


def rnn_language_model(torch):
    """Truncated backpropagation: the hidden state is detached between chunks; tied weights; perplexity; sampling."""
    nn = torch.nn
    stoi, itos = vocabulary()

    class RNNModel(nn.Module):
        def __init__(self, ntoken, nhid, nlayers, dropout=0.0, tie=True):
            super().__init__()
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(ntoken, nhid)
            self.rnn = nn.GRU(nhid, nhid, nlayers, dropout=dropout)
            self.decoder = nn.Linear(nhid, ntoken)
            if tie:
                self.decoder.weight = self.encoder.weight
            self.nhid, self.nlayers = nhid, nlayers
            self.init_weights()

        def init_weights(self):
            self.encoder.weight.data.uniform_(-0.1, 0.1)
            self.decoder.bias.data.zero_()

        def forward(self, x, hidden):
            out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
            out = self.drop(out)
            decoded = self.decoder(out.view(out.size(0) * out.size(1), out.size(2)))
            return decoded.view(out.size(0), out.size(1), -1), hidden

        def init_hidden(self, bsz):
            weight = next(self.parameters())
            return weight.new_zeros(self.nlayers, bsz, self.nhid)

    torch.manual_seed(0)
    data = torch.tensor([stoi[c] for c in TEXT])
    bsz = 3
    data = data[: len(data) // bsz * bsz].view(bsz, -1).t().contiguous()
    model = RNNModel(len(stoi), 12, 2)
    lr, best, losses = 1.0, None, []
    for epoch in range(3):
        model.train()
        total = 0.0
        hidden = model.init_hidden(bsz)
        for i in range(0, data.size(0) - 1, 6):
            n = min(6, len(data) - 1 - i)
            source, target = data[i : i + n], data[i + 1 : i + 1 + n].reshape(-1)
            hidden = hidden.detach()
            model.zero_grad()
            output, hidden = model(source, hidden)
            loss = nn.functional.cross_entropy(output.view(-1, len(stoi)), target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total += n * loss.item()
        total /= len(data)
        print("| end of epoch {:3d} | ppl {:8.2f}".format(epoch, math.exp(total)))
        if best is None or total < best:
            best = total
        else:
            lr /= 4.0
        losses.append(total)
    model.eval()
    word, hidden, text = torch.randint(len(stoi), (1, 1), dtype=torch.long), model.init_hidden(1), []
    with torch.no_grad():
        for _ in range(12):
            output, hidden = model(word, hidden)
            weights = output.squeeze().div(0.8).exp().cpu()
            index = torch.multinomial(weights, 1)[0]
            word.fill_(index)
            text.append(itos[index.item()])
    return losses, "".join(text), [n for n, _ in model.named_parameters()], list(model.state_dict())


def packed_lstm(torch):
    """Sentences of many lengths: pad_sequence, pack_padded_sequence, a bidirectional LSTM."""
    nn = torch.nn
    rnn = nn.utils.rnn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
            self.tag = nn.Linear(10, 3)
            self.sentence = nn.Linear(20, 2)
            for name, p in self.lstm.named_parameters():
                if "weight_hh" in name:
                    for chunk in p.data.chunk(4, 0):
                        nn.init.orthogonal_(chunk)
                elif "bias" in name:
                    n = p.size(0)
                    p.data[n // 4 : n // 2].fill_(1.0)

        def forward(self, x, lengths):
            packed = rnn.pack_padded_sequence(self.embed(x), lengths, batch_first=True, enforce_sorted=False)
            out, (h, _) = self.lstm(packed)
            out, n = rnn.pad_packed_sequence(out, batch_first=True)
            last = torch.cat([h[-2], h[-1], h[0], h[1]], dim=-1)
            return self.tag(out), self.sentence(last), n

    torch.manual_seed(1)
    sentences = [torch.randint(1, 10, (n,)) for n in (3, 7, 5, 1)]
    labels = [s % 3 for s in sentences]
    lengths = torch.as_tensor([len(s) for s in sentences])
    x = rnn.pad_sequence(sentences, batch_first=True)
    y = rnn.pad_sequence(labels, batch_first=True, padding_value=-100)
    kind = torch.tensor([int(s.sum()) % 2 for s in sentences])
    model = Tagger()
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        tags, sentence, n = model(x, lengths)
        loss = nn.functional.cross_entropy(tags.transpose(1, 2), y, ignore_index=-100)
        loss = loss + nn.functional.multi_margin_loss(sentence, kind)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    accuracy = ((tags.argmax(-1) == y) & (y != -100)).sum() / (y != -100).sum()
    return losses, accuracy, n, model.embed.weight.grad[0], model.lstm.weight_hh_l1_reverse.grad


def seq2seq_attention(torch):
    """An encoder and a decoder of GRU cells with additive attention, teacher forcing, greedy and beam decoding."""
    nn, F = torch.nn, torch.nn.functional
    SOS, EOS = 0, 1

    class Attention(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.W = nn.Linear(2 * d, d, bias=False)
            self.v = nn.Parameter(torch.rand(d))

        def forward(self, query, keys, mask):
            q = query.unsqueeze(1).repeat(1, keys.size(1), 1)
            energy = torch.tanh(self.W(torch.cat((q, keys), 2))) @ self.v
            return F.softmax(energy.masked_fill(~mask, float("-inf")), dim=1)

    class Seq2Seq(nn.Module):
        def __init__(self, n, d):
            super().__init__()
            self.embed = nn.Embedding(n, d)
            self.encoder = nn.GRU(d, d, batch_first=True)
            self.cell = nn.GRUCell(2 * d, d)
            self.attention = Attention(d)
            self.out = nn.Linear(2 * d, n)

        def step(self, token, h, keys, mask):
            a = self.attention(h, keys, mask)
            context = torch.bmm(a.unsqueeze(1), keys).squeeze(1)
            h = self.cell(torch.cat([self.embed(token), context], dim=-1), h)
            return F.log_softmax(self.out(torch.cat([h, context], -1)), -1), h

        def forward(self, src, trg, forced):
            keys, h = self.encoder(self.embed(src))
            h, mask, token, outputs = h[0], src != 9, torch.full((len(src),), SOS), []
            for t in range(trg.size(1)):
                logp, h = self.step(token, h, keys, mask)
                outputs.append(logp)
                token = trg[:, t] if forced[t] else logp.max(1)[1]
            return torch.stack(outputs, 1)

    torch.manual_seed(2)
    src = torch.randint(2, 9, (5, 6))
    src[0, 4:] = src[3, 5:] = 9
    trg = torch.cat([src.flip(1), torch.full((5, 1), EOS)], 1)
    trg[trg == 9] = EOS
    model = Seq2Seq(10, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(5):
        forced = [torch.rand(1).item() < 0.5 for _ in range(trg.size(1))]
        out = model(src, trg, forced)
        loss = F.nll_loss(out.reshape(-1, 10), trg.reshape(-1), reduction="sum") / len(src)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        keys, h = model.encoder(model.embed(src[:1]))
        mask = src[:1] != 9
        beams = [(0.0, [SOS], h[0])]
        for _ in range(4):
            grown = []
            for score, tokens, state in beams:
                logp, new = model.step(torch.tensor([tokens[-1]]), state, keys, mask)
                values, indices = logp[0].topk(3)
                for v, i in zip(values.tolist(), indices.tolist(), strict=True):
                    grown.append((score + v, [*tokens, i], new))
            beams = sorted(grown, key=lambda b: b[0], reverse=True)[:2]
    return losses, [b[1] for b in beams], [b[0] for b in beams], model.attention.v.grad


def transformer_classifier(torch):
    """nn.TransformerEncoder with a positional-encoding buffer and padding masks."""
    nn = torch.nn

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=32):
            super().__init__()
            position = torch.arange(max_len).unsqueeze(1)
            div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
            pe = torch.zeros(1, max_len, d_model)
            pe[0, :, 0::2] = torch.sin(position * div_term)
            pe[0, :, 1::2] = torch.cos(position * div_term)
            self.register_buffer("pe", pe)
            self.register_buffer("scale", torch.tensor(math.sqrt(d_model)), persistent=False)

        def forward(self, x):
            return x * self.scale + self.pe[:, : x.size(1)]

    class Classifier(nn.Module):
        def __init__(self, vocab, d=8, heads=2):
            super().__init__()
            self.embed = nn.Embedding(vocab, d, padding_idx=0)
            self.pos = PositionalEncoding(d)
            layer = nn.TransformerEncoderLayer(d, heads, 16, dropout=0.0, activation="gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(d), enable_nested_tensor=False)
            self.cls = nn.Parameter(torch.zeros(1, 1, d))
            self.head = nn.Linear(d, 3)
            nn.init.trunc_normal_(self.cls, std=0.02)

        def forward(self, x):
            pad = x.eq(0)
            pad = torch.cat([pad.new_zeros(len(x), 1), pad], dim=1)
            h = self.pos(torch.cat([self.cls.expand(len(x), -1, -1), self.embed(x)], dim=1))
            h = self.encoder(h, src_key_padding_mask=pad)
            keep = (~pad).unsqueeze(-1)
            return self.head(h[:, 0] + (h * keep).sum(1) / keep.sum(1))

    torch.manual_seed(3)
    x = torch.randint(1, 12, (6, 7))
    lengths = torch.tensor([7, 3, 5, 1, 6, 2])
    x[torch.arange(7)[None, :] >= lengths[:, None]] = 0
    y = x.max(dim=1).values % 3
    model = Classifier(12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda s: 8**-0.5 * min((s + 1) ** -0.5, (s + 1) * 20**-1.5)
    )
    losses = []
    for _ in range(8):
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(loss.item())
    print(model)
    model.eval()
    with torch.no_grad():
        probabilities = model(x).softmax(-1)
    return losses, probabilities, schedule.get_last_lr(), list(model.state_dict())


def gpt_top_k(torch):
    """A causal transformer by hand: fused qkv, scaled_dot_product_attention, tied head, accumulation."""
    nn, F = torch.nn, torch.nn.functional
    stoi, itos = vocabulary()
    block = 8

    class CausalSelfAttention(nn.Module):
        def __init__(self, d, heads, flash):
            super().__init__()
            self.c_attn = nn.Linear(d, 3 * d, bias=False)
            self.c_proj = nn.Linear(d, d)
            self.heads, self.flash = heads, flash
            self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
            if self.flash:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
                att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
                y = F.softmax(att, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self, d, flash):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.RMSNorm(d)
            self.attn = CausalSelfAttention(d, 2, flash)
            self.mlp = nn.ModuleDict(
                dict(up=nn.Linear(d, 4 * d), act=nn.GELU(approximate="tanh"), down=nn.Linear(4 * d, d))
            )

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            m = self.mlp
            return x + m.down(m.act(m.up(self.ln_2(x))))

    class GPT(nn.Module):
        def __init__(self, vocab, d=8):
            super().__init__()
            self.transformer = nn.ModuleDict(
                dict(
                    wte=nn.Embedding(vocab, d),
                    wpe=nn.Embedding(block, d),
                    h=nn.ModuleList([Block(d, i % 2 == 0) for i in range(2)]),
                )
            )
            self.lm_head = nn.Linear(d, vocab, bias=False)
            self.transformer.wte.weight = self.lm_head.weight
            self.apply(self._init)
            for name, p in self.named_parameters():
                if name.endswith("c_proj.weight"):
                    torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(4))

        def _init(self, module):
            if isinstance(module, (nn.Linear, nn.Embedding)):
                torch.nn.init.normal_(module.weight, mean=0.0, std=0.2)
            if isinstance(module, nn.Linear) and module.bias is not None:
                torch.nn.init.zeros_(module.bias)

        def forward(self, idx, targets=None):
            pos = torch.arange(0, idx.size(1), dtype=torch.long).unsqueeze(0)
            x = self.transformer.wte(idx) + self.transformer.wpe(pos)
            for layer in self.transformer.h:
                x = layer(x)
            logits = self.lm_head(x)
            if targets is None:
                return logits, None
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

        @torch.no_grad()
        def generate(self, idx, count, temperature=1.0, top_k=None):
            for _ in range(count):
                logits, _ = self(idx[:, -block:])
                logits = logits[:, -1, :] / temperature
                if top_k is not None:
                    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                    logits[logits < v[:, [-1]]] = -float("Inf")
                idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
            return idx

    torch.manual_seed(4)
    data = torch.tensor([stoi[c] for c in TEXT], dtype=torch.long)
    model = GPT(len(stoi))
    params = {n: p for n, p in model.named_parameters() if p.requires_grad}
    groups = [
        {"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95), fused=False)
    losses = []
    for it in range(6):
        for g in optimizer.param_groups:
            g["lr"] = 1e-3 + 0.5 * (1.0 + math.cos(math.pi * it / 6)) * 9e-3
        for _ in range(2):
            ix = torch.randint(len(data) - block, (4,))
            x = torch.stack([data[i : i + block] for i in ix])
            y = torch.stack([data[i + 1 : i + 1 + block] for i in ix])
            _, loss = model(x, y)
            (loss / 2).backward()
            losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    model.eval()
    out = model.generate(torch.zeros((2, 1), dtype=torch.long), 12, temperature=0.9, top_k=5)
    return losses, ["".join(itos[i] for i in row) for row in out.tolist()], list(model.state_dict()), sorted(params)


def ctc_recogniser(torch):
    """Convolutions over frames, a bidirectional GRU, CTC loss over padded targets, greedy collapse of the best path."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)
    conv = nn.Conv1d(4, 8, 3, stride=2, padding=1)
    rnn = nn.GRU(8, 6, bidirectional=True)
    head = nn.Linear(12, 5)
    modules = nn.ModuleList([conv, rnn, head])
    frames = torch.randn(3, 4, 20)
    frame_lengths = torch.tensor([20, 16, 12])
    targets = torch.tensor([[1, 2, 3, 3], [4, 1, 0, 0], [2, 2, 1, 0]])
    target_lengths = torch.tensor([4, 2, 3])
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.Adamax(modules.parameters(), lr=0.03)
    losses = []
    for step in range(6):
        h = F.relu(conv(frames)).permute(2, 0, 1)
        h, _ = rnn(h)
        logp = head(h).log_softmax(2)
        lengths = torch.div(frame_lengths + 1, 2, rounding_mode="floor")
        if step % 2:
            flat = torch.cat([t[:n] for t, n in zip(targets, target_lengths, strict=True)])
            loss = criterion(logp, flat, lengths, target_lengths)
        else:
            loss = F.ctc_loss(logp, targets, tuple(lengths.tolist()), tuple(target_lengths.tolist()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    decoded = []
    for row, n in zip(logp.argmax(-1).t(), lengths, strict=True):
        path = torch.unique_consecutive(row[:n])
        decoded.append(path[path != 0].tolist())
    return losses, decoded, conv.weight.grad


def time_series_lbfgs(torch):
    """Sine waves predicted by LSTM cells step by step, trained by LBFGS with a closure, rolled out into the future."""
    nn = torch.nn
    torch.manual_seed(6)

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1 = nn.LSTMCell(1, 8)
            self.lstm2 = nn.LSTMCell(8, 8)
            self.linear = nn.Linear(8, 1)

        def forward(self, x, future=0):
            outputs = []
            h = c = torch.zeros(x.size(0), 8, dtype=x.dtype)
            h2, c2 = torch.zeros_like(h), torch.zeros_like(h)
            for piece in x.split(1, dim=1):
                h, c = self.lstm1(piece, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                output = self.linear(h2)
                outputs += [output]
            for _ in range(future):
                h, c = self.lstm1(output, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                output = self.linear(h2)
                outputs += [output]
            return torch.cat(outputs, dim=1)

    model = Sequence()
    t = torch.arange(12) + torch.randint(-4, 4, (4, 1))
    wave = torch.sin(t.to(torch.get_default_dtype()) / 2.0)
    x, y = wave[:, :-1], wave[:, 1:]
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=5)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(2):
        optimizer.step(closure)
    with torch.no_grad():
        prediction = model(x, future=3)
    return losses, prediction[:, -3:].numpy().tolist()
