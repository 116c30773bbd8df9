"""What the examples share: their options, and a training loop with a progress bar, checkpoints and a clean Ctrl-C."""

import argparse
import contextlib
import signal
import sys
import time
from pathlib import Path

from plot import FORMATS, write_plot

import adjoint as torch

try:
    from rich import progress as rich_progress
except ImportError:  # lines of text will do
    rich_progress = None

INTERRUPTED = 130  # what shells expect of a program that Ctrl-C ended


def arguments(description, steps):
    """The options that every example has; `steps` is how many training steps it makes by default."""
    name = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=steps, help=f"how many training steps to make ({steps})")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the loss curve into FILE: .svg or .png")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help=f"save the training's state to FILE at the end and on Ctrl-C (on Ctrl-C only, to {name}.pt)",
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"--steps: expected at least 1; got {options.steps}")
    if options.plot and options.plot.suffix not in FORMATS:
        parser.error(f"--plot: expected a file that ends in {' or '.join(FORMATS)}; got {options.plot}")
    options.name = name
    options.save_at_end = options.checkpoint is not None
    options.checkpoint = options.checkpoint or Path(f"{name}.pt")
    if options.resume and not options.checkpoint.exists():
        parser.error(f"--resume: there is no {options.checkpoint}; name the file with --checkpoint")
    return options


def train(step, options, **parts):
    """Calls `step()`, which makes one training step and returns its loss, until all are made; returns all losses.

    `parts` are what a checkpoint keeps, by name: models and optimizers. With the state of the random numbers beside
    them, a resumed training takes exactly the steps of one that was never interrupted.
    """
    losses = load(options, parts) if options.resume else []
    already, start = len(losses), time.perf_counter()

    def speed():
        return (len(losses) - already) / (time.perf_counter() - start)

    with interruptible() as interrupted, progress(options.steps) as show:
        while len(losses) < options.steps and not interrupted():
            losses.append(float(step()))
            show(losses, speed())
    made = f"{len(losses)} of {options.steps} steps" if len(losses) < options.steps else f"{len(losses)} steps"
    print(f"{options.name}: {made}, loss {recent(losses):.4g}, {speed():.1f} steps/s", flush=True)

    if options.plot:
        write_plot(options.plot, losses, options.name)
        print(f"loss curve: {options.plot}")
    stopped = len(losses) < options.steps
    if stopped or options.save_at_end:
        save(options, parts, losses)
        print(f"checkpoint: {options.checkpoint}", flush=True)
    if stopped:
        print(f"stopped; go on with --resume --checkpoint {options.checkpoint}")
        raise SystemExit(INTERRUPTED)
    return losses


def save(options, parts, losses):
    """Writes the checkpoint; torch.save replaces a file only when the new one is whole."""
    state = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**state, "losses": losses, "random": torch.get_rng_state()}, options.checkpoint)


def load(options, parts):
    """Puts the checkpoint's state into the parts; returns the losses so far."""
    state = torch.load(options.checkpoint)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    torch.set_rng_state(state["random"])
    return state["losses"]


def recent(losses):
    """The mean of the last few losses: single batches vary."""
    last = losses[-20:]
    return sum(last) / len(last)


@contextlib.contextmanager
def interruptible():
    """Yields a function that says whether Ctrl-C was pressed, once; the step at hand ends first. A second one kills."""
    pressed = False

    def note(number, frame):
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def progress(total):
    """Yields a function of the losses and the speed that shows them: as a bar on a terminal, as ten lines elsewhere."""
    if rich_progress is None or not sys.stdout.isatty():
        every = max(1, total // 10)

        def line(losses, speed):
            if len(losses) % every == 0:
                print(f"step {len(losses)}/{total}  loss {recent(losses):.4g}  {speed:.1f} steps/s", flush=True)

        yield line
        return
    columns = (
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("loss {task.fields[loss]:.4g}  {task.fields[speed]:.1f} steps/s"),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns) as bar:
        task = bar.add_task("training", total=total, loss=float("nan"), speed=0.0)
        yield lambda losses, speed: bar.update(task, completed=len(losses), loss=recent(losses), speed=speed)
