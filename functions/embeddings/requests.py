"""What callers send, checked and made ready: documents to embed, and a text to search for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from isolane.characters import required
from isolane.errors import InvalidRequest
from isolane.json_edge import digest
from isolane.shapes import Shape
from web import document

LONGEST_TEXT = 50_000
"""Characters, after cleaning; no model's window takes more, and it fits into a message in any script."""
_MOST_ID_BYTES = 200_000
"""Of all ids together: a batch's row keeps the ids of those that fail, and DynamoDB's rows end at 400 KB."""
_LIMIT = 10


@dataclass(frozen=True, kw_only=True)
class Order:
    """Documents to be embedded."""

    documents: tuple[tuple[str, str], ...]
    """Id and text of each."""

    @property
    def fingerprint(self) -> str:
        return digest({"kind": "embed", "documents": [list(each) for each in self.documents]})


@dataclass(frozen=True, kw_only=True)
class Query:
    """A text to search for."""

    text: str
    limit: int


def order_of(body: dict[str, Any]) -> Order:
    """Raises InvalidRequest as the API's document says, `invalid_documents` for an id twice, and TooLarge."""
    _shape("EmbedBatchRequest").check(body)
    documents = tuple((str(each["id"]), _text(each["text"])) for each in body["documents"])
    ids = [document_id for document_id, _ in documents]
    if len(set(ids)) != len(ids):
        raise InvalidRequest("Each document has an id of its own.", code="invalid_documents")
    if sum(len(document_id.encode()) for document_id in ids) > _MOST_ID_BYTES:
        raise InvalidRequest("The ids of the documents are too long.", code="invalid_documents")
    return Order(documents=documents)


def query_of(body: dict[str, Any]) -> Query:
    """Raises InvalidRequest as the API's document says, and TooLarge."""
    _shape("EmbedSearchRequest").check(body)
    return Query(text=_text(body["text"]), limit=int(body.get("limit", _LIMIT)))


def _text(text: str) -> str:
    return required(text, needed="A text to embed", code="text_required", longest=LONGEST_TEXT)


@functools.cache
def _shape(name: str) -> Shape:
    return Shape(name, schemas=document.schemas())
