"""Results of asynchronous pulls and pushes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from hotrow.arrays import check_timeout
from hotrow.errors import DeadlineExceeded, naming_table

T = TypeVar("T")

NOT_YET: Any = object()  # what `take` answers when the time is over and the result may still come


class Future(Generic[T]):
    """A result that arrives later.

    Safe to use from several threads; `result` may be called more than once.
    """

    def __init__(
        self, native: Any, take: Callable[[Any, float], T], timeout: float, table: str
    ) -> None:
        self._native = native
        self._take = take
        self._timeout = timeout
        self._table = table
        self._lock = threading.Lock()
        self._outcome: tuple[T | None, BaseException | None] | None = None

    def done(self) -> bool:
        """Whether the result is there."""
        return self._outcome is not None or self._native.ready()

    @naming_table(lambda future: future._table)
    def result(self, timeout: float | None = None) -> T:
        """Wait for the result.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None takes the client's timeout, or without one as long as a call may take
            while a shard is away.

        Raises
        ------
        DeadlineExceeded
            It is not there yet; ask again. Or the call itself gave up: then every later `result`
            raises the same.
        Unavailable
            A shard that a push waits for is away for too long; ask again, it is still pending.
        Error
            What the pull or push itself raises.
        """
        given = check_timeout(timeout)
        deadline = time.monotonic() + (self._timeout if given is None else given)
        outcome = self._outcome or self._wait_until(deadline)
        if outcome is None:
            self._native.raise_outage()
            raise DeadlineExceeded(
                "the result is not there yet", hint="The call goes on: ask the same future again."
            )
        value, error = outcome
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def _wait_until(self, deadline: float) -> tuple[T | None, BaseException | None] | None:
        """Wait for the outcome, or for the thread that waits already; None when it is late."""
        if not self._lock.acquire(timeout=min(_left(deadline), threading.TIMEOUT_MAX)):
            return None
        try:
            if self._outcome is None:
                try:
                    value = self._take(self._native, _left(deadline))
                    if value is not NOT_YET:
                        self._outcome = (value, None)
                except Exception as error:
                    self._outcome = (None, error)
            return self._outcome
        finally:
            self._lock.release()


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
