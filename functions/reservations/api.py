"""Seats in workshops: reserve, cancel, see how a workshop stands, and change how many seats it has."""

from __future__ import annotations

import functools
from typing import Any

from isolane.api import Answer, Api, Request
from isolane.bindings import Bindings
from isolane.errors import InvalidRequest
from isolane.reservations import Reservation
from isolane.serving import serving
from isolane.shapes import Shape
from isolane.workshop import Decision, Status, check_workshop
from web import document

_ANYBODY = ("user", "admin")
_STATUS = {Decision.ACCEPTED: 201, Decision.REJECTED: 409}


class Workshops:
    """The handlers, over the reservations."""

    def __init__(self, app: Bindings) -> None:
        self._app = app

    def reserve(self, request: Request, *, workshop: str) -> Answer:
        check_workshop(workshop)
        body = _body(request, shape="ReservationRequest")
        made = self._app.reservations.reserve(
            workshop,
            request_id=body["requestId"],
            seats=int(body["seats"]),
            caller=request.caller.name,
            deadline=request.deadline,
        )
        decision = made.attempt.decision
        return Answer(
            status=_STATUS[decision], body={**_as_json(made, status=str(decision)), "replayed": made.replayed}
        )

    def cancel(self, request: Request, *, workshop: str, request_id: str) -> Answer:
        anybodys = "admin" in request.caller.roles
        canceled = self._app.reservations.cancel(
            workshop,
            request_id=request_id,
            owner=None if anybodys else request.caller.name,
            deadline=request.deadline,
        )
        return Answer(body=_as_json(canceled, status="canceled"))

    def resize(self, request: Request, *, workshop: str) -> Answer:
        check_workshop(workshop)
        capacity = int(_body(request, shape="CapacityRequest")["capacity"])
        seats = self._app.reservations.set_capacity(workshop, capacity=capacity, deadline=request.deadline)
        return Answer(body={"workshop": workshop, "capacity": seats.capacity, "reserved": seats.reserved})

    def status(self, _: Request, *, workshop: str) -> Answer:
        return Answer(body={"workshop": workshop, **_counted(self._app.reservations.status(workshop))})


def _body(request: Request, *, shape: str) -> dict[str, Any]:
    """The body, of the shape that the API's document gives it. Raises InvalidJson and InvalidRequest."""
    try:
        body = request.json_object()
    except InvalidRequest as error:  # JSON, but no object: here that is a reservation like no other
        raise InvalidRequest(error.message, code="invalid_reservation") from None
    _shape(shape).check(body)
    return body


@functools.cache
def _shape(name: str) -> Shape:
    return Shape(name, schemas=document.schemas())


def _as_json(reservation: Reservation, *, status: str) -> dict[str, Any]:
    attempt, seats = reservation.attempt, reservation.seats
    return {
        "workshop": attempt.workshop,
        "requestId": attempt.request_id,
        "seats": attempt.seats,
        "status": status,
        "capacity": seats.capacity,
        "reserved": seats.reserved,
    }


def _counted(status: Status) -> dict[str, int]:
    return {
        "capacity": status.seats.capacity,
        "reserved": status.seats.reserved,
        "acceptedRequests": status.accepted,
        "rejectedRequests": status.rejected,
        "acceptedSeats": status.seats.reserved,
    }


def build(app: Bindings) -> Api:
    """The routes of this function."""
    workshops, api = Workshops(app), Api(callers=app.callers, posts=app.posts)
    api.route("PUT", "/workshops/<workshop>", workshops.resize, roles=("admin",))
    api.route("GET", "/workshops/<workshop>/status", workshops.status, roles=_ANYBODY)
    api.route("POST", "/workshops/<workshop>/reservations", workshops.reserve, roles=_ANYBODY)
    api.route("DELETE", "/workshops/<workshop>/reservations/<request_id>", workshops.cancel, roles=_ANYBODY)
    return api


handler = serving(build)
"""What Lambda calls."""
