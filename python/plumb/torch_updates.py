"""Gradient norms of all parameters; update norms and fingerprints of some, in rotation.

A part of the parameters a step (rotation.py) is copied before the update and compared after it. When all
parts have had their turn, the norm of the update over all of them is recorded.
"""
from . import _plumb, rotation
from .identities import Identities
from .torch_wrappers import whole


class Plan:
    """What is known about one optimizer's parameters."""

    def __init__(self, optimizer, number, names):
        self.number = number
        self.suffix = f".{number}" if number else ""  # of the series of the program's second optimizer and of further ones
        self.groups = [list(group["params"]) for group in optimizer.param_groups]
        self.parameters = [p for group in self.groups for p in group]
        self.names = [names.of_parameter(p, g, i) for g, group in enumerate(self.groups) for i, p in enumerate(group)]
        self.parts = rotation.deal([p.numel() * p.element_size() for p in self.parameters])
        self.watched = [[self.parameters[i] for i in part] for part in self.parts]
        self.moved = self.before = 0.0
        self.turn = 0

    def is_of(self, optimizer):
        """Groups may be added while training."""
        return sum(len(group["params"]) for group in optimizer.param_groups) == len(self.parameters)


class Updates:
    def __init__(self, session, names, device):
        self.session = session
        self.names = names
        self.device = device
        self.plans = Identities()  # id of the optimizer -> Plan
        self.count = 0  # optimizers so far
        self.snapshot = _plumb.Snapshot()
        self.watched = []

    def plan(self, optimizer):
        plan = self.plans.get(id(optimizer))
        if plan is None or not plan.is_of(optimizer):
            number = plan.number if plan else self.count
            self.count += plan is None
            plan = Plan(optimizer, number, self.names)
            self.plans.know(optimizer, plan)
        return plan

    def before(self, plan, scale):
        session, suffix = self.session, plan.suffix
        gradients = [grad for p in plan.parameters if (grad := p.grad) is not None]
        if gradients and self.device.is_far(gradients[0]):
            self.device.add_norm(f"grad_norm{suffix}", gradients)
            return
        norm, elements, nonfinite, unseen = _plumb.norm(gradients)
        if elements:
            session.series(f"grad_norm{suffix}", norm / scale)
            if nonfinite:
                session.series(f"grad_nonfinite{suffix}", float(nonfinite))
        self.watched = plan.watched[plan.turn]
        self.snapshot.take(self.watched)

    def after(self, plan):
        session = self.session
        if not self.watched:
            return
        moved, before = self.snapshot.moved(self.watched)
        plan.moved += moved * moved
        plan.before += before * before
        if session.options.level == "watch":
            self.record_fingerprints(plan)
        self.watched = []
        plan.turn = (plan.turn + 1) % len(plan.parts)
        if plan.turn == 0:
            session.series(f"update_norm{plan.suffix}", plan.moved ** 0.5)
            session.series(f"weight_norm{plan.suffix}", plan.before ** 0.5)
            plan.moved = plan.before = 0.0

    def record_fingerprints(self, plan):
        """Replicas have to agree on these, but for the parts that each rank has of a parameter."""
        recorder = self.session.recorder
        for index in plan.parts[plan.turn]:
            recorder.enter(_plumb.OPTIMIZER, plan.names[index], "update")
            parameter = plan.parameters[index]
            recorder.fingerprint("shard" if whole(parameter) is None else "param", parameter)
            recorder.leave()
