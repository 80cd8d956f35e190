"""Norms of gradients and updates for MindSpore, fingerprints of parameters in rotation."""
from . import _plumb
from .rotation import deal


class Plan:
    """What is known about one optimizer's parameters."""

    def __init__(self, optimizer, number):
        self.number = number
        self.parameters = list(optimizer.parameters)
        self.parts = deal([p.nbytes for p in self.parameters])
        self.moved = self.before = 0.0
        self.turn = 0

    @property
    def suffix(self):
        """"" for the first optimizer of the program, ".1" for the second."""
        return f".{self.number}" if self.number else ""


class Updates:
    def __init__(self, session):
        self.session = session
        self.plans = {}  # id of the optimizer -> Plan
        self.snapshot = _plumb.Snapshot()
        self.watched = None  # (plan, parameters) of the snapshot

    def plan(self, optimizer):
        plan = self.plans.get(id(optimizer))
        if plan is None or len(plan.parameters) != len(optimizer.parameters):  # groups may be added
            plan = self.plans[id(optimizer)] = Plan(optimizer, plan.number if plan else len(self.plans))
        return plan

    def gradients(self, optimizer, gradients, scale):
        """Waits until they are there."""
        norm, elements, nonfinite, _ = _plumb.norm(gradients)
        suffix = self.plan(optimizer).suffix
        if elements:
            self.session.series(f"grad_norm{suffix}", norm / scale)
            if nonfinite:
                self.session.series(f"grad_nonfinite{suffix}", float(nonfinite))

    def before(self, optimizer):
        plan = self.plan(optimizer)
        self.watched = plan, [plan.parameters[i] for i in plan.parts[plan.turn]]
        self.snapshot.take(self.watched[1])

    def after(self, optimizer):
        plan = self.plan(optimizer)
        if self.watched is None or self.watched[0] is not plan:
            return
        moved, before = self.snapshot.moved(self.watched[1])
        plan.moved += moved * moved
        plan.before += before * before
        if self.session.options.level == "watch":
            self.record_fingerprints(self.watched[1])
        self.watched = None
        plan.turn = (plan.turn + 1) % len(plan.parts)
        if plan.turn == 0:
            self.session.series(f"update_norm{plan.suffix}", plan.moved ** 0.5)
            self.session.series(f"weight_norm{plan.suffix}", plan.before ** 0.5)
            plan.moved = plan.before = 0.0

    def record_fingerprints(self, parameters):
        """Replicas have to agree on these."""
        recorder = self.session.recorder
        for parameter in parameters:
            recorder.enter(_plumb.OPTIMIZER, parameter.name, "update")
            recorder.fingerprint("param", parameter)
            recorder.leave()
