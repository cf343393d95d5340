"""A provider of pictures with bad manners: Replicate's predictions, and the pictures themselves.

In a test:            with PredictionServer() as server: server.play(good(), fails()); … server.base_url
As a process:         python -m tests.doubles.prediction_server --port 8098
Over HTTP, either:    PUT /script {"manners": [{…}, …]}       each new prediction takes the next, and the last one stays
                      PUT /script {"chances": {"fails": 0.2, "lost": 0.05, "late": 0.05}, "seed": 7, "manners": [{…}]}
                                                              each takes what chance gives it, or else the manners
                      GET /requests -> {"requests": […], "maxConcurrency": n,
                                        "keys": {key: {"submits": n, "ids": […], "canceled": n}}}
                      DELETE /requests forgets the requests (the predictions stay)
Manners are in manners.py. The API is under /v1; keys are what came as Idempotency-Key.
"""

from __future__ import annotations

import json
import re
import ssl
import time
import zlib
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.doubles.manners import PICTURE, Manners, drawn, good
from tests.doubles.server import ANSWERS, Handler, Record, Server, main
from tests.pictures import png

_SUBMIT = re.compile(r"/v1/models/[^/]+/[^/]+/predictions")
_ONE = re.compile(r"/v1/predictions/([^/]+)(/cancel)?")
_PICTURE = re.compile(r"/pictures/([^/]+)\.png")


@dataclass(kw_only=True)
class Prediction:
    """One that was made."""

    id: str
    key: str
    prompt: str
    manners: Manners
    born_s: float = field(default_factory=time.monotonic)
    canceled: bool = False

    @property
    def status(self) -> str:
        age_s = time.monotonic() - self.born_s
        if self.canceled:
            return "canceled"
        if age_s < self.manners["starting_s"]:
            return "starting"
        if age_s < self.manners["starting_s"] + self.manners["processing_s"]:
            return "processing"
        return str(self.manners["ends"])

    def cancel(self) -> None:
        if self.manners["obeys"] and self.status in {"starting", "processing"}:
            self.canceled = True

    def as_json(self, *, picture_url: str) -> dict[str, Any]:
        status = self.status
        over = status not in {"starting", "processing"}
        output = json.loads(json.dumps(self.manners["output"]).replace(PICTURE, picture_url))
        return {
            "id": self.id,
            "model": "somebody/something",
            "input": {"prompt": self.prompt},
            "logs": "",
            "status": status,
            "output": output if over and not self.canceled else None,
            "error": self.manners["error"] if over else None,
            "created_at": "2026-11-30T12:00:00.000Z",
        }


@dataclass(kw_only=True)
class _Key:
    """What is known of one idempotency key."""

    submits: int = 0
    ids: list[str] = field(default_factory=list)


class Predictions(Record):
    """The manners, the record and the predictions."""

    def __init__(self) -> None:
        super().__init__()
        self._ids = count(1)
        self._keys: dict[str, _Key] = {}
        self._made: dict[str, Prediction] = {}
        self.play(good())

    def play(self, *manners: Manners, chances: dict[str, float] | None = None, seed: int = 0) -> None:
        """Each new prediction takes the next manners, and the last ones stay; or those that chance gives it."""
        with self.lock:
            self._manners = [good(**each) for each in manners]
            self._chances, self._seed = chances or {}, seed

    def submit(self, key: str, prompt: str) -> tuple[Manners, Prediction | None]:
        """How this submit is to be answered, and the prediction that is there now, if one is."""
        with self.lock:
            known = self._keys.setdefault(key, _Key())
            known.submits += 1
            if known.ids and self._made[known.ids[-1]].manners["heeds_keys"]:
                earlier = self._made[known.ids[-1]]
                return {**earlier.manners, "submit": None}, earlier
            manners = self._next(key, submits=known.submits)
            if manners["submit"] is not None and not manners["makes"]:
                return manners, None
            made = Prediction(id=manners["id"] or f"p{next(self._ids):025d}", key=key, prompt=prompt, manners=manners)
            self._made[made.id] = made
            known.ids.append(made.id)
            return manners, made

    def find(self, prediction_id: str) -> Prediction | None:
        with self.lock:
            return self._made.get(prediction_id)

    def made_for(self, key: str) -> list[str]:
        """The ids of all predictions that this key has made."""
        with self.lock:
            return list(self._keys[key].ids) if key in self._keys else []

    def as_json(self) -> dict[str, Any]:
        seen = super().as_json()
        with self.lock:
            return {**seen, "keys": {key: self._of(known) for key, known in self._keys.items()}}

    def _of(self, known: _Key) -> dict[str, Any]:
        canceled = sum(self._made[each].canceled for each in known.ids)
        return {"submits": known.submits, "ids": list(known.ids), "canceled": canceled}

    def _next(self, key: str, *, submits: int) -> Manners:
        manners = self._manners.pop(0) if len(self._manners) > 1 else self._manners[0]
        return drawn(self._chances, seed=self._seed, key=key, submits=submits, base=manners)


class PredictionServer(Server):
    """A provider of pictures on 127.0.0.1; `with` starts and stops it."""

    def __init__(self, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.predictions = Predictions()
        super().__init__(_Handler, self.predictions, port=port, tls=tls)

    def play(self, *manners: Manners, chances: dict[str, float] | None = None, seed: int = 0) -> None:
        self.predictions.play(*manners, chances=chances, seed=seed)


class _Handler(Handler):
    def script(self, told: Any) -> None:
        self.record.play(*told.get("manners", [{}]), chances=told.get("chances"), seed=told.get("seed", 0))

    def answer(self, body: str) -> None:
        if self.command == "POST" and _SUBMIT.fullmatch(self.path):
            self._submit(json.loads(body))
        elif found := _ONE.fullmatch(self.path):
            self._one(self.record.find(found[1]), cancel=bool(found[2]))
        elif found := _PICTURE.fullmatch(self.path):
            self._picture(self.record.find(found[1]))
        else:
            self._not_found()

    def _submit(self, asked: Any) -> None:
        manners, made = self.record.submit(self.headers.get("Idempotency-Key", ""), asked["input"]["prompt"])
        if manners["submit"] is not None:
            ANSWERS[manners["submit"]["kind"]](self, manners["submit"])
        else:
            self.reply_json(made.as_json(picture_url=self._url_of(made)), status=201)

    def _one(self, made: Prediction | None, *, cancel: bool) -> None:
        if made is None or made.manners["lost"]:
            return self._not_found()
        step = made.manners["cancel" if cancel else "ask"]
        if step is not None:
            return ANSWERS[step["kind"]](self, step)
        if cancel:
            made.cancel()
        return self.reply_json(made.as_json(picture_url=self._url_of(made)))

    def _picture(self, made: Prediction | None) -> None:
        if made is None:
            self._not_found()
        elif made.manners["picture"] is not None:
            ANSWERS[made.manners["picture"]["kind"]](self, made.manners["picture"])
        else:
            shade = zlib.crc32(made.prompt.encode())
            self.reply(
                png(rgb=(shade & 255, shade >> 8 & 255, shade >> 16 & 255)), headers={"Content-Type": "image/png"}
            )

    def _url_of(self, made: Prediction) -> str:
        """Where whoever asks finds the picture: under the name by which they know this server."""
        return f"{self.scheme}://{self.headers['Host']}/pictures/{made.id}.png"

    def _not_found(self) -> None:
        self.reply_json({"detail": "The requested resource could not be found.", "status": 404}, status=404)


if __name__ == "__main__":
    main(PredictionServer, description="A provider of pictures with bad manners, on 127.0.0.1.", port=8098)
