"""`make sam-local`: the functions in Lambda's own runtime image, over the tables and queues of the running local AWS.

Every event goes through the real `sam local invoke` and gets the answer that lies beside it; then `sam local start-api`
answers a round of calls. `EVENT=scoring-api.submit` runs one event and shows all that it says; `DEBUG=5678` beside it
waits for a debugger on that port.
"""

import json
import os
import signal
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.e2e.client import Client
from tests.environment import containers, door
from tests.environment.adapt import adapt
from tests.environment.console import Problem, complain, say
from tests.environment.deploy import Deployment, deploy, sam_environment
from tests.environment.places import BUILT, LOCAL
from tests.environment.runtime_image import LOG, SamLocal, make_ready
from tests.environment.up import up
from tests.events import FOLDER, Case, cases
from tests.waiting import WaitedTooLong

VARIABLES = LOCAL / "sam-local-env.json"
NOBODY_ELSES = {"SCORER_CHAIN": "openai:sam-local,builtin", "OPENAI_BASE_URL": "http://localhost:1/v1"}
ESSAY = FOLDER / "essays" / "english.txt"


@dataclass
class Report:
    """What was tried, how it went, and how long it took."""

    failed: list[str] = field(default_factory=list)

    def check(self, name: str, attempt: Callable[[], list[str]]) -> None:
        """Try one thing that tells where it differs from what it should be; say at once how it went."""
        began_s = time.monotonic()
        differences = attempt()
        say(f"  {'ok' if not differences else 'DIFFERS':<8}{name:<44}{time.monotonic() - began_s:6.1f} s")
        for difference in differences:
            say(f"          {difference}")
        if differences:
            self.failed.append(name)


def refuses(unknowing: SamLocal, case: Case) -> list[str]:
    """Without an endpoint a function says what to pass, and does nothing."""
    answer = unknowing.answer(case)
    said = answer.get("errorMessage", "") if isinstance(answer, dict) else ""
    wanted = ("AWS_ENDPOINT_URL", "EndpointUrl=", "--env-vars")
    if all(word in said for word in wanted):
        return []
    return [f"the answer is {answer!r}, not a sentence that says what to pass"]


def scored(api: Client) -> list[str]:
    """A text that comes in by sam local is scored by the worker of the local AWS, and its result read by sam local."""
    submitted = api.submit(f"{ESSAY.read_text(encoding='utf-8')} {uuid.uuid4().hex}")
    if submitted.status != 202:
        return [f"POST /score answered {submitted.status}: {submitted.text}"]
    try:
        done = api.wait(submitted.json["taskId"], timeout_s=60)
    except TimeoutError as late:
        return [str(late)]
    return [] if done["status"] == "completed" else [f"the task is {done}"]


CALLS = (
    ("GET", "/health", None, 200),
    ("GET", "/tasks?limit=1", None, 200),
    ("POST", "/score", b"{bad", 400),
    ("PUT", "/score", b"{}", 405),
    ("GET", "/result?taskId=nobody-made-this", None, 404),
    ("GET", "/nowhere", None, 404),
)
"""A method, a path, a body, and the status that it must get."""


def call(api: Client, method: str, path: str, *, body: bytes | None, status: int) -> list[str]:
    answer = api.call(method, path, raw=body)
    return [] if answer.status == status else [f"{answer.status}, not {status}: {answer.text}"]


def variables(deployment: Deployment) -> dict[str, dict[str, str]]:
    """Each function's variables; the API that takes texts has a chain that nobody else has: scores are cached by chain,
    and submitting must not be answered from what an earlier run left there."""
    known = sam_environment(deployment.emulator)
    return known | {"ScoringApi": known["ScoringApi"] | NOBODY_ELSES}


def run_all(local: SamLocal) -> list[str]:
    """Everything, one after another; the names of what failed."""
    report = Report()
    say("sam local invoke")
    for case in cases():
        report.check(case.name, lambda case=case: case.differences(local.answer(case)))  # type: ignore[misc]  # a default binds the loop's variable
    first = cases()[0]
    report.check("without an endpoint it refuses to start", lambda: refuses(SamLocal(variables=None), first))
    say("sam local start-api")
    with local.api() as api:
        for method, path, body, status in CALLS:
            report.check(
                f"{method} {path}",
                lambda method=method, path=path, body=body, status=status: call(  # type: ignore[misc]  # the same
                    api, method, path, body=body, status=status
                ),
            )
        report.check("a text is submitted, and scored", lambda: scored(api))
    return report.failed


def main() -> int:
    """Run what EVENT names, or everything."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's & ignores it, and it is how start-api is stopped
    try:
        make_ready()
        deployment = deploy(up())
        adapt(BUILT, target="sam-local", parameters={})
        LOG.unlink(missing_ok=True)
        VARIABLES.write_text(json.dumps(variables(deployment), indent=2))
        with door.opened(deployment.emulator.url, outside=containers.from_inside(deployment.emulator.url)):
            return _run(SamLocal(variables=VARIABLES), event=os.environ.get("EVENT") or None)
    except (Problem, WaitedTooLong) as problem:
        return complain(problem if isinstance(problem, Problem) else Problem(str(problem)))


def _run(local: SamLocal, *, event: str | None) -> int:
    if event is not None:
        return local.show(chosen(event), debug_port=os.environ.get("DEBUG") or None)
    began_s = time.monotonic()
    failed = run_all(local)
    took_s = time.monotonic() - began_s
    if failed:
        raise Problem(f"{len(failed)} differ: {', '.join(failed)}. What the functions said is in {LOG}.")
    say(f"sam local: all as expected, in {took_s:.0f} s.")
    return 0


def chosen(name: str) -> Case:
    """The event of that name."""
    names = [case.name for case in cases()]
    if name not in names:
        raise Problem(f"There is no event {name}; there are {', '.join(names)}.")
    return Case(name)


if __name__ == "__main__":
    raise SystemExit(main())
