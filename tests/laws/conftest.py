"""What all tests of the laws share: ADK and the passes say a lot about conversations like these."""

import logging

import pytest


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)
