"""The deliberate faults can still be put in; whether the lab catches them, `make mutants` asks."""

import pytest

from tests.faults.mutants import ROOT
from tests.faults.mutations import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_that_a_mutation_changes_is_there_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.path).read_text().count(mutation.old) == 1


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_readme_says_what_catches_it(mutation: Mutation) -> None:
    assert (ROOT / "README.md").read_text().count(f"| {mutation.name} | {mutation.stands_for} | `test_") == 1


def test_there_are_at_least_ten_of_different_names() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 10
