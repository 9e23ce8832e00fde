"""The one warning about a relay format that this release does not know."""

from __future__ import annotations

import logging
import warnings

from adk_context_pack.errors import UnknownRelayFormatWarning

logger = logging.getLogger("adk_context_pack")
_warned: set[str] = set()
_MAX_WARNED = 100


def warn_of_unknown_format(preamble: str) -> None:
    """Says once for each process and preamble that relays of an unknown format are left as they are.

    Both ways: the log is what production reads, the warning is what a test suite turns into an error.
    """
    key = preamble[:80]
    if key in _warned or len(_warned) >= _MAX_WARNED:
        return
    _warned.add(key)
    message = (
        "a content that starts with 'For context' is in no relay format known to this release of adk_context_pack; "
        "it is left as it is (a newer google-adk, or text of another callback)"
    )
    logger.warning(message)
    try:
        warnings.warn(message, UnknownRelayFormatWarning, stacklevel=2)
    except UnknownRelayFormatWarning:
        # A process that turns warnings into errors must not lose a run to one.
        logger.debug("the warning was raised as an error")
