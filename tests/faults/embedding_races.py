"""Who meets whom over documents and their vectors."""

from isolane.compactions import LEASE_S as LEASE_S_OF_COMPACTIONS
from isolane.model_errors import ModelBusy
from tests.faults import acts
from tests.faults import embedding_acts as documents
from tests.faults.acts import in_turn
from tests.faults.meeting import Meeting

_HANDED_IN = in_turn(documents.hand_in(), documents.take_documents)
_TWO_BATCHES = in_turn(_HANDED_IN, acts.wait(1), documents.hand_in(1), documents.take_documents)
_BOTH_EMBEDDED = in_turn(_TWO_BATCHES, documents.embed(), documents.embed(1))

EMBEDDING_RACES = (
    Meeting(
        name="two deliveries of the same documents",
        before=_HANDED_IN,
        actors={"A": documents.embed(), "B": documents.embed()},
        dying=("A",),
    ),
    Meeting(
        name="two batches of one owner",
        before=_TWO_BATCHES,
        actors={"A": documents.embed(), "B": documents.embed(1)},
        dying=("A",),
    ),
    Meeting(
        name="one batch is handed in twice",
        actors={"A": documents.hand_in_with_key, "B": documents.hand_in_with_key},
        dying=("A",),
    ),
    Meeting(
        name="handing in against embedding",
        actors={"A": documents.hand_in_with_key, "B": documents.embed_what_is_there},
        dying=("A", "B"),
    ),
    Meeting(
        name="merging against embedding",
        before=in_turn(_TWO_BATCHES, documents.embed()),
        actors={"A": documents.merge, "B": documents.embed(1)},
        dying=("A", "B"),
        most=300,
    ),
    Meeting(
        name="merging against a redelivery",
        before=_BOTH_EMBEDDED,
        actors={"A": documents.merge, "B": documents.embed()},
        most=300,
    ),
    Meeting(
        name="two merge vectors, one lapses",
        before=_BOTH_EMBEDDED,
        actors={"A": documents.merge, "B": documents.merge},
        time=LEASE_S_OF_COMPACTIONS + 3,
        dying=("A",),
        most=100,
    ),
    Meeting(
        name="an old merge against a newer one and a redelivery",
        before=_BOTH_EMBEDDED,
        actors={
            "A": documents.merge_after_its_lease,
            "B": in_turn(documents.merge_after_its_lease, documents.embed()),
        },
        most=300,
    ),
    Meeting(
        name="an old merge against a newer one and a redelivery, not the first",
        before=in_turn(_BOTH_EMBEDDED, documents.merge, documents.embed(), documents.embed(1)),
        actors={
            "A": documents.merge_after_its_lease,
            "B": in_turn(documents.merge_after_its_lease, documents.embed()),
        },
        most=300,
    ),
    Meeting(
        name="a late vector against its dead letter",
        script=(ModelBusy, ModelBusy, None),
        before=in_turn(_HANDED_IN, documents.embed(), acts.wait(60), documents.take_documents, documents.embed(1)),
        actors={"A": documents.embed(1), "B": documents.bury_documents},
    ),
)
