"""Tracebacks that show the user's code: the package's own frames are taken out of them.

An error while tracing comes through a dozen frames of the package and a few of the user. The
public functions that call users' functions are API boundaries: an error that leaves one keeps its
type, identity, cause, context and notes, and loses the frames of transpile, with those of NumPy
that transpile called. TRANSPILE_TRACEBACK=full in the environment leaves everything in.

An internal error keeps all frames: they are what has to be told.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import ParamSpec, TypeVar

from transpile.errors import InternalError
from transpile.util.users_code import NUMPYS_FILES, OWN_FILES

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

HINT = "transpile's own frames are hidden; TRANSPILE_TRACEBACK=full in the environment shows them."
_shows_all = [False]


def show_all_frames(is_on: bool) -> None:
    """From now on leave tracebacks as they are, as TRANSPILE_TRACEBACK=full does; or no longer."""
    _shows_all[0] = is_on


def hide_own_frames(error: BaseException) -> None:
    """Take the package's frames out of the tracebacks of an error, its causes and contexts.

    The error gets a note that says so where it was raised in a frame that is taken out.
    """
    if _shows_all[0] or os.environ.get("TRANSPILE_TRACEBACK") == "full":
        return
    for linked in _chain(error):
        if isinstance(linked, InternalError):
            continue
        full = linked.__traceback__
        shown, ends_hidden = _users_frames(full)
        if len(shown) != sum(1 for _ in _frames(full)):
            linked.__traceback__ = _joined(shown)
            if ends_hidden and linked is error and HINT not in getattr(error, "__notes__", ()):
                error.add_note(HINT)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it is linked with, each once."""
    stack: list[BaseException | None] = [error]
    seen: set[int] = set()
    while stack:
        linked = stack.pop()
        if linked is None or id(linked) in seen:
            continue
        seen.add(id(linked))
        yield linked
        stack += (linked.__cause__, linked.__context__)
        if isinstance(linked, BaseExceptionGroup):
            stack += linked.exceptions


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _users_frames(traceback: TracebackType | None) -> tuple[list[TracebackType], bool]:
    """The entries that are neither transpile's nor NumPy's below transpile's; and whether the last
    entry is none of them."""
    shown = []
    is_hidden = False
    for entry in _frames(traceback):
        file = entry.tb_frame.f_code.co_filename
        is_hidden = file.startswith(OWN_FILES) or (is_hidden and file.startswith(NUMPYS_FILES))
        if not is_hidden:
            shown.append(entry)
    return shown, is_hidden


def _joined(entries: list[TracebackType]) -> TracebackType | None:
    """A traceback of these entries. The old ones stay as they are, since others may hold them."""
    joined = None
    for entry in reversed(entries):
        joined = TracebackType(joined, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return joined


class _Boundary:
    """What an error comes out of without the package's frames: a context, and a decorator.

    A call that does not fail pays for a `try`, which is nothing, and as a decorator for a call.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if error is not None:
            hide_own_frames(error)

    def __call__(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def api(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                hide_own_frames(error)
                raise

        return api


api_boundary = _Boundary()
