"""plumb.MindSporeCallback: the capture as a callback of Model.train, for programs that are not started by `plumb run`."""
from mindspore import Tensor
from mindspore.train import Callback

from . import capture
from .mindspore_tensors import number


class MindSporeCallback(Callback):
    """model.train(epochs, data, callbacks=[plumb.MindSporeCallback(out="runs/first", level="module")])

    Takes what plumb.attach() takes except model and optimizer. Put it first, so that a callback that stops
    the training cannot hide the last step.
    """

    def __init__(self, **options):
        super().__init__()
        self.options = options
        self.session = None

    def on_train_begin(self, run_context):
        known = run_context.original_args()
        before = capture.session()
        self.session = capture.attach(known.network, known.optimizer, **self.options)
        self.is_ours = before is not self.session  # else somebody else ends it

    def on_train_end(self, run_context):
        if self.session is not None and self.is_ours:
            self.session.close()

    def on_eval_end(self, run_context):
        metrics = getattr(run_context.original_args(), "metrics", None) or {}
        for name, value in metrics.items():
            value = number(value) if isinstance(value, Tensor) else value
            if isinstance(value, (int, float)):
                capture.series(f"eval.{name}", value)
