"""A stack of the same template beside the application's own, for what needs other parameters."""

from collections.abc import Mapping

from tests.environment import stack
from tests.environment.adapt import adapt
from tests.environment.deploy import Deployment, deploy_template, one_at_a_time, parameters, standing_at
from tests.environment.places import BUILT, STACK_NAME


def stack_name(purpose: str) -> str:
    """What the stack for a purpose is called."""
    return f"{STACK_NAME}-{purpose}"


def deploy_beside(first: Deployment, *, purpose: str, changes: Mapping[str, str]) -> Deployment:
    """Another stack from what was built for the first one, with these parameters in place of its own."""
    emulator, name = first.emulator, stack_name(purpose)
    chosen = {**parameters(emulator), **changes}
    with one_at_a_time():
        template = adapt(BUILT, target=emulator.name, parameters=chosen, name=name)
        deploy_template(template, emulator=emulator, chosen=chosen, stack_name=name)
    standing, api_url = standing_at(emulator, name=name)
    return Deployment(emulator=emulator, api_url=api_url, outputs=standing.outputs)


def remove(first: Deployment, *, purpose: str) -> None:
    """Deletes such a stack, with all that it holds."""
    stack.delete(first.emulator.url, name=stack_name(purpose))
