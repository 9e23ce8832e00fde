"""The o200k tokenizer without a network: litellm's wheel carries the file."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


@lru_cache(maxsize=1)
def encoding() -> Any:
    """The encoding; skips the test where tiktoken or litellm is not installed."""
    tiktoken = pytest.importorskip("tiktoken")
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        pytest.skip("litellm, whose wheel carries the o200k file, is not installed")
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"))
    return tiktoken.get_encoding("o200k_base")


def o200k(value: Any) -> int:
    """Tokens of a text, or of a value as the JSON in which a provider receives it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(encoding().encode(text, disallowed_special=()))
