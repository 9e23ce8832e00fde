"""Builds ADK's artifact services from the URIs that ADK's own commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def artifact_service(uri: str) -> Any:
    """Returns the artifact service behind a URI, or behind a folder that ADK's `FileArtifactService` keeps.

    Raises:
        ValueError: ADK knows no such service, it needs a package that is not installed, or its folder does not exist.
    """
    parts = urlsplit(uri)
    is_folder = not parts.scheme or parts.scheme == "file"
    path = Path(unquote(parts.path) if parts.scheme else uri)
    if is_folder and not path.is_dir():
        # ADK would create it.
        raise ValueError("the folder does not exist")
    # ADK's command line takes long to import.
    from google.adk.cli.service_registry import get_service_registry  # noqa: PLC0415

    try:
        service = get_service_registry().create_artifact_service(path.resolve().as_uri() if is_folder else uri)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if service is None:
        raise ValueError(f"ADK knows no artifact service for {parts.scheme}://")
    return service
