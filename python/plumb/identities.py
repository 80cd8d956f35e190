"""What is known about objects of the program, for as long as it keeps them.

A model or an optimizer that the program has dropped must not be kept alive by its record, and its address may be another
object's later. Modules and tensors compare by rules of their own, so it is their identity that counts.
"""
import weakref


class Identities(dict):
    """id of an object -> what is known about it."""

    def __init__(self):
        super().__init__()
        self._references = {}

    def know(self, thing, value):
        key = id(thing)
        self[key] = value
        self._references[key] = weakref.ref(thing, lambda _: self._forget(key))

    def know_once(self, thing, value):
        """Keeps what was known before."""
        if id(thing) not in self:
            self.know(thing, value)

    def _forget(self, key):
        self.pop(key, None)
        self._references.pop(key, None)
