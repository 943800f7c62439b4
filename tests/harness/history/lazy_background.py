"""A background that works only when told to, so that a test can crash a recorder with any amount of it still to do."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class LazyExecutor:
    """Stands in for ThreadPoolExecutor: a task runs when its result is asked for, after all those before it."""

    def __init__(self, *_: object) -> None:
        self.tasks: deque[Callable[[], None]] = deque()

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future = _LazyFuture(self)
        self.tasks.append(lambda: future.run(function, args))
        return future

    def step(self) -> None:
        self.tasks.popleft()()

    def shutdown(self) -> None:
        while self.tasks:
            self.step()


class _LazyFuture(Future[Any]):
    def __init__(self, executor: LazyExecutor) -> None:
        super().__init__()
        self._executor = executor

    def run(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            self.set_result(function(*args))
        except BaseException as problem:
            self.set_exception(problem)

    def result(self, timeout: float | None = None) -> Any:
        self._catch_up()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._catch_up()
        return super().exception(timeout)

    def _catch_up(self) -> None:
        while not self.done():
            self._executor.step()
