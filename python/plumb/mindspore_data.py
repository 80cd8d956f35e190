"""Datasets of MindSpore: the wait for each batch, which batch it was, and the data engine's own profile.

The profile has to be on before the first pipeline is made, is started once a process (a third start
aborts it), and is written next to the records again and again, so that a killed job has one too.
"""
import os

import mindspore
from mindspore.dataset.engine import iterators

from . import _plumb
from .capture import guarded
from .mindspore_tensors import tensors_in

now = _plumb.now
LARGEST_BATCH = 8 << 20  # bytes of which a fingerprint is taken at every step
SNAPSHOT_NS = 20 * 10**9
profiled = False  # in this process, by whatever session


class Datasets:
    def __init__(self, session, watch):
        self.session = session
        self.watch = watch
        self.described = 0
        self.profile = None  # the data engine's profiling manager, once it runs
        self.saved = 0

    def install(self):
        self.session.replace(iterators.Iterator, "__init__", self._init)
        self.session.replace(iterators.Iterator, "__next__", self._next)
        self.session.listen(self)

    def _init(self, original):
        def __init__(iterator, dataset, *arguments, **keywords):
            if not self.session.over:
                self.starts(dataset)
            original(iterator, dataset, *arguments, **keywords)

        return __init__

    def _next(self, original):
        def __next__(iterator):
            if self.session.over:
                return original(iterator)
            began = now()
            batch = original(iterator)
            self.took(batch, began, now())
            return batch

        return __next__

    @guarded
    def took(self, batch, began, ended):
        session, watch = self.session, self.watch
        watch.between_steps()
        session.phase("data wait", began, ended)
        values = list(batch.values()) if isinstance(batch, dict) else list(batch)
        values = tensors_in(values, 8) or [v for v in values if hasattr(v, "__array_interface__")][:8]
        if values and values[0].ndim:
            watch.samples += values[0].shape[0]
        recorder = session.recorder
        if recorder is None:
            return
        record = recorder.tensor if recorder.wants_tensors() else recorder.fingerprint
        recorder.enter(_plumb.FORWARD, "data", "batch")
        for place, value in enumerate(values):
            if value.nbytes <= LARGEST_BATCH:
                record(f"output{place}", value)
        recorder.leave()

    # -- what the pipeline is -----------------------------------------------------------------------------

    @guarded
    def starts(self, dataset):
        self._start_profile()
        if self.described >= 4:  # those of evaluations come again and again
            return
        key = f"data{self.described}" if self.described else "data"
        self.described += 1
        config = self.session.config
        stages = list(stages_of(dataset))
        config(f"{key}.pipeline", stages)
        config(f"{key}.workers", mindspore.dataset.config.get_num_parallel_workers())
        config(f"{key}.prefetch", mindspore.dataset.config.get_prefetch_size())
        config(f"{key}.dataset", stages[-1]["name"] if stages else None)
        batch = next((s["batch"] for s in stages if "batch" in s), None)
        config(f"{key}.batch", batch)

    # -- the data engine's profile ------------------------------------------------------------------------

    def _start_profile(self):
        global profiled
        if self.profile is not None or profiled:
            return
        profiled = True
        try:
            import mindspore._c_dataengine as engine
            self.profile = engine.GlobalContext.profiling_manager()
            self.profile.init()
            self.profile.start()
        except (ImportError, AttributeError, RuntimeError) as error:
            self.profile = False
            self.session.config("capture.no_pipeline_profile", str(error))

    def opened(self, session):
        self.saved = now()

    def step_ends(self, session):
        if self.profile and now() - self.saved > SNAPSHOT_NS:
            self._save()

    def closing(self, session):
        if self.profile:
            self._save()
            self.profile.stop()

    def _save(self):
        session = self.session
        self.saved = now()
        folder = os.path.join(session.directory, f"rank{session.rank:04d}", "minddata")
        try:
            os.makedirs(folder, exist_ok=True)
            self.profile.save(folder)
        except (OSError, RuntimeError) as error:
            self.profile = False
            session.config("capture.no_pipeline_profile", str(error))


def stages_of(dataset):
    """From the last stage to the source, as far as there is one input each."""
    while dataset is not None:
        stage = {"name": type(dataset).__name__}
        workers = getattr(dataset, "num_parallel_workers", None)
        if isinstance(workers, int):
            stage["workers"] = workers
        if isinstance(getattr(dataset, "batch_size", None), int):
            stage["batch"] = dataset.batch_size
        operations = getattr(dataset, "operations", None)
        if isinstance(operations, (list, tuple)):
            stage["operations"] = [getattr(op, "__name__", type(op).__name__) for op in operations]
        yield stage
        children = getattr(dataset, "children", None)
        dataset = children[0] if children else None
