"""Deliberate faults, one small change of the text each, of kinds that were reported from the field.

`aim` names the part of the lab that is tried first (arguments of pytest); what gets past it meets the whole lab.
"""

from dataclasses import dataclass
from typing import TypeAlias

Aim: TypeAlias = tuple[str, ...]

_WALKS, _RACES, _CROWDS, _MODEL = (
    f"tests/faults/test_{name}.py" for name in ("walks", "interleavings", "crowds", "model")
)


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A fault: in `path`, the text `old`, which is there once, becomes `new`."""

    name: str
    stands_for: str
    """The field note of its kind."""
    path: str
    old: str
    new: str
    aim: Aim


_BLOCKS = "layers/isolane/isolane/blocks.py"
_COMPACTIONS = "layers/isolane/isolane/compactions.py"
_EMBEDDING_WORKER = "functions/embeddings/worker.py"
_VECTORS = "layers/isolane/isolane/vectors.py"
_TASKS = "layers/isolane/isolane/tasks.py"
_TASK = "layers/isolane/isolane/task.py"
_DELIVERY = "layers/isolane/isolane/delivery.py"
_OBJECTS = "layers/isolane/isolane/objects.py"
_RESERVATIONS = "layers/isolane/isolane/reservations.py"
_SUBMISSIONS = "layers/isolane/isolane/submissions.py"

MUTATIONS = (
    Mutation(
        name="a claim takes what is not free",
        stands_for="A13: the mapping above a queue delivers twice",
        path=_TASKS,
        old='when=f"{THE_SAME_SUBMISSION} AND {FREE} AND {IN_TIME} AND {HAS_ATTEMPTS_LEFT}"',
        new='when=f"{THE_SAME_SUBMISSION} AND {UNFINISHED} AND {IN_TIME} AND {HAS_ATTEMPTS_LEFT}"',
        aim=(_RACES, "-k", "two and deliveries"),
    ),
    Mutation(
        name="completion is not conditional",
        stands_for="A15: a stale run writes last",
        path=_TASKS,
        old="self._finish(task, completed, when=STILL_MINE)",
        new='self._finish(task, completed, when="attribute_exists(#task_id)")',
        aim=(_RACES, "-k", "cancel and delivery"),
    ),
    Mutation(
        name="the claim's id is not checked",
        stands_for="E7, E12: a release without an owner",
        path=_TASKS,
        old='STILL_MINE = "#status = :processing AND #claim = :claim"',
        new='STILL_MINE = "#status = :processing"',
        aim=(_RACES, "-k", "lapses"),
    ),
    Mutation(
        name="the submission's nonce is not checked",
        stands_for="E18: a late payment overwrites who came after",
        path=_TASKS,
        old='when=f"{THE_SAME_SUBMISSION} AND {FREE} AND {IN_TIME} AND {HAS_ATTEMPTS_LEFT}"',
        new='when=f"{FREE} AND {IN_TIME} AND {HAS_ATTEMPTS_LEFT}"',
        aim=(_RACES, "-k", "key and old and message"),
    ),
    Mutation(
        name="a claim is counted for nothing",
        stands_for="A21: a failing message is retried for ever",
        path=_TASKS,
        old='"#attempt = #attempt + :one, #started_at_ms',
        new='"#attempt = #attempt + :one - :one, #started_at_ms',
        aim=(_WALKS, "-k", "deliver and kept"),
    ),
    Mutation(
        name="a claim given up untried keeps its attempt",
        stands_for="A9: fewer real attempts than the limit",
        path=_TASKS,
        old='"uncounted": 0 if attempted else 1',
        new='"uncounted": 0',
        aim=(_MODEL,),
    ),
    Mutation(
        name="the deadline is not in the claim's condition",
        stands_for="I10: overdue tasks become failed, and stay so",
        path=_TASKS,
        old='IN_TIME = "#deadline_ms > :now_ms"',
        new='IN_TIME = "#deadline_ms > :one"',
        aim=(_WALKS, "-k", "deadline and deliver"),
    ),
    Mutation(
        name="a time-out overwrites what is terminal",
        stands_for="A15, G17: two ends of one task",
        path=_TASKS,
        old='when = f"{UNFINISHED} AND {PAST_ITS_DEADLINE} AND {THE_SAME_SUBMISSION}"',
        new='when = f"{PAST_ITS_DEADLINE} AND {THE_SAME_SUBMISSION}"',
        aim=(_RACES, "-k", "readers"),
    ),
    Mutation(
        name="a dead letter fails what a human has in hand",
        stands_for="E18: a compensation arrives late (found by this lab)",
        path=_TASKS,
        old='self._fail(task, problem, when=f"{A_WORKERS} AND {THE_SAME_SUBMISSION}")',
        new='self._fail(task, problem, when=f"{UNFINISHED} AND {THE_SAME_SUBMISSION}")',
        aim=(_RACES, "-k", "review"),
    ),
    Mutation(
        name="an expired row keeps its key",
        stands_for="B1, B2: TTL deletes late, and what has expired counts as there",
        path=_TASKS,
        old='"(attribute_not_exists(#task_id) OR #expires_at <= :now_s)"',
        new='"attribute_not_exists(#task_id)"',
        aim=(_WALKS, "-k", "again and kept"),
    ),
    Mutation(
        name="an expired value still answers",
        stands_for="B1: TTL deletes late",
        path="layers/isolane/isolane/kv.py",
        old='if row is None or "value" not in row or row["expires_at"] <= self.clock():',
        new='if row is None or "value" not in row:',
        aim=(_MODEL,),
    ),
    Mutation(
        name="the time to live is in milliseconds",
        stands_for="B3: nothing ever expires",
        path="layers/isolane/isolane/ending.py",
        old='"ttl": expires_at + REMEMBERED_S,',
        new='"ttl": (expires_at + REMEMBERED_S) * 1000,',
        aim=(_WALKS, "-k", "cancel and not canceled"),
    ),
    Mutation(
        name="a lost answer of a claim is not recognised",
        stands_for="B8: refused by one's own write",
        path=_TASK,
        old="if task.status is Status.PROCESSING and task.claim == claim:",
        new="if task.status is Status.PROCESSING and task.claim is None:",
        aim=(_WALKS, "-k", "costs"),
    ),
    Mutation(
        name="a claim's end is told in seconds",
        stands_for="D4: seconds compared with milliseconds",
        path=_DELIVERY,
        old="self.tasks.now_ms() + int(until.left_s() * 1000)",
        new="self.tasks.now_ms() + int(until.left_s())",
        aim=(_WALKS, "-k", "deliver and kept"),
    ),
    Mutation(
        name="the receive count is read as attempts",
        stands_for="A9, A10, A11: dead-lettered without having been tried",
        path=_DELIVERY,
        old="if self.task.attempt >= self.max_attempts:",
        new='if int(self.message.record["attributes"]["ApproximateReceiveCount"]) >= self.max_attempts:',
        aim=(_WALKS, "-k", "busy"),
    ),
    Mutation(
        name="a message whose row is not there yet is acknowledged",
        stands_for="A19: a message disappears",
        path=_DELIVERY,
        old="case NoRow() if message.age_s > NEVER_WRITTEN_S:",
        new="case NoRow():",
        aim=(_RACES, "-k", "own"),
    ),
    Mutation(
        name="the task fails before its dead letter is sent",
        stands_for="G10: the second step never comes",
        path=_DELIVERY,
        old="        self.message.dead_letter(problem.code)\n        return self.tasks.fail(self.task, problem)\n",
        new="        task = self.tasks.fail(self.task, problem)\n"
        "        self.message.dead_letter(problem.code)\n        return task\n",
        aim=(_WALKS, "-k", "rejects"),
    ),
    Mutation(
        name="the row is written before the message is sent",
        stands_for="G4: charged, never enqueued",
        path=_SUBMISSIONS,
        old="            self._send(new, submission.text)\n        return self._written(new, submission)\n",
        new="            made = self._written(new, submission)\n            self._send(new, submission.text)\n"
        "            return made\n        return self._written(new, submission)\n",
        aim=(_WALKS, "-k", "submit and kept"),
    ),
    Mutation(
        name="a replay does not look at the body",
        stands_for="D5: another payload under the same key",
        path=_SUBMISSIONS,
        old="if earlier.fingerprint != submission.fingerprint:",
        new="if not earlier.fingerprint:",
        aim=(_RACES, "-k", "other"),
    ),
    Mutation(
        name="what completed no task is cached",
        stands_for="F17: results that nobody accepted are cached",
        path="functions/scoring/worker.py",
        old="if task.status is Status.COMPLETED:",
        new="if task.terminal:",
        aim=(_RACES, "-k", "cancel and delivery"),
    ),
    Mutation(
        name="a review is lent to two",
        stands_for="E10: capacity check and take are separate steps",
        path=_TASKS,
        old='when=f"{IN_REVIEW} AND {IN_TIME} AND {NOBODY_ELSES}"',
        new='when=f"{IN_REVIEW} AND {IN_TIME}"',
        aim=(_RACES, "-k", "reviewers"),
    ),
    Mutation(
        name="a verdict counts without its lease",
        stands_for="E1: a paused holder acts after its lease went to another",
        path=_TASKS,
        old='when = f"{IN_REVIEW} AND {IN_TIME} AND {STILL_THEIRS}"',
        new='when = f"{IN_REVIEW} AND {IN_TIME}"',
        aim=(_MODEL,),
    ),
    Mutation(
        name="a verdict overwrites a cancellation",
        stands_for="A15, G17: two ends of one task",
        path=_TASKS,
        old='when = f"{IN_REVIEW} AND {IN_TIME} AND {STILL_THEIRS}"',
        new="when = STILL_THEIRS",
        aim=(_RACES, "-k", "verdict"),
    ),
    Mutation(
        name="what nobody judged is not due",
        stands_for="I10, E16: nobody sweeps what is overdue",
        path=_TASKS,
        old='            "due": REVIEWS,\n',
        new='            "due": "nothing",\n',
        aim=(_WALKS, "-k", "judged"),
    ),
    Mutation(
        name="the text goes after the task is handed over",
        stands_for="G10: the second step never comes",
        path=_DELIVERY,
        old="        self.keep(self.job)\n"
        "        return self._ended(self.tasks.review(self.task, reason=reason, provisional=provisional))\n",
        new="        task = self._ended(self.tasks.review(self.task, reason=reason, provisional=provisional))\n"
        "        self.keep(self.job)\n        return task\n",
        aim=(_WALKS, "-k", "unreadable and kept"),
    ),
    Mutation(
        name="a suspected score is cached",
        stands_for="F8, F17: a text that dictates its marks gets them",
        path="functions/scoring/worker.py",
        old="            task = delivery.review(reason, provisional=scored.as_result())\n",
        new="            self._remember(scored, text, owner=delivery.task.owner, flight=flight)\n"
        "            task = delivery.review(reason, provisional=scored.as_result())\n",
        aim=(_WALKS, "-k", "suspected and kept"),
    ),
    Mutation(
        name="a letter is kept of what came to another end",
        stands_for="A10: dead-lettered for nothing (found by this lab)",
        path="functions/operations/dead_letters.py",
        old="if task is not None and task.status is not Status.FAILED:",
        new="if task is not None and not task.nonce:",
        aim=(_RACES, "-k", "dead"),
    ),
    Mutation(
        name="a model is asked without a permit",
        stands_for="E10: capacity is looked at, and not taken",
        path="functions/scoring/admission.py",
        old="            if held is None:",
        new="            if held is None and not watched.name:",
        aim=(_WALKS, "-k", "guarded and permit"),
    ),
    Mutation(
        name="an open breaker is not looked at",
        stands_for="F10: a provider that said when to come again is asked at once",
        path="functions/scoring/admission.py",
        old="if isinstance(verdict, Open):",
        new="if isinstance(verdict, Open) and not scorer.name:",
        aim=(_WALKS, "-k", "guarded and again"),
    ),
    Mutation(
        name="seats are taken while there is any left",
        stands_for="E10, E18: the check and the taking are two steps",
        path=_RESERVATIONS,
        old="OR #available >= :seats)",
        new="OR #available >= :one)",
        aim=(_WALKS, "-k", "few and kept"),
    ),
    Mutation(
        name="a request is decided anew",
        stands_for="B9: a write sent again counts again",
        path=_RESERVATIONS,
        old='UNDECIDED = "attribute_not_exists(#pk)"',
        new='UNDECIDED = "(attribute_not_exists(#pk) OR attribute_exists(#pk))"',
        aim=(_RACES, "-k", "sent"),
    ),
    Mutation(
        name="a rejection is recorded over what was decided meanwhile",
        stands_for="A15: a stale run writes last",
        path=_RESERVATIONS,
        old="Put(self.table, to_row(rejected), when=UNDECIDED)",
        new="Put(self.table, to_row(rejected))",
        aim=(_RACES, "-k", "sent"),
    ),
    Mutation(
        name="seats come back twice",
        stands_for="E7, G8: a release doubled",
        path=_RESERVATIONS,
        old='STILL_RESERVED = "#decision = :accepted AND attribute_not_exists(#canceled_at_ms)"',
        new='STILL_RESERVED = "#decision = :accepted"',
        aim=(_RACES, "-k", "give and same"),
    ),
    Mutation(
        name="a conflict is told as full",
        stands_for="B11: a contended transaction fails after one try",
        path=_RESERVATIONS,
        old="            return decide(refusal)\n        return mine\n",
        new="            return decide(refusal)\n        except Exception:\n"
        "            return self._seats(mine.workshop)\n        return mine\n",
        aim=(_WALKS, "-k", "reserve and kept"),
    ),
    Mutation(
        name="a capacity is lowered without looking",
        stands_for="E10: the check and the change are two steps",
        path=_RESERVATIONS,
        old="OR #reserved <= :capacity)",
        new="OR #reserved >= :zero)",
        aim=(_RACES, "-k", "smaller"),
    ),
    Mutation(
        name="a flight is boarded over a living one",
        stands_for="F10: equal texts at once are each paid for",
        path="layers/isolane/isolane/flight.py",
        old='NOTHING_THERE = "(attribute_not_exists(#key) OR #expires_at <= :now_s)"',
        new='NOTHING_THERE = "(attribute_not_exists(#value) OR #expires_at <= :now_s)"',
        aim=(_RACES, "-k", "equal"),
    ),
    Mutation(
        name="a flight that fails is not given up",
        stands_for="E4: capacity that nobody gives back until its lease lapses",
        path="layers/isolane/isolane/flight.py",
        old="if isinstance(found, Flight) and not found.landed:",
        new="if isinstance(found, Flight) and found.landed:",
        aim=("tests/contract/test_flight.py", "-k", "moto"),
    ),
    Mutation(
        name="a part's score is not kept",
        stands_for="F10: a redelivery pays for what was paid",
        path="functions/scoring/parts.py",
        old="        self.kept.keep(text, score, scorer=self.name, form=form)\n",
        new="",
        aim=("tests/contract/test_long_texts.py", "-k", "moto and twice"),
    ),
    Mutation(
        name="an object is written whatever its version",
        stands_for="E19, B19: two writers both succeed",
        path=_OBJECTS,
        old='THE_SAME_VERSION = "#version = :seen"',
        new='THE_SAME_VERSION = "#version >= :seen"',
        aim=(_RACES, "-k", "commands and value"),
    ),
    Mutation(
        name="state is created over what is there",
        stands_for="A15: a stale run writes last",
        path=_OBJECTS,
        old='NEW = "attribute_not_exists(#pk)"',
        new='NEW = "(attribute_not_exists(#pk) OR attribute_exists(#pk))"',
        aim=(_RACES, "-k", "two and value"),
    ),
    Mutation(
        name="a command is carried out again",
        stands_for="B9: a change sent again counts again",
        path=_OBJECTS,
        old="attribute_not_exists(#key) OR #expires_at <= :now_s",
        new="attribute_not_exists(#key) OR #expires_at >= :now_s",
        aim=(_RACES, "-k", "sent"),
    ),
    Mutation(
        name="a command's answer is kept for any call",
        stands_for="D5: another payload under the same key",
        path=_OBJECTS,
        old='if command["fingerprint"] != call.fingerprint:',
        new='if not command["fingerprint"]:',
        aim=(_RACES, "-k", "calls"),
    ),
    Mutation(
        name="an alarm that was moved rings all the same",
        stands_for="E18: a compensation arrives late",
        path=_OBJECTS,
        old="if row is None or row.get(ALARM) != alarm.at_ms:",
        new="if row is None or row.get(ALARM) is None:",
        aim=(_RACES, "-k", "alarm and moving"),
    ),
    Mutation(
        name="the sweeper forgets an alarm that was moved meanwhile",
        stands_for="B2: deleted after somebody else has renewed it",
        path="layers/isolane/isolane/alarms.py",
        old='STILL_AT_THAT_TIME = "#alarm_at_ms = :at_ms"',
        new='STILL_AT_THAT_TIME = "#alarm_at_ms >= :at_ms"',
        aim=(_RACES, "-k", "sweeper and moving"),
    ),
    Mutation(
        name="a document is marked before its vector is there",
        stands_for="A15: done is told before it is",
        path=_EMBEDDING_WORKER,
        old="""        self._add([it for it in settled if not isinstance(it.end, Problem)])
        for batch_id""",
        new="""        for batch_id""",
        aim=(_WALKS, "-k", "embed"),
    ),
    Mutation(
        name="a document that fails takes its neighbours with it",
        stands_for="A4: one bad body blocks its batch mates",
        path=_EMBEDDING_WORKER,
        old="            if not isinstance(result, ModelError):",
        new="            if not any(isinstance(each, ModelError) for each in found):",
        aim=(_WALKS, "-k", "embed"),
    ),
    Mutation(
        name="the older version of a document stays",
        stands_for="A15: a stale run writes last",
        path=_BLOCKS,
        old="found[entry.document_id][0] < entry.version",
        new="found[entry.document_id][0] > entry.version",
        aim=(_WALKS, "-k", "older or merge"),
    ),
    Mutation(
        name="a merge does not ask whether another has merged since",
        stands_for="E1, A15: a paused holder acts on what it has seen before",
        path=_VECTORS,
        old='SAME_GENERATION = "#generation = :seen"',
        new='SAME_GENERATION = "(#generation = :seen OR attribute_exists(#generation))"',
        aim=(_RACES, "-k", "merge and first"),
    ),
    Mutation(
        name="the first merge does not ask whether it is the first",
        stands_for="E1, A15: the same, where nothing was merged before",
        path=_VECTORS,
        old='FIRST_GENERATION = "attribute_not_exists(#generation)"',
        new='FIRST_GENERATION = "(attribute_not_exists(#generation) OR attribute_exists(#generation))"',
        aim=(_RACES, "-k", "merge and not first"),
    ),
    Mutation(
        name="blocks go before the one that they are merged into is there",
        stands_for="G10: the second step never comes",
        path=_VECTORS,
        old="        try:\n            transact(\n",
        new='        for key in merge.sources:\n            self.table.delete({"pk": pk, "sk": key})\n'
        "        try:\n            transact(\n",
        aim=(_WALKS, "-k", "merge"),
    ),
    Mutation(
        name="of the blocks that are merged only the last is kept",
        stands_for="E19, B19: what another has added is lost",
        path=_BLOCKS,
        old="        entries += mine\n",
        new="        entries = mine\n",
        aim=(_WALKS, "-k", "merge"),
    ),
    Mutation(
        name="a document goes with the block that another block is to keep it for",
        stands_for="E1: two views of who keeps what",
        path=_BLOCKS,
        old="found[entry.document_id] = (entry.version, block.key)",
        new="found[entry.document_id] = (entry.version, blocks[-1].key)",
        aim=(_WALKS, "-k", "merge"),
    ),
    Mutation(
        name="a search does not look whether blocks were merged under its eyes",
        stands_for="B8: pages of two times are taken for one",
        path=_VECTORS,
        old="            if generation == seen:",
        new="            if generation >= seen:",
        aim=("tests/contract/test_vectors.py", "-k", "moto and begins_anew"),
    ),
    Mutation(
        name="two merge for one owner at once",
        stands_for="E10: capacity is looked at, and not taken",
        path=_COMPACTIONS,
        old='with at_most(self.permits, 1, name=f"compaction#{owner}"',
        new='with at_most(self.permits, 2, name=f"compaction#{owner}"',
        aim=("tests/contract/test_vectors.py", "-k", "moto and one_at_a_time"),
    ),
    Mutation(
        name="what was asked for while it was being done is forgotten",
        stands_for="B2: deleted after somebody else has renewed it",
        path=_COMPACTIONS,
        old='NOT_ASKED_AGAIN = "#asked = :asked"',
        new='NOT_ASKED_AGAIN = "(#asked = :asked OR attribute_exists(#asked))"',
        aim=("tests/contract/test_vectors.py", "-k", "moto and done_again"),
    ),
)
