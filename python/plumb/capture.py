"""The session: one training process being recorded, whatever its framework.

An adapter (torch_watch, torch_modules, mindspore_watch, ...) tells the session what happens and is told
by it when the recorder opens, when a step begins or ends, and when all is over:

    class Listener:                      # all methods may be missing
        def opened(self, session): ...   # session.recorder exists from now on
        def step_begins(self, session): ...
        def step_ends(self, session): ...    # before the recorder's step ends
        def closing(self, session): ...      # before the recorder closes

The recorder opens at the first sign of training, not at import: launchers and the workers of data loaders
import frameworks as well. Nothing in here may raise into the training: adapters wrap what they hook in
`guarded`, which ends the capture and says why, once.
"""
import atexit
import functools
import gc
import json
import os
import shlex
import sys
import threading

from . import _plumb, configuration, options as options_module, ranks

now = _plumb.now


class Session:
    def __init__(self, options, framework=""):
        self.options = options
        self.framework = framework
        self.recorder = None
        self.against = None  # another run that is compared with
        self.step = 0
        self.in_step = False
        self.timed = True  # are phases and counters recorded now? Steps that were not asked for have none
        self.over = False  # nothing is recorded any more, whatever happens
        self.how = None  # how the program ended, if not as it should
        self.directory = None
        self.rank, self.world_size = 0, 1
        self.rank_from_framework = None  # () -> (rank, world size) or None
        self.stacks = None  # see stacks.follow()
        self._listeners = []
        self._waiting = []  # what happened before the recorder was there: (method, arguments)
        self._undo = []
        self._lock = threading.RLock()
        self._process = os.getpid()
        os.register_at_fork(after_in_child=self._forget)

    # -- adapters ---------------------------------------------------------------------------------

    def listen(self, listener):
        self._listeners.append(listener)
        if self.recorder:
            self._call(listener, "opened")

    def replace(self, owner, name, make):
        """owner.name becomes make(what it was), until the session is over."""
        old = getattr(owner, name)
        new = functools.wraps(old)(make(old))
        setattr(owner, name, new)

        def put_back():
            if getattr(owner, name, None) is new:
                setattr(owner, name, old)

        self.on_close(put_back)

    def on_close(self, action):
        """The hooks of a session that is over are taken away."""
        self._undo.append(action)

    @staticmethod
    def on_next(action):
        """Hooks that must not change while the framework walks through them, as it may at the end of a session: they stay,
        do nothing, and are taken away when another session begins."""
        _left_over.append(action)

    def _tell(self, event):
        for listener in self._listeners:
            self._call(listener, event)

    def _call(self, listener, event):
        method = getattr(listener, event, None)
        if method:
            method(self)

    def fail(self, error):
        """A bug of ours ends the capture, not the training."""
        if self.over:
            return
        where = error.__traceback__
        while where and where.tb_next:
            where = where.tb_next
        place = f" ({os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno})" if where else ""
        self.say(f"the capture ended: {type(error).__name__}: {error}{place}")
        if os.environ.get("PLUMB_DEBUG"):
            import traceback
            traceback.print_exception(error)
        self.close(f"stopped: {type(error).__name__}: {error}"[:200])

    def say(self, text):
        try:
            print(f"plumb: {text}", file=sys.stderr, flush=True)
        except (OSError, ValueError, AttributeError):
            pass  # no standard error

    # -- beginning and end ------------------------------------------------------------------------

    def open(self):
        """Makes the recorder if it is not there. True if there is one."""
        if self.recorder:
            return True
        with self._lock:
            if self.over or self.recorder:
                return not self.over
            try:
                self._open()
            except Exception as error:  # a bad path, a full disk, a bug: the training goes on
                if self.recorder:
                    self.fail(error)
                else:
                    self.say(f"nothing is recorded: {error}")
                    self.close()
                return False
        return not self.over

    def _open(self):
        wish = self.options
        found = self.rank_from_framework and self.rank_from_framework()
        self.rank, self.world_size = found or ranks.from_environment()
        self.recorder = self._make_recorder(wish.out or options_module.default_directory())
        atexit.register(self.close)
        _watch_for_exceptions(self)
        self.config("capture.ops", wish.ops)
        self.config("capture.steps", wish.steps)
        self.config("capture.reference", wish.reference)
        self.config("capture.compute_in", wish.compute_in)
        self.config("capture.command", wish.command and shlex.join(wish.command))
        self.config("capture.against", wish.against)
        for key, value in configuration.of_process():
            self.config(key, value)
        self._begin()
        self._compare()
        for method, arguments in self._waiting:
            getattr(self.recorder, method)(*arguments)
        self._waiting.clear()
        self._tell("opened")
        self._tell("step_begins")

    def _compare(self):
        """A run to compare with that cannot be read is no reason not to record."""
        if not self.options.against:
            return
        from .against import Against
        try:
            self.against = Against(self)
        except Exception as error:
            self.say(f"not compared: {error}")

    def _with_against(self, method, *arguments):
        """Ends the comparison, not the capture, if something is wrong with it."""
        if self.against is None:
            return
        try:
            getattr(self.against, method)(*arguments)
        except Exception as error:
            self.against, over = None, self.against
            over.records.watch(None)
            self.say(f"no longer compared: {type(error).__name__}: {error}")

    def _make_recorder(self, wanted):
        """A second training in the same job gets a directory of its own beside the first. Several may begin at once."""
        wish, wanted = self.options, os.path.abspath(wanted)
        for number in range(1, 1000):
            self.directory = wanted if number == 1 else f"{wanted}-{number}"
            records = os.path.join(self.directory, f"rank{self.rank:04d}", "records.plumb")
            if os.path.exists(records):
                continue
            try:
                return _plumb.Recorder(
                    self.directory, self.rank, self.world_size, framework=self.framework,
                    command_line=configuration.command_line(), level=wish.level,
                    save=wish.save, steps=wish.steps, ranks=wish.ranks)
            except OSError:
                if not os.path.exists(records):
                    raise
        raise OSError(f"{wanted}: holds a thousand runs already")

    def close(self, how=None):
        with self._lock:
            if self.over or not self.recorder or os.getpid() != self._process:
                self.over = True
                self._detach()
                return
            try:
                self._tell("closing")
            except Exception as error:
                self.say(f"at the end: {type(error).__name__}: {error}")
            self._with_against("finish")
            self.over = True
            self._detach()
            recorder, self.recorder = self.recorder, None
            count, first = recorder.errors()
            early = recorder.message()
            recorder.close(how or self.how)
        if early:
            self.say(early)
        elif count:
            self.say(f"{count} calls of the capture made no sense; the first: {first}")
        if not self.options.launched and self.rank == 0:
            self.say(f"run is in {self.directory}; next: plumb show {self.directory}")

    def _detach(self):
        self._listeners = []  # they know the models, and the process keeps its sessions
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                self.say(f"at the end: {type(error).__name__}: {error}")

    def _forget(self):
        """In a child of fork(): the run belongs to the parent."""
        self.over = True
        self.recorder = None

    # -- steps ------------------------------------------------------------------------------------

    def _begin(self):
        self.in_step = True
        self.recorder.step_begin(self.step)
        self.timed = self.recorder.wants_spans()

    def end_step(self):
        """The optimizer has done its work: what comes now belongs to the next step."""
        if not self.recorder:
            return
        self._tell("step_ends")
        self._with_against("tell")
        self.recorder.step_end()
        message = self.recorder.message()
        if message:
            self.close()
            return
        self.step += 1
        self._with_against("begin")
        self._begin()
        self._tell("step_begins")

    # -- what is recorded ---------------------------------------------------------------------------

    def later(self, method, *arguments):
        """Records now, or as soon as there is a recorder; of what was long ago, the last is kept."""
        if self.recorder:
            getattr(self.recorder, method)(*arguments)
        elif not self.over:
            if len(self._waiting) >= 256:
                del self._waiting[0]
            self._waiting.append((method, arguments))

    def config(self, key, value):
        if value is not None:
            self.later("config", key, as_json(value))

    def series(self, name, value, step=None):
        if self.recorder:
            at = self.step if step is None else step
            self.recorder.series(name, at, value)
            self._with_against("see_series", name, at, value)

    def phase(self, name, begin, end):
        if self.timed:
            self.later("span", "host/step", name, begin, end)


