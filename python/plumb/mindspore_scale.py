"""Loss scaling: what the loss is multiplied by and when an update is skipped.

The methods of mindspore.amp's scalers may be compiled into the user's graph, so they are not touched. What they
call are compiled functions of mindspore.amp, and every call of such a function is seen.
"""
from .mindspore_tensors import number


class Scales:
    def __init__(self):
        self.parameter = None  # the scale itself
        self.used = None  # the scale of the last backward pass
        self.scaled = None  # (what scale() gave, what it was given)
        self.finite = None  # what all_finite() said since

    def saw(self, function, arguments, output):
        """A compiled function of mindspore.amp was called."""
        if function == "_grad_scale_map" and len(arguments) == 2:
            self.parameter = arguments[0]
            self.scaled = output, arguments[1]
        elif function == "_all_finite":
            self.finite = output

    def unscaled(self, loss):
        """The loss as the user's program had it before; called when the backward pass begins."""
        scaled, self.scaled, self.finite = self.scaled, None, None
        if scaled is None or scaled[0] is not loss:
            return loss
        self.used = self._now()
        return scaled[1]

    def _now(self):
        return number(self.parameter) if hasattr(self.parameter, "asnumpy") else float(self.parameter)

    def was_skipped(self):
        """Was there no update after the last backward pass because its gradients were not finite?"""
        if self.used is None:
            return False
        dropped = self._now() < self.used
        return dropped or (self.finite is not None and not number(self.finite))
