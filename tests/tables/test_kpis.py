"""Key figures are exact ratios of totals."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.tables.summarize import Kpi


@given(st.integers(), st.integers().filter(bool), st.sampled_from([1, 1000, 0.001]))
def test_the_nearest_float(above, below, scale):
    """A figure is the float nearest to the true ratio, of integers of any size."""
    kpi = Kpi(name="k", numerator="a", denominator="b", scale=scale)
    assert kpi.value({"a": above, "b": below}.get) == float(Fraction(above) * Fraction(str(scale)) / below)


def test_beyond_floats():
    """A ratio that no float can hold is None."""
    assert Kpi(name="k", numerator="a", denominator="b").value({"a": 10**400, "b": 1}.get) is None
