"""The demonstration: real texts are submitted over HTTP, waited for and shown with their scores.

Without TEXT=path, two essays that come with the project are scored, one in English and one in Chinese.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from tests.environment.console import Problem, run, say
from tests.environment.deploy import Deployment, deploy
from tests.environment.places import ROOT
from tests.environment.up import up

ESSAYS = (ROOT / "events/essays/english.txt", ROOT / "events/essays/chinese.txt")
PATIENCE_S = 300
BAR = 30
IN_REVIEW = "in_review"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the API said: the status, the headers that matter here, and the JSON object."""

    status: int
    retry_after_s: float
    location: str | None
    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Api:
    """The API, as any client sees it."""

    url: str
    http: urllib3.PoolManager

    def submit(self, text: str) -> Answer:
        """POST /score."""
        return self._ask("POST", "score", body={"text": text})

    def look(self, location: str) -> Answer:
        """GET what the answer to a submission pointed to."""
        return self._ask("GET", location)

    def _ask(self, method: str, path: str, *, body: Mapping[str, str] | None = None) -> Answer:
        """One request; what is not the API's own JSON is a problem."""
        try:
            answer = self.http.request(method, f"{self.url}/{path}", json=body)
        except urllib3.exceptions.HTTPError as error:
            raise Problem(f"{method} /{path} got no answer: {error}") from error
        try:
            said = json.loads(answer.data)
        except ValueError as error:
            raise Problem(f"{method} /{path} answered {answer.status} and no JSON: {answer.data[:200]!r}") from error
        if answer.status not in {200, 202}:
            raise Problem(f"{method} /{path} answered {answer.status}: {said.get('message', said)}")
        wait_s = float(answer.headers.get("Retry-After", "2"))
        return Answer(status=answer.status, retry_after_s=wait_s, location=answer.headers.get("Location"), body=said)


def demo(deployment: Deployment, *, texts: Mapping[str, str]) -> None:
    """Submit all texts, then wait for each and show it."""
    api = Api(url=deployment.api_url, http=urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=30)))
    started_s = time.monotonic()
    submitted = {name: api.submit(text) for name, text in texts.items()}
    for name, answer in submitted.items():
        say(f"\n{name} ({len(texts[name]):,} characters)  POST /score -> {answer.status}")
        show(waited_for(answer, look=api.look, elapsed_s=lambda: time.monotonic() - started_s))
    say(f"\nThe API is at {deployment.api_url}; try:")
    say(f'  curl -i {deployment.api_url}/score -H "content-type: application/json" -d \'{{"text": "…"}}\'')
    say("It goes on running; `make logs` shows what the functions say, `make down` stops it.")


def waited_for(
    answer: Answer,
    *,
    look: Callable[[str], Answer],
    elapsed_s: Callable[[], float],
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """The task once it is terminal or in review, asked for as often as the API's Retry-After allows."""
    task, location, pause_s = answer.body, answer.location, answer.retry_after_s
    say(f"  {elapsed_s():5.1f} s  {task['status']}")
    while not task["terminal"] and task["status"] != IN_REVIEW:
        if location is None or elapsed_s() + pause_s > PATIENCE_S:
            raise Problem(f"The task is still {task['status']} after {elapsed_s():.0f} s; `make logs` may say why.")
        sleep(pause_s)
        looked = look(location)
        task, pause_s = looked.body, looked.retry_after_s
        say(f"  {elapsed_s():5.1f} s  {task['status']}{_parts_done(task)}")
    if task["status"] not in {"completed", IN_REVIEW}:
        raise Problem(f"The task is {task['status']}: {task.get('error')}")
    return task


def show(task: Mapping[str, Any]) -> None:
    """Print a score with its dimensions and its comments; of a task in review, why it is there and what it has."""
    if task["status"] == IN_REVIEW:
        say(f"  in review: {task['error']['message']}")
        if "provisional" not in task:
            return
        say("  provisionally:")
    result = task["provisional"] if task["status"] == IN_REVIEW else task["result"]
    known = ", from the cache: the same text was scored before" if task.get("cached") else ""
    say(f"  score {result['score']} of 100, by {result['model']}{known}")
    for name, value in result["dimensions"].items():
        say(f"    {name:<14} {value:>3}  {'█' * round(value * BAR / 100)}")
    for comment in result["comments"]:
        say(f"    - {comment}")


def _parts_done(task: Mapping[str, Any]) -> str:
    """How far a long text is."""
    progress = task.get("progress")
    return f", {progress['done']} of {progress['of']} parts" if progress else ""


def chosen_texts(path: str | None) -> dict[str, str]:
    """The text that the person named, or the project's own."""
    paths = ESSAYS if path is None else (Path(path),)
    try:
        return {each.name: each.read_text(encoding="utf-8") for each in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"The text cannot be read: {error}") from error


def main() -> None:
    """Bring everything up, and demonstrate."""
    texts = chosen_texts(os.environ.get("TEXT") or None)
    deployment = deploy(up())
    say(f"AWS: {deployment.emulator}")
    demo(deployment, texts=texts)


if __name__ == "__main__":
    raise SystemExit(run(main))
