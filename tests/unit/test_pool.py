"""The local semaphore, where it is used in ways that are not the usual one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from isolane.errors import ConfigurationError
from isolane.pool import Pool


@pytest.mark.parametrize("size", [0, -1])
def test_a_pool_without_a_place_is_refused_where_it_is_made(size: int) -> None:
    with pytest.raises(ConfigurationError):
        Pool(size)


def test_a_map_gives_all_its_places_back_also_where_items_raise() -> None:
    pool, entered = Pool(2), threading.Barrier(2)

    def work(_: int) -> None:
        entered.wait(timeout=10)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pool.map(work, range(4))
    with pool, pool:
        pass


def test_a_block_waits_for_a_place_that_a_map_has() -> None:
    pool, working, leave, order = Pool(1), threading.Event(), threading.Event(), list[str]()

    def work(_: int) -> None:
        working.set()
        leave.wait(timeout=10)
        order.append("map")

    def block() -> None:
        with pool:
            order.append("block")

    with ThreadPoolExecutor(2) as threads:
        threads.submit(pool.map, work, [0])
        working.wait(timeout=10)
        threads.submit(block)
        leave.set()
    assert order == ["map", "block"]


def test_a_map_over_nothing_is_nothing() -> None:
    assert Pool(3).map(str, []) == []
