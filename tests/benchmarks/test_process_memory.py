"""The figures of a process's memory, against memory that the test takes and gives back."""

import pytest

from tests.benchmarks.process_memory import MB, measured, trimmed


@pytest.fixture(autouse=True)
def _only_with_glibc():
    if measured() is None:
        pytest.skip("the C library is not glibc 2.33 or newer")


@pytest.mark.parametrize(
    ("take", "size"),
    [
        (lambda: b"x" * (40 * MB), 40),
        (lambda: [bytes(20_000) for _ in range(1_000)], 19),
        (lambda: [(number, str(number)) for number in range(200_000, 400_000)], 28),
    ],
    ids=["one", "large", "small"],
)
def test_memory_in_use_is_told_from_memory_that_was_freed(take, size):
    """What is taken counts as used until it is freed, and never afterwards, whatever the allocators keep of it."""
    before = measured()
    taken = take()
    during = measured()
    assert during.used - before.used == pytest.approx(size, rel=0.3, abs=1)
    assert during.used < during.resident
    del taken
    after = measured()
    assert after.used == pytest.approx(before.used, abs=1)


def test_freed_memory_between_used_is_unused_until_it_is_trimmed():
    """What glibc keeps of freed memory is counted as unused, and trimming takes it out of the resident memory."""
    kept = [(bytearray(40_000), bytearray(40_000)) for _ in range(500)]
    before = measured()
    kept = [small for small, _ in kept]
    freed = measured()
    assert freed.unused - before.unused == pytest.approx(19, rel=0.2)
    assert trimmed() < freed.resident - 10
    assert measured().used == pytest.approx(freed.used, abs=1)
    assert len(kept) == 500
