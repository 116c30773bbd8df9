"""Programs on images: classifiers, segmentation, saliency, adversarial examples."""

import copy

import numpy as np


def images(torch, count=16, classes=4, size=8, channels=1):
    """Images with a bright bar whose place is the class, and noise."""
    generator = np.random.default_rng(0)
    x = generator.normal(0, 0.3, (count, channels, size, size))
    y = generator.integers(0, classes, count)
    for image, label in zip(x, y, strict=True):
        image[:, label * size // classes] += 1.0
    return torch.from_numpy(x).to(torch.get_default_dtype()), torch.from_numpy(y)


def lenet_with_init_and_groups(torch):
    """Sequential, initialisation by apply, weight decay for weights only, clipping, StepLR, top-2 accuracy."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 8, 3),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(32, 16),
        nn.LeakyReLU(0.1, inplace=True),
        nn.Linear(16, 4),
    )

    def init(m):
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(m.bias)
        elif type(m) is nn.Linear:
            nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("tanh"))
            m.bias.data.fill_(0.01)

    model.apply(init)
    print(model)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
    decay = [p for n, p in model.named_parameters() if not n.endswith("bias")]
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias")]
    optimizer = torch.optim.SGD(
        [{"params": decay, "weight_decay": 1e-2}, {"params": no_decay, "lr": 0.2}], lr=0.1, momentum=0.9, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    x, y = images(torch)
    history = []
    for epoch in range(5):
        order = torch.randperm(len(x))
        running = 0.0
        for i in range(0, len(x), 8):
            picked = order[i : i + 8]
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[picked]), y[picked], label_smoothing=0.1)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            running += loss.item() * len(picked)
            history.append(norm.item())
        scheduler.step()
        print(f"epoch {epoch}: loss {running / len(x):.4f}, lr {scheduler.get_last_lr()}")
        history.append(running)
    with torch.no_grad():
        logits = model.eval()(x)
        top = logits.topk(2, dim=1).indices
        correct = top.eq(y.view(-1, 1).expand_as(top))
        top1 = correct[:, :1].float().sum().item() / len(y)
        top2 = correct.any(dim=1).float().mean().item()
        confusion = torch.zeros(4, 4, dtype=torch.int64)
        for truth, guess in zip(y, logits.argmax(1), strict=True):
            confusion[truth, guess] += 1
    return history, top1, top2, confusion, model.state_dict()


def resnet_train_eval(torch):
    """Residual blocks with BatchNorm, zero-initialised last gamma, train and eval, SGD with cosine annealing."""
    nn = torch.nn

    class BasicBlock(nn.Module):
        expansion = 1

        def __init__(self, inplanes, planes, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Identity()
            if stride != 1 or inplanes != planes:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
                )

        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self, widths=(4, 8), num_classes=4):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]))
            layers, planes = [], widths[0]
            for i, width in enumerate(widths):
                layers.append(BasicBlock(planes, width, stride=1 + (i > 0)))
                planes = width
            self.layers = nn.ModuleList(layers)
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(planes, num_classes)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                    nn.init.constant_(m.weight, 1)
                    nn.init.constant_(m.bias, 0)
            for m in self.modules():
                if isinstance(m, BasicBlock):
                    nn.init.zeros_(m.bn2.weight)

        def forward(self, x):
            x = torch.relu_(self.stem(x))
            for layer in self.layers:
                x = layer(x)
            return self.fc(torch.flatten(self.pool(x), 1))

    torch.manual_seed(1)
    model = ResNet()
    print(model)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 1.0, 0.5]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    x, y = images(torch, channels=3)
    x = (x - x.mean(dim=(0, 2, 3), keepdim=True)) / x.std(dim=(0, 2, 3), keepdim=True)
    losses = []
    for _ in range(6):
        model.train()
        for xb, yb in zip(x.split(8), y.split(8), strict=True):
            if torch.rand(1).item() < 0.5:
                xb = xb.flip(-1)
            xb = torch.roll(xb, shifts=int(torch.randint(-1, 2, ())), dims=3)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            losses.append(criterion(model(x), y))
    return torch.stack(losses), model.layers[1].bn1.running_var, model.stem[1].num_batches_tracked


def depthwise_separable(torch):
    """MobileNet-like blocks with squeeze and excitation, RMSprop, hardswish."""
    nn = torch.nn

    class SqueezeExcite(nn.Module):
        def __init__(self, c, r=4):
            super().__init__()
            self.fc1 = nn.Conv2d(c, c // r, 1)
            self.fc2 = nn.Conv2d(c // r, c, 1)

        def forward(self, x):
            s = x.mean((2, 3), keepdim=True)
            return x * nn.functional.hardsigmoid(self.fc2(nn.functional.relu6(self.fc1(s))))

    def conv_dw(inp, oup, stride, dilation=1):
        return nn.Sequential(
            nn.Conv2d(inp, inp, 3, stride, padding=dilation, dilation=dilation, groups=inp, bias=False),
            nn.BatchNorm2d(inp, momentum=0.01, eps=1e-3),
            nn.Hardswish(inplace=True),
            SqueezeExcite(inp),
            nn.Conv2d(inp, oup, 1, bias=False, groups=2),
            nn.ChannelShuffle(2),
            nn.BatchNorm2d(oup),
            nn.SiLU(),
        )

    torch.manual_seed(2)
    net = nn.ModuleDict(
        {"stem": nn.Conv2d(1, 4, 3, stride=2, padding="valid"), "a": conv_dw(4, 8, 1), "b": conv_dw(8, 8, 1, 2)}
    )
    net["head"] = nn.Linear(8, 4)
    for name, parameter in net.named_parameters():
        parameter.requires_grad = name.startswith(("b.", "head."))
    x, y = images(torch)

    def forward(x):
        for key in ("stem", "a", "b"):
            x = net[key](x)
        return net["head"](nn.functional.adaptive_max_pool2d(x, 1).squeeze(-1).squeeze(-1))

    optimizer = torch.optim.RMSprop(
        filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2, alpha=0.9, momentum=0.9
    )
    losses = []
    for step in range(8):
        if step == 4:
            frozen = [p for p in net.parameters() if not p.requires_grad]
            for p in frozen:
                p.requires_grad_(True)
            optimizer.add_param_group({"params": frozen, "lr": 1e-3})
        loss = nn.functional.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    grads = {n: p.grad.norm() for n, p in net.named_parameters()}
    return losses, grads, [len(g["params"]) for g in optimizer.param_groups]


def unet_segmentation(torch):
    """An encoder and decoder with skip connections: transposed convolution, interpolate, cat; dice and BCE losses."""
    nn, F = torch.nn, torch.nn.functional

    def double(i, o):
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.GELU(), nn.Conv2d(o, o, 3, padding=1), nn.ELU()
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2 = double(1, 4), double(4, 8)
            self.pool = nn.MaxPool2d(2, ceil_mode=True)
            self.mid = double(8, 8)
            self.up1 = nn.ConvTranspose2d(8, 8, 2, stride=2)
            self.dec1, self.dec2 = double(16, 4), double(8, 4)
            self.out = nn.Conv2d(4, 1, 1)
            self.drop = nn.Identity()

        def forward(self, x):
            a = self.down1(x)
            b = self.down2(self.pool(a))
            c = self.drop(self.mid(self.pool(b)))
            up = self.up1(c)
            dy, dx = b.size(2) - up.size(2), b.size(3) - up.size(3)
            up = F.pad(up, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            d = self.dec1(torch.cat([up, b], dim=1))
            d = F.interpolate(d, size=a.shape[-2:], mode="bilinear", align_corners=True)
            return self.out(self.dec2(torch.cat((d, a), 1)))

    def dice(logits, target, eps=1.0):
        p = logits.sigmoid().flatten(1)
        t = target.flatten(1)
        return 1 - ((2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()

    torch.manual_seed(3)
    model = UNet()
    yy, xx = torch.meshgrid(torch.arange(9), torch.arange(9), indexing="ij")
    centre = torch.tensor([[3, 3], [5, 4], [4, 6]])
    mask = ((yy[None] - centre[:, 0, None, None]) ** 2 + (xx[None] - centre[:, 1, None, None]) ** 2 <= 6).unsqueeze(1)
    target = mask.to(torch.get_default_dtype())
    x = target + 0.5 * torch.randn_like(target)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=0.05)
    bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))
    losses = []
    for _ in range(8):
        logits = model(x)
        loss = bce(logits, target) + dice(logits, target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    prediction = torch.where(model(x).sigmoid() > 0.5, 1, 0)
    union = (prediction.bool() | mask).sum((1, 2, 3))
    iou = (prediction.bool() & mask).sum((1, 2, 3)) / union.clamp(min=1)
    return losses, iou, F.interpolate(x, scale_factor=2, mode="nearest").sum()


def saliency_and_adversarial(torch):
    """Feature maps and their gradients by hooks (Grad-CAM), saliency, FGSM, PGD."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(4)
    model = nn.Sequential()
    model.add_module("conv", nn.Conv2d(1, 6, 3, padding=1))
    model.add_module("act", nn.Softplus(beta=2))
    model.add_module("pool", nn.MaxPool2d(2))
    model.add_module("flat", nn.Flatten())
    model.add_module("fc", nn.Linear(96, 4))
    x, y = images(torch)
    optimizer = torch.optim.Adam(model.parameters(), 0.01, amsgrad=True)
    for _ in range(10):
        optimizer.zero_grad()
        F.nll_loss(F.log_softmax(model(x), dim=-1), y).backward()
        optimizer.step()
    features, gradients, order = {}, {}, []
    handles = [
        model.act.register_forward_hook(lambda m, i, o: features.update(act=o.detach())),
        model.act.register_full_backward_hook(lambda m, gi, go: gradients.update(act=go[0])),
        model.fc.register_forward_pre_hook(lambda m, args: order.append(tuple(args[0].shape))),
    ]
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    image = x[:4].clone().requires_grad_()
    scores = model(image)
    scores.gather(1, y[:4, None]).sum().backward()
    saliency = image.grad.abs().amax(dim=1)
    weights = gradients["act"].mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * features["act"]).sum(1))
    cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
    for h in handles:
        h.remove()

    def fgsm(x, y, eps):
        x = x.detach().clone()
        x.requires_grad = True
        (g,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
        return (x + eps * g.sign()).clamp_(-1, 2).detach()

    def pgd(x, y, eps=0.3, alpha=0.1, steps=4):
        delta = torch.empty_like(x).uniform_(-eps, eps).requires_grad_()
        for _ in range(steps):
            loss = F.cross_entropy(model(x + delta), y)
            loss.backward()
            with torch.no_grad():
                delta += alpha * delta.grad.sign()
                delta.clamp_(-eps, eps)
            delta.grad = None
        return (x + delta).detach()

    accuracy = [(model(z).argmax(1) == y).float().mean().item() for z in (x, fgsm(x, y, 0.3), pgd(x, y))]
    print(accuracy, order)
    return saliency, cam, accuracy, fgsm(x, y, 0.1), pgd(x, y)


def teacher_student_ema(torch):
    """A student, its exponential average by deepcopy and lerp_, distillation with temperature, mixup, cutout."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(5)
    student = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 12, bias=False), nn.BatchNorm1d(12), nn.PReLU(), nn.Linear(12, 4)
    )
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.detach_()
    x, y = images(torch)

    @torch.no_grad()
    def update(decay):
        for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
            t.lerp_(s, 1 - decay)
        for t, s in zip(teacher.buffers(), student.buffers(), strict=True):
            t.copy_(s)

    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    losses = []
    for step in range(8):
        lam = float(np.random.default_rng(step).beta(0.4, 0.4))
        index = torch.randperm(x.size(0))
        mixed = lam * x + (1 - lam) * x[index]
        mixed[:, :, 2:4, 2:4] = 0
        logits = student(mixed)
        loss = lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[index])
        with torch.no_grad():
            soft = F.softmax(teacher(mixed) / 2.0, dim=1)
        loss = loss + 4 * F.kl_div(F.log_softmax(logits / 2.0, dim=1), soft, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
        update(min(0.99, (step + 1) / (step + 10)))
        losses.append(loss.item())
    teacher.eval()
    return losses, teacher(x), teacher.state_dict(), warmup.state_dict()["last_epoch"]
