"""Threads of this library, of BLAS and of other people together are never more than allowed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tenfold.system import threads

FAR_FROM_ONE = 3


@pytest.fixture
def controller():
    controller = threads._controller()
    if not any(library.user_api == "blas" for library in controller.lib_controllers):
        pytest.skip("no BLAS whose threads can be counted")
    with controller.limit(limits=FAR_FROM_ONE):
        yield controller


def test_blas_has_one_thread_while_parts_are_worked_on(controller):
    inside = threads.over_threads(lambda part: threads._allowed(controller), [0, 1, 2])
    assert inside == [1, 1, 1]
    assert threads._allowed(controller) == FAR_FROM_ONE


def test_callers_at_the_same_time_leave_blas_as_they_found_it(controller):
    entered, left = Barrier(2, timeout=10), Barrier(2, timeout=10)

    def first():
        with threads._one_blas_thread(controller):
            entered.wait()
            left.wait()

    def second():
        entered.wait()
        with threads._one_blas_thread(controller):
            left.wait()
        return threads._allowed(controller)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert threads._allowed(controller) == FAR_FROM_ONE


def test_an_error_in_a_part_reaches_the_caller_and_frees_blas(controller):
    with pytest.raises(ZeroDivisionError):
        threads.over_threads(lambda part: 1 // part, [1, 0])
    assert threads._allowed(controller) == FAR_FROM_ONE
