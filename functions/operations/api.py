"""`GET /health`, the API's own document, how things stand, reviews, and a clean answer for paths that are nobody's."""

from __future__ import annotations

from isolane.api import Answer, Api, Request
from isolane.bindings import Bindings
from isolane.serving import serving
from operations.reviews import ROLES, Reviewing
from operations.stats import Stats
from web import document

_KEPT = {"Cache-Control": "public, max-age=300", "Content-Type": "application/json"}


def health(_: Request) -> Answer:
    """That the API answers; it says nothing about what lies behind it."""
    return Answer(body={"status": "ok"})


def openapi(_: Request) -> Answer:
    """The API's own document, which is the same for everybody."""
    return Answer(text=document.text(), headers=_KEPT)


def build(app: Bindings) -> Api:
    """The routes of this function."""
    api = Api(callers=app.callers, posts=app.posts)
    api.route("GET", "/health", health, public=True)
    api.route("GET", "/openapi.json", openapi, public=True)
    api.route("GET", "/admin/stats", Stats(app).answer, roles=("admin",))
    reviewing = Reviewing(app)
    api.route("GET", "/admin/reviews", reviewing.take, roles=ROLES)
    api.route("POST", "/admin/reviews/<task_id>", reviewing.judge, roles=ROLES)
    return api


handler = serving(build)
"""What Lambda calls."""
