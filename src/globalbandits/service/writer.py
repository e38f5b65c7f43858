"""The one thread that writes: it takes all that waits, and stores it in one commit.

While a commit is under way the next batch gathers by itself, so that the size of a batch follows
the load. Memory learns after the commit, in the order of the log, and only then is anybody told.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from globalbandits.errors import GlobalBanditsError, StoreAway
from globalbandits.service.appending import Ask, Tell, append
from globalbandits.service.bandit import Bandit
from globalbandits.service.stores.base import Store, Transaction

LARGEST_BATCH = 512


class Change(NamedTuple):
    """Rare work of another kind: what to do in a transaction, and with memory after it."""

    write: Callable[[Transaction], Any]
    after: Callable[[Any], Any]  # is given what write returned; its result is the answer


class Answer(Protocol):
    """What an answer is put into: a future of a thread, or one of an event loop."""

    def done(self) -> bool:
        """Whether nobody waits any more."""

    def set_result(self, result: Any, /) -> Any:
        """Give the answer."""

    def set_exception(self, exception: Any, /) -> Any:
        """Give an error instead."""


class Waiting(NamedTuple):
    """Something to be stored, and who waits for the answer."""

    work: Ask | Tell | Change
    answer: Any  # an Answer


Notify = Callable[[Sequence[tuple[Answer, Any]]], None]


def answer_all(answers: Sequence[tuple[Answer, Any]]) -> None:
    """Give each waiting one its answer, or its error."""
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class Writer:
    """A thread that stores what is submitted, in the order it came.

    Args:
        store: where to.
        bandits: the bandits in memory, by id. Only loaded ones may be asked and told about.
        notify: how answers are given; on the writer's thread.
        observe: is told the size and the seconds of every commit.
    """

    def __init__(
        self,
        store: Store,
        bandits: Mapping[int, Bandit],
        *,
        notify: Notify = answer_all,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._store = store
        self._bandits = bandits
        self._notify = notify
        self._observe = observe
        self._queue: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._closed = threading.Lock()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(
        self, work: Ask | Tell | Change, future: Callable[[], Any] = Future
    ) -> "Future[Any]":
        """Have something stored; the future is done when it is on the disk and learned."""
        return self.submit_all([work], future)[0]

    def submit_all(
        self, works: Sequence[Ask | Tell | Change], future: Callable[[], Any] = Future
    ) -> "list[Future[Any]]":
        """Have many things stored, in one commit if they are not too many.

        Args:
            works: what.
            future: makes what is waited for: of a thread, or of an event loop.
        """
        together = [Waiting(work, future()) for work in works]
        with self._closed:  # nothing may come after the mark of the end
            if not self._open:
                raise StoreAway("the log is closed")
            self._queue.put(together)
        return [waiting.answer for waiting in together]

    @property
    def length(self) -> int:
        """How many submissions wait."""
        return self._queue.qsize()

    def close(self) -> None:
        """Store what waits, then stop."""
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
                if len(batch) >= LARGEST_BATCH:
                    break
                try:
                    together = self._queue.get_nowait()
                except queue.Empty:
                    break
            going = together is not None
            self._store_all(batch)

    def _store_all(self, batch: list[Waiting]) -> None:
        """Runs of asks and tells in one commit each; a change in a commit of its own."""
        run: list[Waiting] = []
        for waiting in batch:
            if isinstance(waiting.work, Change):
                self._store_run(run)
                run = []
                self._store_change(waiting, waiting.work)
            else:
                run.append(waiting)
        self._store_run(run)

    def _store_run(self, run: list[Waiting]) -> None:
        if not run:
            return
        asks = [w for w in run if isinstance(w.work, Ask)]
        tells = [w for w in run if isinstance(w.work, Tell)]
        begun = time.perf_counter()
        try:
            with self._store.transaction() as rows:
                done = append(
                    rows,
                    [w.work for w in asks if isinstance(w.work, Ask)],
                    [w.work for w in tells if isinstance(w.work, Tell)],
                    self._bandits,
                )
            self._observe(len(run), time.perf_counter() - begun)
            for bandit, events in done.events.items():
                self._bandits[bandit].advance(events)
        except StoreAway as error:
            self._fail(run, error)
            return
        except Exception as error:
            if len(run) > 1:  # it is the fault of one of them: the others must not suffer from it
                for waiting in run:
                    self._store_run([waiting])
            else:
                self._fail(run, error)
            return
        for decided in done.decided:
            if not decided.replayed:
                self._bandits[decided.decision.bandit].note_shown(decided.decision.shown)
        answers: list[tuple[Answer, Any]] = []
        answers += zip((w.answer for w in asks), done.decided, strict=True)
        answers += zip((w.answer for w in tells), done.told, strict=True)
        self._notify(answers)

    def _store_change(self, waiting: Waiting, change: Change) -> None:
        begun = time.perf_counter()
        try:
            with self._store.transaction() as rows:
                written = change.write(rows)
            self._observe(1, time.perf_counter() - begun)
            answer = change.after(written)
        except Exception as error:
            self._fail([waiting], error)
            return
        self._notify([(waiting.answer, answer)])

    def _fail(self, run: list[Waiting], error: Exception) -> None:
        """Nothing of the run is known to be stored; who asks again finds what is."""
        known = isinstance(error, GlobalBanditsError)
        shown = error if known else StoreAway(f"{type(error).__name__}: {error}")
        self._notify([(waiting.answer, shown) for waiting in run])
