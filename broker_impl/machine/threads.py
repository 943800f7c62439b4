"""Work that blocks: fsync, recovery, deletion. It runs on a few threads so that the loop never waits for a disk.

A simulation gives the broker a `Threads` that runs the work at once; callers see no difference but the order.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Threads(Protocol):
    async def run(self, work: Callable[..., Result], *arguments: object) -> Result: ...

    def close(self) -> None: ...


class ThreadPool:
    def __init__(self, size: int = 4) -> None:
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="disk")

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def close(self) -> None:
        self._pool.shutdown(wait=True)


class Inline:
    """Runs the work where it stands: for tests and simulations."""

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        return work(*arguments)

    def close(self) -> None:
        return None
