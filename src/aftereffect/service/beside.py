"""Work that waits for the store, in threads beside the event loop: with less ado than a framework's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Done = TypeVar("Done")
THREADS = ThreadPoolExecutor(32, thread_name_prefix="aftereffect")  # those who write wait for each other anyway


async def beside(work: Callable[[], Done]) -> Done:
    """What some work gives, while other requests are served."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, work)
