"""What all tests of the laws share."""

import logging

import pytest


@pytest.fixture(autouse=True)
def _quiet():
    """ADK and the passes say a lot about conversations like these."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)
