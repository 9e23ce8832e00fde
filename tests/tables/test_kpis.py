"""Key figures are exact ratios of totals."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.errors import SettingError
from adk_context_pack.tables.summarize import Kpi


@given(st.integers(), st.integers().filter(bool), st.sampled_from([1, 1000, 0.001]))
def test_the_nearest_float(above, below, scale):
    """A figure is the float nearest to the true ratio, of integers of any size."""
    kpi = Kpi(name="k", numerator="a", denominator="b", scale=scale)
    assert kpi.value({"a": above, "b": below}.get) == float(Fraction(above) * Fraction(str(scale)) / below)


def test_beyond_floats():
    """A ratio that no float can hold is None."""
    assert Kpi(name="k", numerator="a", denominator="b").value({"a": 10**400, "b": 1}.get) is None


@pytest.mark.parametrize(
    "setting", [{"name": ""}, {"numerator": 3}, {"scale": 0}, {"scale": float("nan")}, {"scale": "x"}, {"scale": True}]
)
def test_wrong_settings_are_named(setting):
    """A setting that cannot work is refused with its name and value."""
    ((name, value),) = setting.items()
    with pytest.raises(SettingError, match=f"{name} must be") as caught:
        Kpi(**({"name": "k", "numerator": "a", "denominator": "b"} | setting))
    assert repr(value) in str(caught.value)
