"""Programs about data: loaders with workers, own collation, samplers, NumPy in the loop."""

import numpy as np


class Sentences:
    """Lists of word numbers of many lengths, with a class; a map-style dataset without a base class."""

    def __init__(self, torch, count=14):
        self.torch = torch
        rng = np.random.default_rng(3)
        self.rows = [rng.integers(1, 20, rng.integers(1, 6)).tolist() for _ in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return {"tokens": self.torch.tensor(row), "label": sum(row) % 2, "length": len(row)}


def embedding_bag_with_collate(torch):
    """A text classifier: custom collate to flat tokens and offsets, DataLoader with two workers, per-sample weights."""
    nn = torch.nn
    data = torch.utils.data

    def collate(batch):
        tokens = torch.cat([b["tokens"] for b in batch])
        offsets = torch.tensor([0] + [b["length"] for b in batch[:-1]]).cumsum(dim=0)
        return torch.tensor([b["label"] for b in batch], dtype=torch.int64), tokens, offsets

    class TextClassifier(nn.Module):
        def __init__(self, vocab, dim, classes):
            super().__init__()
            self.embedding = nn.EmbeddingBag(vocab, dim, mode="sum", sparse=False)
            self.word_weight = nn.Parameter(torch.ones(vocab))
            self.fc = nn.Linear(dim, classes)
            self.init_weights()

        def init_weights(self, initrange=0.5):
            self.embedding.weight.data.uniform_(-initrange, initrange)
            self.fc.weight.data.uniform_(-initrange, initrange)
            self.fc.bias.data.zero_()

        def forward(self, text, offsets):
            return self.fc(self.embedding(text, offsets, per_sample_weights=self.word_weight[text]))

    torch.manual_seed(0)
    generator = torch.Generator()
    generator.manual_seed(11)
    dataset = Sentences(torch)
    train, held = data.random_split(dataset, [10, 4], generator=torch.Generator().manual_seed(42))
    loader = data.DataLoader(train, batch_size=4, shuffle=True, collate_fn=collate, num_workers=2, generator=generator)
    model = TextClassifier(20, 6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.8)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, epochs=3, steps_per_epoch=len(loader))
    losses, rates = [], []
    for _ in range(3):
        for label, text, offsets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(text, offsets), label)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            rates.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
    with torch.no_grad():
        for label, text, offsets in data.DataLoader(held, batch_size=len(held), collate_fn=collate):
            accuracy = (model(text, offsets).argmax(1) == label).sum().item() / len(label)
    return losses, rates, accuracy, train.indices, model.word_weight


def loaders_and_samplers(torch):
    """TensorDataset, Subset, ConcatDataset, an IterableDataset, weighted and batch samplers."""
    data = torch.utils.data
    torch.manual_seed(1)
    x = torch.arange(24.0).view(12, 2)
    y = torch.arange(12) % 2
    base = data.TensorDataset(x, y)
    evens = data.Subset(base, [i for i in range(12) if i % 2 == 0])
    both = data.ConcatDataset([evens, data.TensorDataset(x + 100, y)])
    weights = torch.where(torch.arange(len(both)) < 6, 3.0, 1.0)
    sampler = data.WeightedRandomSampler(weights, num_samples=8, replacement=True)
    seen = [batch for batch in data.DataLoader(both, batch_size=3, sampler=sampler, drop_last=True)]
    order = data.BatchSampler(data.RandomSampler(range(7)), batch_size=3, drop_last=False)
    seen.append(list(order))

    class Stream(data.IterableDataset):
        def __iter__(self):
            for i in range(5):
                yield {"i": i, "v": np.full(2, i, dtype=np.float32), "name": f"s{i}", "pair": (i, float(i))}

    for batch in data.DataLoader(Stream(), batch_size=2):
        seen.append(batch)
    loader = data.DataLoader(base, batch_size=5, shuffle=True)
    print(len(loader), len(both), len(loader.dataset), loader.batch_size)
    w = torch.zeros(2, 2, requires_grad=True)
    losses = []
    for _ in range(2):
        for i, (inputs, labels) in enumerate(loader):
            inputs = (inputs - x.mean(0)) / x.std(0)
            loss = torch.nn.functional.cross_entropy(inputs @ w, labels)
            loss.backward()
            if (i + 1) % 2 == 0 or i + 1 == len(loader):
                with torch.no_grad():
                    w.sub_(w.grad, alpha=0.3)
                    w.grad.zero_()
            losses.append(loss.item())
    a, b = data.random_split(base, [0.75, 0.25], generator=torch.Generator().manual_seed(3))
    return seen, losses, a.indices, b.indices


def numpy_in_the_loop(torch):
    """Data from NumPy and results back: from_numpy shares memory, float32 arrays, masks, histograms."""
    rng = np.random.default_rng(0)
    torch.manual_seed(10)
    kind = "float32" if torch.get_default_dtype() == torch.float32 else "float64"
    features = rng.normal(size=(40, 3)).astype(kind)
    target = (features @ np.array([1.0, -1.0, 2.0], dtype=kind) + 0.5).astype(kind)
    x, y = torch.from_numpy(features), torch.as_tensor(target)[:, None]
    features[0, 0] = 100.0
    shared = x[0, 0].item()
    features[0, 0] = 0.0
    w = torch.zeros(3, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    log = []
    for epoch in range(10):
        order = rng.permutation(40)
        for start in range(0, 40, 10):
            index = order[start : start + 10]
            loss = ((x[index] @ w + b - y[torch.from_numpy(index)]) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.05 * w.grad
                b -= 0.05 * b.grad
            w.grad.zero_()
            b.grad = None
        log.append(float(loss.detach()))
    prediction = (x @ w + b).detach().cpu().numpy().ravel()
    error = np.abs(prediction - target)
    worst = int(np.argmax(error))
    print(w.detach().numpy().round(3).tolist(), round(b.item(), 3), prediction.dtype, worst)
    print(w, b)
    history = torch.tensor(log)
    print(f"best {history.min():.3e} at {history.argmin()}", history)
    table = np.stack([history.numpy(), np.sqrt(history.numpy())])
    mask = torch.tensor(error > np.median(error))
    bins = torch.histc(x[:, 1], bins=4, min=-2, max=2).tolist()
    np_mean = np.mean([t.numpy() for t in x.unbind(1)], axis=1)
    return log, shared, torch.tensor(table), x[mask].shape, bins, torch.from_numpy(np_mean), x.numpy().strides
