"""Results of asynchronous pulls and pushes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from hotrow.arrays import check_timeout
from hotrow.errors import DeadlineExceeded

T = TypeVar("T")


class Future(Generic[T]):
    """A result that arrives later.

    Safe to use from several threads; `result` may be called more than once.
    """

    def __init__(self, native: Any, take: Callable[[Any, float], T], timeout: float) -> None:
        self._native = native
        self._take = take
        self._timeout = timeout
        self._lock = threading.Lock()
        self._outcome: tuple[T | None, BaseException | None] | None = None

    def done(self) -> bool:
        """Whether the result is there."""
        return self._outcome is not None or self._native.ready()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None takes the client's timeout.

        Raises
        ------
        DeadlineExceeded
            It is not there yet; ask again.
        Error
            What the pull or push itself raises.
        """
        seconds = check_timeout(timeout)
        with self._lock:
            if self._outcome is None:
                arrived_before = self._native.ready()
                try:
                    value = self._take(self._native, self._timeout if seconds is None else seconds)
                    self._outcome = (value, None)
                except DeadlineExceeded as error:
                    if not arrived_before and not self._native.ready():
                        raise
                    self._outcome = (None, error)
                except Exception as error:
                    self._outcome = (None, error)
            result, error = self._outcome
        if error is not None:
            raise error
        return result  # type: ignore[return-value]
