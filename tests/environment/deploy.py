"""Build the application and deploy it to the AWS in use, unless just this stands there already.

What others need to find it is written to `.local/`: `api-url`, `outputs.json`, and `sam-env.json` for
`sam local --env-vars`.
"""

import fcntl
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.environment import clients, localstack, stack, startable
from tests.environment.adapt import architecture
from tests.environment.build import build
from tests.environment.console import Problem, run, say
from tests.environment.containers import from_inside
from tests.environment.emulator import Emulator
from tests.environment.fingerprint import fingerprint
from tests.environment.places import ARTIFACTS, BUILT, LOCAL, ROOT, SECTIONS, STACK_NAME, overrides
from tests.environment.sam import sam
from tests.environment.up import up
from tests.template import PARAMETERS


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The application as it stands: on which emulator, at which address, and what its stack says of itself."""

    emulator: Emulator
    api_url: str
    outputs: dict[str, str]


def deploy(emulator: Emulator) -> Deployment:
    """The application on this emulator, built and deployed only where something changed since the last time."""
    with one_at_a_time():
        chosen = parameters(emulator)
        startable.check(chosen)
        mark = fingerprint(chosen, target=emulator.name)
        if not _stands(emulator, mark=mark):
            stack.clear_away_broken(emulator.url)
            _build_and_deploy(emulator, chosen=chosen)
        return _write_down(emulator, mark=mark)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let two commands of one checkout deploy one after the other; the lock goes with the process, however it ends."""
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "deploying").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def parameters(emulator: Emulator) -> dict[str, str]:
    """The template's parameters: samconfig.toml's for this place, what this machine decides, what PARAMETERS says."""
    said = shlex.split(os.environ.get("PARAMETERS", ""))
    return {
        **_defaults(),
        "Architecture": architecture(),
        "PublicEndpointUrl": emulator.url,
        "EndpointUrl": os.environ.get("FUNCTIONS_ENDPOINT_URL") or emulator.seen_by_functions(emulator.url),
        **overrides(emulator.name),
        **dict(_pair(entry) for entry in said),
    }


def _defaults() -> dict[str, str]:
    """The template's own values: what is not said again would stay as it was deployed last, in silence."""
    return {name: str(each["Default"]) for name, each in PARAMETERS.items() if each.get("Default", "") != ""}


def _pair(entry: str) -> tuple[str, str]:
    """Name=value, as a pair."""
    name, equals, value = entry.partition("=")
    if not equals:
        raise Problem(f"PARAMETERS are written Name=value, with spaces between, and {entry!r} is not.")
    return name, value


def _stands(emulator: Emulator, *, mark: str) -> bool:
    """Whether the stack that stands there is the one that was deployed last, from just these files and parameters."""
    standing = stack.find(emulator.url)
    built = BUILT / f"{emulator.name}.yaml"
    return (
        standing is not None
        and standing.stands
        and stack.noted() == f"{mark} {standing.mark}"
        and built.exists()  # who deploys a second stack takes it from there
    )


def _build_and_deploy(emulator: Emulator, *, chosen: dict[str, str]) -> None:
    """The real `sam build` and the real `sam deploy`."""
    say("Building (sam build) …")
    template = build(target=emulator.name, parameters=chosen)
    s3 = clients.s3(emulator.url)
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=ARTIFACTS)
    say(f"Deploying to {emulator} (sam deploy) …")
    deploy_template(template, emulator=emulator, chosen=chosen)


def deploy_template(
    template: Path, *, emulator: Emulator, chosen: Mapping[str, str], stack_name: str = STACK_NAME
) -> None:
    """`sam deploy` of a template that was built and adapted."""
    sam(
        *("deploy", "--template-file", str(template), "--config-file", str(ROOT / "samconfig.toml")),
        *("--config-env", SECTIONS[emulator.name], "--stack-name", stack_name, "--s3-bucket", ARTIFACTS),
        *("--no-fail-on-empty-changeset", "--no-progressbar"),
        *("--parameter-overrides", *(f"{name}={value}" for name, value in chosen.items())),
        url=emulator.url,
    )


def _write_down(emulator: Emulator, *, mark: str) -> Deployment:
    """Tell the other commands where the application is; the note that it is complete comes last."""
    standing, api_url = standing_at(emulator)
    outputs = standing.outputs | {"ApiUrl": api_url}
    (LOCAL / "outputs.json").write_text(json.dumps(outputs, indent=2))
    (LOCAL / "sam-env.json").write_text(json.dumps(sam_environment(emulator), indent=2))
    (LOCAL / "api-url").write_text(f"{api_url}\n")
    (LOCAL / "deployed").write_text(f"{mark} {standing.mark}")
    return Deployment(emulator=emulator, api_url=api_url, outputs=outputs)


def standing_at(emulator: Emulator, *, name: str = STACK_NAME) -> tuple[stack.Stack, str]:
    """The stack as it came to stand, and its API's address."""
    standing = stack.find(emulator.url, name=name)
    if standing is None or not standing.stands:
        raise Problem(f"The stack did not come to stand; it is {standing}.")
    stage = standing.outputs["ApiUrl"].rpartition("/")[2]
    return standing, f"{emulator.url}/_aws/execute-api/{standing.outputs['ApiId']}/{stage}"


def sam_environment(emulator: Emulator) -> dict[str, dict[str, str]]:
    """Each function's variables, by its logical name: as deployed, with AWS where a container finds it."""
    functions = clients.functions(emulator.url)
    inside = {"AWS_ENDPOINT_URL": from_inside(emulator.url)}
    return {
        logical: functions.get_function_configuration(FunctionName=physical)["Environment"]["Variables"] | inside
        for logical, physical in stack.physical_names(emulator.url, kind="AWS::Lambda::Function").items()
    }


def emulator_for(place: str) -> Emulator:
    """The emulator that ENV names, started if it does not run: samconfig.toml's section for it has this name."""
    match place:
        case "" | "local":
            return up()
        case "localstack":
            return up(localstack.start())
    raise Problem(f"ENV is local or localstack, and {place!r} is neither; for AWS itself: sam build, sam deploy.")


def main() -> None:
    """Start what is needed, deploy, and say where the API is."""
    deployment = deploy(emulator_for(os.environ.get("ENV", "")))
    say(f"AWS: {deployment.emulator}")
    say(f"API: {deployment.api_url}")


if __name__ == "__main__":
    raise SystemExit(run(main))
