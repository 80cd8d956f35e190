"""Numbers that are computed where the tensors are: no waiting for a device, one transfer a step.

A loss or a norm stays on its device until the step is over. Then all of them are sent to the host at once,
without waiting, and are recorded when they have arrived: at the end of the next step, or of the run.
"""
import os

import torch

from .torch_wrappers import local_part

# For tests without a device: everything takes this way, on the host.
FORCED = os.environ.get("PLUMB_FORCE_DEVICE") == "1"


class DeviceNumbers:
    def __init__(self, session):
        self.session = session
        self.waiting = []  # (series, step, tensor)
        self.sent = []  # (names and steps, values on their way, event)

    @staticmethod
    def is_far(tensor):
        return FORCED or tensor.device.type != "cpu"

    def add(self, series, number):
        self.waiting.append((series, self.session.step, number.detach()))

    def add_norm(self, series, tensors):
        """Of those on the first one's device."""
        local = [part for tensor in tensors if (part := local_part(tensor)) is not None and part.layout == torch.strided]
        local = [part for part in local if part.device == local[0].device]
        if not local:
            return
        with torch.no_grad(), torch._C._DisableTorchDispatch():  # not the program's own operators
            norms = torch._foreach_norm(local)
            self.add(series, torch.linalg.vector_norm(torch.stack([norm.double() for norm in norms])))

    def send(self):
        """At the end of a step."""
        self.receive(wait=False)
        if not self.waiting:
            return
        with torch.no_grad(), torch._C._DisableTorchDispatch():
            values = torch.stack([number.reshape(()).double() for *_, number in self.waiting])
            event = None
            if values.device.type == "cuda":
                host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
                host.copy_(values, non_blocking=True)
                event = torch.cuda.Event()
                event.record()
            else:
                host = values.to("cpu")
        self.sent.append(([(series, step) for series, step, _ in self.waiting], host, event))
        self.waiting = []

    def receive(self, wait):
        while self.sent:
            names, host, event = self.sent[0]
            if event is not None and not wait and not event.query():
                return
            if event is not None and wait:
                event.synchronize()
            del self.sent[0]
            for (series, step), value in zip(names, host.tolist()):
                self.session.series(series, value, step)