def as_json(value):
    return json.dumps(plain(value), default=str, allow_nan=False)


def plain(value):
    """Numbers that JSON lacks become the words that Plumb uses for them."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def guarded(function):
    """For hooks, first argument an object with .session: a bug of ours ends the capture and nothing else."""

    @functools.wraps(function)
    def safe(self, *arguments, **keywords):
        session = self.session
        if session.over:
            return None
        try:
            return function(self, *arguments, **keywords)
        except Exception as error:
            session.fail(error)
            return None

    return safe


def _watch_for_exceptions(session):
    """How a program ended is part of its record."""
    previous = sys.excepthook

    def hook(kind, value, trace):
        if session.how is None:
            session.how = "interrupted" if kind is KeyboardInterrupt else f"exception: {kind.__name__}: {value}"[:200]
        previous(kind, value, trace)

    sys.excepthook = hook


# -- the one session of this process, and the functions users call -----------------------------------

_session = None
_left_over = []  # actions of sessions that are over
_attached = {}  # framework -> adapter


def session():
    return _session


def start(wish):
    """Makes the process's session; there is one."""
    global _session
    if _session is None or (_session.over and _session.recorder is None):
        if _left_over:
            while _left_over:
                _left_over.pop()()
            gc.collect()  # models of sessions that are over are not looked at again
        _session = Session(wish)
        _attached.clear()
    return _session


