"""What a MindSpore program does, seen from outside of its cells: the one place where MindSpore is hooked.

Patched: nn.Cell.__call__ (hooks on cells would be compiled into graphs), the call of compiled functions, and
PyNative's begin and end of a forward pass and its backward pass. The compiler parses `construct` and calls none of
these, so nothing of ours ends up in a graph.
"""
import mindspore
from mindspore import context, nn
from mindspore.graph import api

from .mindspore_names import OPTIMIZERS


class Calls:
    def __init__(self, session, watch, cells):
        self.session = session
        self.watch = watch
        self.cells = cells  # None at the level watch
        self.in_update = False
        self.in_graph = False
        self.in_backward = False
        self.in_forward = 0
        self.ours = False  # what happens now is done by Plumb

    def install(self):
        replace = self.session.replace
        replace(nn.Cell, "__call__", self._cell)
        replace(api._JitExecutor, "__call__", self._jit)
        executor = type(api._pynative_executor)
        replace(executor, "new_graph", self._new_graph)
        replace(executor, "end_graph", self._end_graph)
        replace(executor, "grad", self._grad)

    def _cell(self, original):
        session = self.session

        def __call__(cell, *arguments, **keywords):
            if session.over or self.in_graph or self.in_update or self.ours or api.jit_context():
                return original(cell, *arguments, **keywords)
            if isinstance(cell, OPTIMIZERS):
                return self._update(original, cell, arguments, keywords)
            if context._get_mode() == mindspore.GRAPH_MODE:
                return self._graph(original, cell, arguments, keywords)
            if self.cells is None or self.in_backward:
                return original(cell, *arguments, **keywords)
            entered = self.cells.enters(cell, arguments)
            result = None
            try:
                result = original(cell, *arguments, **keywords)
            finally:
                if entered:
                    self.cells.leaves(entered, result)
            return result

        return __call__

    def _update(self, original, optimizer, arguments, keywords):
        gradients = arguments[0] if arguments else keywords.get("gradients", ())
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
        self.ours = True
        self.watch.before_update(optimizer, gradients)
        if self.cells:
            self.cells.before_update(optimizer, gradients)
        self.ours, self.in_update = False, True
        try:
            result = original(optimizer, *arguments, **keywords)
        finally:
            self.in_update = False
        self.ours = True
        if self.cells:
            self.cells.after_update(optimizer)
        self.watch.after_update(optimizer)
        self.ours = False
        return result

    def _graph(self, original, target, arguments, keywords):
        began = self.watch.before_graph()
        self.in_graph = True
        try:
            result = original(target, *arguments, **keywords)
        finally:
            self.in_graph = False
        self.watch.after_graph(result, began)
        return result

    def _jit(self, original):
        def __call__(executor, *arguments, **keywords):
            if self.session.over or self.in_graph or self.in_update or self.in_backward or self.ours:
                return original(executor, *arguments, **keywords)
            hidden = self.cells.hide_hooks(arguments) if self.cells else ()
            try:
                result = self._graph(original, executor, arguments, keywords)
            finally:
                if hidden:
                    self.cells.show_hooks(hidden)
            function = executor.fn
            if function.__module__ == "mindspore.amp":
                self.watch.amp_called(function.__name__, arguments, result)
            return result

        return __call__

    # -- PyNative's passes ------------------------------------------------------------------------------

    def _new_graph(self, original):
        def new_graph(executor, of, *arguments, **keywords):
            if not self.session.over and not self.in_forward:
                self.watch.forward_begins(arguments)
            self.in_forward += 1
            return original(executor, of, *arguments, **keywords)

        return new_graph

    def _end_graph(self, original):
        def end_graph(executor, of, output, *arguments, **keywords):
            result = original(executor, of, output, *arguments, **keywords)
            self.in_forward = max(self.in_forward - 1, 0)
            if not self.session.over and not self.in_forward:
                self.watch.forward_ends(output)
            return result

        return end_graph

    def _grad(self, original):
        def grad(executor, of, operation, weights, *arguments):
            if self.session.over or self.in_backward:
                return original(executor, of, operation, weights, *arguments)
            self.in_forward = 0
            self.watch.backward_begins()
            self.in_backward = True
            try:
                result = original(executor, of, operation, weights, *arguments)
            finally:
                self.in_backward = False
                if self.cells:
                    self.cells.drop_hooks()
            self.watch.backward_ends()
            if self.cells:
                self.cells.after_backward(weights, result)
            return result

        return grad
