"""GradScaler: losses scaled so that small gradients survive in a lower type, and steps skipped when they overflow."""

import collections
import enum
import warnings
from collections.abc import Iterable

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops.language import maximum, where


class OptState(enum.Enum):
    """What was done with an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def unscale(gradients, inverse, found):
    """Multiplies gradients of one device by `inverse`, in place; `found` becomes one where they are not finite."""
    left = _C._unscale(gradients, inverse, found) if found.is_cuda else gradients
    for gradient in left:
        if found.is_cuda:
            found.copy_(maximum(found, (~gradient.isfinite()).any().float()))
        elif not found.item() and not bool(gradient.isfinite().all()):
            found.fill_(1.0)
        gradient.mul_(inverse)


class GradScaler:
    """Scales a loss before backward, and unscales the gradients before the step, which is skipped if they overflowed.

    The scale grows by `growth_factor` after `growth_interval` steps without overflow, and shrinks by `backoff_factor`
    after one with. With enabled=False every method passes through.

    >>> import adjoint as torch
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> scaler.scale(x * x).backward()
    >>> x.grad
    tensor(24.)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not _C._cuda_device_count():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0. Got {growth_factor}.")
        if backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0. Got {backoff_factor}.")
        self._init_scale = init_scale
        self._scale = None  # a tensor from the first scale() on
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states = collections.defaultdict(_fresh_state)

    # ---- One iteration: scale, unscale_, step, update

    def scale(self, outputs):
        """A tensor, or those of a list, tuple or other iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            if self._scale is None:
                self._scale = _C.tensor(self._init_scale, dtype=_C.float32).to(outputs.device)
                self._growth_tracker = _C.tensor(self._init_growth_tracker, dtype=_C.int32).to(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError(f"outputs must be a Tensor or an iterable of Tensors; got {type(outputs).__name__}")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer by the scale, so that they can be clipped before step()."""
        if not self._enabled:
            return
        self._check_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update(). Call it once between "
                "backward() and step()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step(). Call it between backward() and step().")
        inverse = self._scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads(optimizer, inverse, allow_half=False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(*args, **kwargs), with unscaled gradients; skipped when they hold inf or nan."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "Closure use is not currently supported if GradScaler is enabled. Call step() without closure, or "
                "make the scaler with enabled=False."
            )
        self._check_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "step() has already been called since the last update(). Call update() after each step()."
            )
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        found = state["found_inf_per_device"]
        if not found:
            raise AssertionError(
                "No inf checks were recorded for this optimizer. None of its parameters has a gradient: call "
                "backward() on the scaled loss first."
            )
        result = None if any(flag.item() for flag in found.values()) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """Grows or shrinks the scale after what was found in this iteration, or sets it to `new_scale`."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                flag for state in self._per_optimizer_states.values() for flag in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError(
                    "No inf checks were recorded prior to update. Call step() or unscale_() before it."
                )
            if self._scale.is_cuda:
                self._adapt_there(found)
            else:
                self._adapt(any(flag.item() for flag in found))
        self._per_optimizer_states = collections.defaultdict(_fresh_state)

    def _check_scale(self, name):
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def _unscale_grads(self, optimizer, inverse, allow_half):
        """Multiplies all gradients by `inverse`; by device, whether one of them was infinite or nan before."""
        found = {}
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        by_device = collections.defaultdict(list)
        for gradient in (parameter.grad for parameter in parameters if parameter.grad is not None):
            if gradient.dtype == _C.float16 and not allow_half:
                raise ValueError(
                    "Attempting to unscale FP16 gradients. Keep parameters in float32: autocast lowers them."
                )
            by_device[gradient.device].append(gradient)
        with no_grad():
            for device, gradients in by_device.items():
                found[device] = _C.zeros((), dtype=_C.float32, device=device)
                unscale(gradients, inverse.to(device), found[device])
        return found

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        if not (
            isinstance(new_scale, _C.Tensor)
            and new_scale.numel() == 1
            and new_scale.is_floating_point()
            and not new_scale.requires_grad
        ):
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
        self._scale.copy_(new_scale)

    def _adapt(self, overflowed):
        if overflowed:
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        successes = int(self._growth_tracker) + 1
        if successes == self._growth_interval:
            grown = self._scale * self._growth_factor
            if bool(grown.isfinite()):
                self._scale.copy_(grown)
            successes = 0
        self._growth_tracker.fill_(successes)

    def _adapt_there(self, found):
        """The same on a GPU, without waiting for it."""
        overflowed = sum(flag.to(self._scale.device) for flag in found) != 0
        successes = self._growth_tracker + 1
        grows = successes == self._growth_interval
        grown = self._scale * self._growth_factor
        kept = where(grows & grown.isfinite(), grown, self._scale)
        self._scale.copy_(where(overflowed, self._scale * self._backoff_factor, kept))
        self._growth_tracker.copy_(where(overflowed | grows, 0, successes))

    # ---- Settings and state

    def get_scale(self):
        """The scale as a number; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """By how much the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets by how much the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """By how much the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets by how much the scale shrinks after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets after how many steps without overflow the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        """How many steps without overflow there were since the scale last changed."""
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    def state_dict(self):
        """Scale, factors and tracker by name; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Takes the state of another scaler; does nothing when disabled."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            # As numbers: the tensors come back with the next scale().
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def _check_inf_per_device(self, optimizer):
        """By device, whether the gradients of an optimizer hold inf or nan, without changing them."""
        self._check_scale("_check_inf_per_device")
        found = self._unscale_grads(optimizer, _C.ones((), dtype=_C.float32), allow_half=True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        """By device, what the last check of an optimizer's gradients found."""
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
