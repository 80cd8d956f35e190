"""Attaches a session to MindSpore: which parts, by level."""
import os

import mindspore

from . import mindspore_calls, mindspore_cells, mindspore_data, mindspore_watch, stacks


class MindSporeAdapter:
    def __init__(self, session):
        self.session = session
        level = session.options.level
        if level == "op" and not hasattr(mindspore, "MsDispatchMode"):
            session.say(f"mindspore {mindspore.__version__} does not show its operations; modules are recorded")
            level = "module"
        if session.options.compute_in:
            session.say("--compute-in is for torch alone; this MindSpore run computes as ever")
        if session.options.reference:
            session.say("a reference is computed for torch alone; this MindSpore run is recorded without one")
        if level != "watch":
            stacks.follow(session)
        self.watch = mindspore_watch.Watch(session)
        self.watch.install()
        cells = None
        if level != "watch":
            cells = mindspore_cells.Cells(self.watch, with_values=level == "module")
        mindspore_data.Datasets(session, self.watch).install()
        calls = mindspore_calls.Calls(session, self.watch, cells)
        calls.install()
        if level == "op":
            from . import mindspore_ops
            mindspore_ops.install(session, calls, cells)

    def know(self, model, optimizer):
        """What the user says need not be guessed."""
        for each in model if isinstance(model, (list, tuple)) else [model]:
            if each is not None:
                self.watch.names.add_root(each)
        for each in optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]:
            if each is not None:
                self.watch.optimizers.add(each)


def install(session):
    """None in msrun's scheduler, which runs the user's script as well."""
    if os.environ.get("MS_ROLE") in ("MS_SCHED", "MS_PSERVER"):
        return None
    return MindSporeAdapter(session)
