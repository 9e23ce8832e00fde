"""One server for all tests of a module, new for each."""

import pytest

from tests.providers.strict_server import StrictServer


@pytest.fixture(scope="session")
def _running_server():
    with StrictServer() as server:
        yield server


@pytest.fixture
def strict_server(_running_server):
    """The server, which has seen nothing yet."""
    _running_server.forget()
    return _running_server
