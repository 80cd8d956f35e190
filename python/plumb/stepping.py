"""Which updates make a step, when a program has several optimizers."""


class Stepping:
    """A step is over when every optimizer that takes part has stepped."""

    def __init__(self, session, optimizers, takes_part=lambda optimizer: True):
        self.session = session
        self.optimizers = optimizers  # all that the program has made
        self.takes_part = takes_part  # has an optimizer anything to do at all?
        self.updates = 0  # so far
        self.stepped = []  # ids of those that have stepped in this step
        self.left_out = set()  # ids of those that turned out not to step every time

    def begins(self, optimizer):
        """Before an update: one that comes again before the others did shows that they come less often, or never."""
        if id(optimizer) in self.stepped:
            self.left_out.update(id(other) for other in self.optimizers if id(other) not in self.stepped)
            self._end()

    def ends(self, optimizer):
        self.updates += 1
        self.stepped.append(id(optimizer))
        if id(optimizer) not in self.left_out and (len(self.optimizers) == 1 or not self._has_missing()):
            self._end()

    def _has_missing(self):
        return any(id(other) not in self.stepped and id(other) not in self.left_out and self.takes_part(other)
                   for other in self.optimizers)

    def _end(self):
        self.stepped.clear()
        self.session.end_step()