def attach_framework(name):
    """Hooks the framework, which is imported. Called by the finder of `plumb run` and by attach()."""
    if _session is None or name in _attached:
        return _attached.get(name)
    try:
        if name == "torch":
            from . import torch_adapter as adapter
        elif name == "mindspore":
            from . import mindspore_adapter as adapter
        else:
            return None
        _attached[name] = adapter.install(_session)
    except Exception as error:
        _session.fail(error)
        return None
    return _attached[name]


def attach(model=None, optimizer=None, out=None, level=None, save=None, steps=None, ranks=None, ops=None,
           reference=None):
    """Records this process from here on. Under `plumb run` the launcher's wishes win.

    model and optimizer may be None: they are found when they are used; given, their names are certain.
    """
    wish = options_module.from_environment() or options_module.Options()
    if not wish.launched:
        for name, value in (("out", out), ("level", level), ("save", save), ("steps", steps), ("ranks", ranks),
                            ("ops", ops), ("reference", reference)):
            if value is not None:
                setattr(wish, name, os.fspath(value) if name == "out" else value)
        wish.check()
    current = start(wish)
    for framework in ("torch", "mindspore"):
        if framework in sys.modules:
            adapter = attach_framework(framework)
            if adapter and hasattr(adapter, "know") and (model is not None or optimizer is not None):
                adapter.know(model, optimizer)
    return current


def step():
    """Ends a step by hand, for training without an optimizer object."""
    if _session and _session.open():
        _session.end_step()


def series(name, value, at=None):
    """A number by step: plumb.series("accuracy", 0.93)."""
    if _session:
        _session.series(str(name), float(value), at)


def save(name, tensor):
    """A tensor of the user's own, at any level; and its gradient, if it gets one."""
    if _session is None or not _session.open():
        return
    recorder = _session.recorder
    recorder.enter(_plumb.FORWARD, "user", str(name))
    recorder.called_at(_plumb.stack_now())
    recorder.tensor("output0", tensor)
    recorder.leave()
    if getattr(tensor, "requires_grad", False) and hasattr(tensor, "register_hook"):
        tensor.register_hook(functools.partial(_save_gradient, _session, str(name)))


def _save_gradient(current, name, gradient):
    recorder = current.recorder
    if recorder:
        recorder.enter(_plumb.BACKWARD, "user", name)
        recorder.tensor("output0", gradient)
        recorder.leave()
