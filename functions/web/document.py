"""The API's own document, OpenAPI 3.1: served as it is, and what bodies are checked against (`isolane.shapes`)."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("openapi.json")


@functools.cache
def text() -> str:
    """The document as it is written; read once, when first asked for."""
    return _FILE.read_text(encoding="utf-8")


def schemas() -> dict[str, Any]:
    """Its schemas by name."""
    found: dict[str, Any] = json.loads(text())["components"]["schemas"]
    return found
