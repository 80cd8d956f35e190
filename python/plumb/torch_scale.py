"""Loss scaling: what GradScaler multiplies and when it skips an update.

A plain optimizer is not called when there are infinities; a fused one is, and does nothing.
"""
import torch

from .capture import guarded


class Scales:
    def __init__(self, watch):
        self.watch = watch
        self.session = watch.session
        self.scaled = None  # (the tensor that scale() gave, the one it was given)

    def install(self):
        scaler = getattr(torch.amp, "GradScaler", None)
        if scaler is not None:
            self.session.replace(scaler, "scale", self._scale)
            self.session.replace(scaler, "step", self._step)
            self.session.replace(scaler, "update", self._update)

    def _scale(self, original):
        def scale(this, outputs):
            result = original(this, outputs)
            if isinstance(outputs, torch.Tensor):
                self.scaled = (result, outputs)
            return result

        return scale

    def unscaled(self, root):
        scaled, self.scaled = self.scaled, None
        return scaled[1] if scaled is not None and scaled[0] is root else root

    def _step(self, original):
        def step(this, optimizer, *arguments, **keywords):
            before = self.watch.stepping.updates
            result = original(this, optimizer, *arguments, **keywords)
            if this.is_enabled() and self.watch.stepping.updates == before:
                self.watch.skipped_update(getattr(optimizer, "optimizer", optimizer))
            return result

        return step

    def _update(self, original):
        def update(this, *arguments, **keywords):
            self._record(this)
            return original(this, *arguments, **keywords)

        return update

    @guarded
    def _record(self, scaler):
        """The scale that the step which has just ended was made with: the optimizer came before."""
        if scaler.is_enabled() and self.session.recorder:
            self.session.series("loss_scale", float(scaler.get_scale()), max(self.session.step - 1, 0))

    def scale_inside(self, optimizer):
        """What a fused optimizer divides its gradients by itself; 1 for all others."""
        scale = getattr(optimizer, "grad_scale", None)
        return float(scale) if scale is not None else 1.0

    def was_skipped_inside(self, optimizer):
        found = getattr(optimizer, "found_inf", None)
        return found is not None and float(found) != 0
