"""A process in the lab: clients of its own that can be struck, and the application over them."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import images.sweeper
from isolane.backlog import LOOK_EVERY_S, Backlog
from isolane.errors import Refused
from isolane.task import as_json
from scoring.scorers import ModelScorer, Scorer
from tests.application import Application, delete
from tests.faults.case import MAX_ATTEMPTS, OWNER, PERMITS, PRICE, VERDICTS, WORKSHOP, Answered, Case
from tests.faults.clients import new_client
from tests.faults.lab_models import BusyModel, LabEmbedder, Model, PromptedModel
from tests.faults.lab_provider import LabProvider
from tests.world import World

if TYPE_CHECKING:
    from tests.faults.lab import Lab


_SERVICES = ("dynamodb", "sqs", "s3")
_SIGNED = ("s3",)
"""moto lets nobody write over an object without a signature; the others are quicker without."""


@dataclass(kw_only=True)
class Seat:
    """One process: clients of its own, and the application over them."""

    lab: "Lab"
    clients: Mapping[str, Any] = field(
        default_factory=lambda: {name: new_client(name, signed=name in _SIGNED) for name in _SERVICES}
    )

    @cached_property
    def model(self) -> Model:
        return Model(self.lab)

    @cached_property
    def provider(self) -> LabProvider:
        return LabProvider(self.lab)

    @cached_property
    def app(self) -> Application:
        world = World(client=lambda service: self.clients[service], clock=self.lab.clock, suffix=self.lab.suffix)
        changes = {
            "POOL_SIZE": "1",
            "MAX_RETRIES": str(MAX_ATTEMPTS - 1),
            "MODEL_CONCURRENCY": str(PERMITS),
            "IMAGE_PRICE": str(PRICE),
        }
        app = Application(
            world,
            scorers=self._scorers,
            embedder=LabEmbedder(self.model),
            provider=self.provider,
            changes=changes,
            sleep=lambda _: None,
        )
        app.image_sweeper = images.sweeper.build(app.bindings, generations=app.generations, at_once=1)
        app.bindings.embed_backlog = _without_a_memory(app.bindings.embed_backlog)
        return app

    @property
    def _scorers(self) -> tuple[Scorer, ...]:
        if self.lab.falls_back:
            return (ModelScorer("busy", BusyModel()), self.model)
        return (ModelScorer(self.model.name, PromptedModel(self.model)) if self.lab.guarded else self.model,)

    def submit(self, case: Case, *, key: str | None = None, text: str | None = None) -> Answered:
        """A caller's POST /score."""
        text = text if text is not None else case.text
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self._call(f"submit {key}", "POST", "/score", text=text, body={"text": text}, headers=headers)

    def read(self, task_id: str) -> Answered:
        """A caller's GET /result."""
        return self._call(f"read {task_id}", "GET", "/result", query={"taskId": task_id})

    def cancel(self, task_id: str) -> Answered:
        """A caller's DELETE /tasks/{taskId}."""
        return self._call(f"cancel {task_id}", "DELETE", f"/tasks/{task_id}")

    def page(self, *, limit: int, cursor: str | None = None) -> Answered:
        """A caller's GET /tasks."""
        query = {"limit": str(limit), **({"cursor": cursor} if cursor is not None else {})}
        return self._call("list", "GET", "/tasks", query=query)

    def take_reviews(self, reviewer: str) -> None:
        """A reviewer's GET /admin/reviews, past the token."""
        self.app.bindings.reviews.take(reviewer=reviewer, limit=10)

    def judge(self, task_id: str, reviewer: str) -> Answered:
        """A reviewer's POST /admin/reviews/{taskId}, past the token."""
        result = {"score": VERDICTS[reviewer], "dimensions": {}, "comments": ["Fine."]}
        asked = f"judge {reviewer}"
        try:
            task = self.app.bindings.tasks.judge(task_id, reviewer=reviewer, result=result, model="reviewer")
        except Refused as refusal:
            return Answered(asked=asked, status=refusal.status, body={"error": refusal.code})
        return Answered(asked=asked, status=200, body=as_json(task))

    def sweep(self) -> None:
        """The sweeper's minute."""
        self.app.sweep()

    def deliver(self, records: list[dict[str, Any]]) -> None:
        """A batch to the worker, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.queue, records, self.app.work(records))

    def bury(self, records: list[dict[str, Any]]) -> None:
        """The same, for dead letters."""
        if records:
            self._acknowledge(self.app.dead, records, self.app.bury(records))

    def embed(self, case: Case, *, which: int = 0, key: str | None = None) -> Answered:
        """A caller's POST /api/embed/batch."""
        headers, body = {"Idempotency-Key": key} if key is not None else {}, {"documents": case.documents(which)}
        asked = f"embed {which} {key}"
        return self._call(asked, "POST", "/api/embed/batch", body=body, headers=headers, api=self.app.embeddings)

    def work_on_documents(self, records: list[dict[str, Any]]) -> None:
        """A batch to the worker that embeds, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.embed_queue, records, self.app.embed(records))

    def bury_documents(self, records: list[dict[str, Any]]) -> None:
        """The same, for documents that are dead letters."""
        arn = f"arn:aws:sqs:us-east-1:1:{self.app.embed_dead.url.rsplit('/', 1)[-1]}"
        if records:
            letters = [{**record, "eventSourceARN": arn} for record in records]
            self._acknowledge(self.app.embed_dead, records, self.app.bury(letters))

    def order(self, prompt: str, *, key: str | None = None) -> Answered:
        """A caller's POST /images."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        asked = f"order {key}"
        return self._call(asked, "POST", "/images", text=prompt, body={"prompt": prompt}, headers=headers)

    def picture(self, task_id: str) -> Answered:
        """A caller's GET /images/{taskId}."""
        return self._call(f"picture {task_id}", "GET", f"/images/{task_id}")

    def pictures(self) -> Answered:
        """A caller's GET /images."""
        return self._call("pictures", "GET", "/images")

    def credits(self) -> Answered:
        """A caller's GET /credits."""
        return self._call("credits", "GET", "/credits")

    def grant(self, amount: int, *, grant_id: str) -> None:
        """An admin's grant, past the command."""
        self.app.bindings.ledger.grant(OWNER, amount=amount, grant_id=grant_id)

    def sweep_pictures(self) -> None:
        """The minute of the sweeper of pictures."""
        self.app.sweep_images()

    def stored(self, key: str) -> bytes | None:
        """What lies in the bucket there."""
        s3 = self.clients["s3"]
        try:
            return bytes(s3.get_object(Bucket=self.app.world.bucket_name, Key=key)["Body"].read())
        except s3.exceptions.NoSuchKey:
            return None

    def reserve(self, request_id: str, *, seats: int) -> Answered:
        """A caller's POST /workshops/{name}/reservations."""
        asked, body = f"reserve {request_id}", {"requestId": request_id, "seats": seats}
        return self._call(asked, "POST", f"{WORKSHOP}/reservations", body=body, api=self.app.workshops)

    def give_back(self, request_id: str) -> Answered:
        """A caller's DELETE /workshops/{name}/reservations/{requestId}."""
        path = f"{WORKSHOP}/reservations/{request_id}"
        return self._call(f"give back {request_id}", "DELETE", path, api=self.app.workshops)

    def resize(self, capacity: int) -> Answered:
        """An admin's PUT /workshops/{name}."""
        return self._call("resize", "PUT", WORKSHOP, body={"capacity": capacity}, api=self.app.workshops)

    def next_value(self, *, key: str | None = None) -> Answered:
        """A caller's POST /counters/{name}/next."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        asked, path = f"next {key}", "/counters/tickets/next"
        return self._call(asked, "POST", path, headers=headers, api=self.app.named_objects)

    def join(self, who: str, *, key: str | None = None) -> Answered:
        """A caller's POST /rooms/{name}/join."""
        headers, query = {"Idempotency-Key": key} if key is not None else {}, {"who": who}
        asked, path = f"join {key}", "/rooms/lobby/join"
        api = self.app.named_objects
        return replace(self._call(asked, "POST", path, headers=headers, query=query, api=api), who=who)

    def close_room(self, after_s: int) -> Answered:
        """A caller's PUT /rooms/{name}/closing."""
        body = {"afterSeconds": after_s}
        return self._call("close", "PUT", "/rooms/lobby/closing", body=body, api=self.app.named_objects)

    def ring(self, records: list[dict[str, Any]]) -> None:
        """Alarms to their function, and what Lambda does with its answer."""
        if records:
            self._acknowledge(self.app.alarms, records, self.app.ring(records))

    def _call(self, asked: str, method: str, path: str, *, text: str | None = None, **more: Any) -> Answered:
        answer = self.app.call(method, path, **more)
        return Answered(asked=asked, status=answer["statusCode"], body=answer["json"], text=text)

    def _acknowledge(self, queue: Any, records: list[dict[str, Any]], answer: Mapping[str, Any]) -> None:
        again = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for record in records:
            if record["messageId"] not in again:
                delete(queue, record)


def _without_a_memory(backlog: Backlog) -> Backlog:
    """One that looks each time, and tells nobody of its pace: by the wall's clock no life would be like another."""
    later = itertools.count(step=int(LOOK_EVERY_S) + 1)
    return replace(backlog, keeps_pace=False, clock=lambda: float(next(later)))
