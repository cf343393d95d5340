"""Who is calling: a bearer token, its caller and the caller's roles; or nobody."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from isolane.aws.table import Table
from isolane.errors import ConditionFailed, InvalidRequest, NotFound

ROLES = frozenset({"user", "reviewer", "admin"})
SOMEBODYS = "attribute_exists(#pk)"
"""A mistyped token must not be told as taken back while the right one goes on working."""
_KEPT_S = 60
_KEPT_CALLERS = 1_000


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Somebody who may call, and as what."""

    name: str
    roles: frozenset[str]


LOCAL = Caller(name="local", roles=ROLES)
"""Who calls without a token where that is allowed: on a laptop."""


@dataclass(frozen=True)
class Callers:
    """Known callers, by the SHA-256 of their tokens. A caller is looked up once, then kept for 60 s in this process."""

    table: Table
    allow_anonymous: bool = False
    clock: Callable[[], float] = time.monotonic
    _kept: dict[str, tuple[float, Caller]] = field(default_factory=dict)

    def identify(self, authorization: str | None) -> Caller | None:
        """The caller behind an Authorization header, or None. A wrong token is nobody, also where none is needed."""
        if authorization is None:
            return LOCAL if self.allow_anonymous else None
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        return self._known(_hash(token.strip()))

    def issue(self, name: str, *, roles: Iterable[str]) -> str:
        """Makes a token for a caller and returns it. It is not stored: only its hash is."""
        granted = set(roles)
        if not granted or granted - ROLES:
            raise InvalidRequest(f"A role is one of {', '.join(sorted(ROLES))}.")
        token = f"isolane_{secrets.token_urlsafe(32)}"
        self.table.put({**_key(_hash(token)), "name": name, "roles": granted})
        return token

    def revoke(self, token: str) -> None:
        """Makes the token nobody's, within 60 s everywhere. Raises NotFound where it was nobody's already."""
        try:
            self.table.delete(_key(_hash(token)), when=SOMEBODYS)
        except ConditionFailed:
            raise NotFound("There is no such token.") from None

    def _known(self, token_hash: str) -> Caller | None:
        kept_until, caller = self._kept.get(token_hash, (0.0, LOCAL))
        if kept_until > self.clock():
            return caller
        row = self.table.get(_key(token_hash))
        if row is None:
            return None
        return self._keep(token_hash, Caller(name=row["name"], roles=frozenset(row["roles"])))

    def _keep(self, token_hash: str, caller: Caller) -> Caller:
        if len(self._kept) >= _KEPT_CALLERS:
            self._kept.clear()
        self._kept[token_hash] = (self.clock() + _KEPT_S, caller)
        return caller


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _key(token_hash: str) -> dict[str, str]:
    return {"pk": f"token#{token_hash}", "sk": "token"}
