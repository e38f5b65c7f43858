"""The thread that writes: it stores everything that is waiting in one commit.

The next batch gathers while a commit runs, so that the size of a batch follows the load. After the
commit memory learns the events in the order of the log, and only then are the callers answered.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from globalbandits.errors import GlobalBanditsError, StoreUnavailable
from globalbandits.service.log.append import NewDecision, NewEvent, append
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.stores.store import Store, Transaction

MAX_BATCH = 512


class Change(NamedTuple):
    """A rare write with a commit of its own.

    ``write`` runs in the transaction. ``after`` is called with its result after the commit, and
    returns the answer. Both run on the writer's thread. The bandit with the id ``bandit`` is loaded
    before.
    """

    write: Callable[[Transaction], Any]
    after: Callable[[Any], Any]
    bandit: int | None = None


class AnswerFuture(Protocol):
    """The future of an answer: of `concurrent.futures` or of an event loop."""

    def done(self) -> bool:
        """Whether it has a result or was cancelled."""

    def set_result(self, result: Any, /) -> Any:
        """Set the answer."""

    def set_exception(self, exception: Any, /) -> Any:
        """Set an error instead."""


class Waiting(NamedTuple):
    """Work to be stored, and the `AnswerFuture` of its answer."""

    work: NewDecision | NewEvent | Change
    answer: Any


Notify = Callable[[Sequence[tuple[AnswerFuture, Any]]], None]


def answer_all(answers: Sequence[tuple[AnswerFuture, Any]]) -> None:
    """Set the answers or errors of futures. Cancelled futures are skipped."""
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class Writer:
    """A thread that stores submitted work in the order of submission.

    Args:
        store: the store of the log.
        bandits: the bandits in memory, by id. Only the writer's thread removes one.
        load: loads a bandit, or raises `UnknownError` if it was deleted.
        notify: called on the writer's thread to set the answers of a batch.
        observe: called with the size and the seconds of every commit.
    """

    def __init__(
        self,
        store: Store,
        bandits: Mapping[int, Bandit],
        load: Callable[[int], object],
        *,
        notify: Notify = answer_all,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._store = store
        self._bandits = bandits
        self._load = load
        self._notify = notify
        self._observe = observe
        self._queue: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._closed = threading.Lock()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(
        self, work: NewDecision | NewEvent | Change, future: Callable[[], Any] = Future
    ) -> "Future[Any]":
        """Submit work. Its future is done when the work is committed and learned."""
        return self.submit_all([work], future)[0]

    def submit_all(
        self,
        works: Sequence[NewDecision | NewEvent | Change],
        future: Callable[[], Any] = Future,
    ) -> "list[Future[Any]]":
        """Submit work to be stored in one commit, except for `Change`.

        Args:
            works: the work.
            future: makes the future of an answer.
        """
        together = [Waiting(work, future()) for work in works]
        # The lock keeps work from being queued behind the end mark of `close`.
        with self._closed:
            if not self._open:
                raise StoreUnavailable("the log is closed")
            self._queue.put(together)
        return [waiting.answer for waiting in together]

    @property
    def length(self) -> int:
        """The number of waiting submissions."""
        return self._queue.qsize()

    def close(self) -> None:
        """Store what is waiting, then stop."""
        with self._closed:
            if self._open:
                self._open = False
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch: list[Waiting] = []
            together = self._queue.get()
            while together is not None:
                batch += together
                if len(batch) >= MAX_BATCH:
                    break
                try:
                    together = self._queue.get_nowait()
                except queue.Empty:
                    break
            going = together is not None
            self._store_all(batch)

    def _store_all(self, batch: list[Waiting]) -> None:
        """Store runs of decisions and events in one commit each, and every change in its own."""
        run: list[Waiting] = []
        for waiting in batch:
            if not self._is_loaded(waiting):
                continue
            if isinstance(waiting.work, Change):
                self._store_run(run)
                run = []
                self._store_change(waiting, waiting.work)
            else:
                run.append(waiting)
        self._store_run(run)

    def _is_loaded(self, waiting: Waiting) -> bool:
        """Load the bandit that work concerns; if it cannot be loaded, answer with the error."""
        id = waiting.work.bandit
        if id is None or id in self._bandits:
            return True
        # The bandit has left memory since the work was submitted.
        try:
            self._load(id)
        except Exception as error:
            self._fail([waiting], error)
            return False
        return True

    def _store_run(self, run: list[Waiting]) -> None:
        if not run:
            return
        decisions = [waiting for waiting in run if isinstance(waiting.work, NewDecision)]
        events = [waiting for waiting in run if isinstance(waiting.work, NewEvent)]
        started = time.perf_counter()
        try:
            with self._store.transaction() as rows:
                done = append(
                    rows,
                    [w.work for w in decisions if isinstance(w.work, NewDecision)],
                    [w.work for w in events if isinstance(w.work, NewEvent)],
                    self._bandits,
                )
            self._observe(len(run), time.perf_counter() - started)
            for bandit, missed in done.events.items():
                self._bandits[bandit].advance(missed)
        except StoreUnavailable as error:
            self._fail(run, error)
            return
        except Exception as error:
            # One item may be at fault: store each alone, so that the others succeed.
            if len(run) > 1:
                for waiting in run:
                    self._store_run([waiting])
            else:
                self._fail(run, error)
            return
        for result in done.decisions:
            if not result.replayed:
                decision = result.decision
                self._bandits[decision.bandit].count_shown(decision.shown, decision.context)
        answers: list[tuple[AnswerFuture, Any]] = []
        answers += zip((w.answer for w in decisions), done.decisions, strict=True)
        answers += zip((w.answer for w in events), done.results, strict=True)
        self._notify(answers)

    def _store_change(self, waiting: Waiting, change: Change) -> None:
        started = time.perf_counter()
        try:
            with self._store.transaction() as rows:
                written = change.write(rows)
            self._observe(1, time.perf_counter() - started)
            answer = change.after(written)
        except Exception as error:
            self._fail([waiting], error)
            return
        self._notify([(waiting.answer, answer)])

    def _fail(self, run: list[Waiting], error: Exception) -> None:
        """Answer with an error. The commit may have succeeded; a repeated call finds out."""
        known = isinstance(error, GlobalBanditsError)
        shown = error if known else StoreUnavailable(f"{type(error).__name__}: {error}")
        self._notify([(waiting.answer, shown) for waiting in run])
