"""How a promise that was not kept is told."""


class Broken(AssertionError):
    """A promise was not kept."""


def require(holds: bool, otherwise: str) -> None:
    """Raises Broken with what is the case otherwise."""
    if not holds:
        raise Broken(otherwise)
