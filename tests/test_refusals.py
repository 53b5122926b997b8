"""What a record refuses is one sentence of ours, wherever people see it; never the library's words."""

import json
import re
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend.errors import SpecError
from backend.exchange.importing import bring
from backend.launcher import load_spec
from backend.records import Episode, Match, RunSpec
from backend.refusals import refused
from backend.store import Store
from backend.store.spec_file import from_kept_yaml
from ui import arena, watch

LIBRARY = re.compile("Input should|String should|should have|at most \\d+ (item|character)|Field required|Extra inputs|"
                     "valid (string|integer|boolean|dictionary|list|number)|unable to|Value error|pydantic|does not match",
                     re.IGNORECASE)


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")
    word: str = Field("ab", min_length=2, max_length=4)
    few: list[int] = Field([1, 2], min_length=2, max_length=3)
    one: list[int] = Field([1], max_length=1)
    many: int = Field(1, ge=0, le=9)
    part: float = Field(0.5, gt=0, lt=1, allow_inf_nan=False)
    even: int = Field(2, multiple_of=2)
    sure: bool = True
    which: Literal["a", "b"] = "a"
    either: int | str = 1
    fact: bool | int | float | str | None = None
    options: dict[str, int] = {}
    needed: Annotated[str, Field(description="What it is called.")]


@pytest.mark.parametrize(("given", "sentence"), [
    ({"word": "a"}, "word: must have at least 2 characters"),
    ({"word": "abcde"}, "word: is longer than 4 characters; shorten it"),
    ({"word": 5}, "word: must be text, not 5; put it in quotes"), ({"few": [1]}, "few: needs at least 2 entries"),
    ({"few": [1, 2, 3, 4]}, "few: has more than 3 entries; leave some out"),
    ({"one": [1, 2]}, "one: has more than one entry; leave some out"),
    ({"few": "ab"}, "few: must be a list, not 'ab'; write it as lines that begin with a dash"),
    ({"few": [1, "x"]}, "few.1: must be a whole number, not 'x'"), ({"many": 10}, "many: must be at most 9, not 10"),
    ({"many": 0.5}, "many: must be a whole number, not 0.5"), ({"many": "many"}, "many: must be a whole number, not 'many'"),
    ({"part": 1}, "part: must be below 1.0, not 1"), ({"part": float("nan")}, "part: must be a finite number, not nan"),
    ({"part": []}, "part: must be a number, not a list"), ({"even": 3}, "even: must be a multiple of 2, not 3"),
    ({"sure": "perhaps"}, "sure: must be true or false, not 'perhaps'"), ({"which": "c"}, "which: must be 'a' or 'b', not 'c'"),
    ({"either": []}, "either: must be a whole number or text, not a list"),
    ({"fact": {}}, "fact: must be true or false, a whole number, a number or text, not a mapping"),
    ({"options": 3}, "options: must hold fields, not 3"), ({"options": {"k": "x"}}, "options.k: must be a whole number, not 'x'"),
    ({"manny": 1}, "manny: there is no such field; did you mean many?"),
    ({"word": "\ud800"}, "word: holds half of a character (a lone surrogate); write the character itself"),
    ({"needed": None}, "needed: must be text, not nothing; put it in quotes"),
    ({"many": 10, "sure": "x", "which": "c"}, "many: must be at most 9, not 10 (also wrong: sure, which)")])
def test_each_kind_of_mistake_has_a_sentence_of_ours(given, sentence):
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({"needed": "x"} | given)
    assert str(refused(caught.value, Everything)) == sentence
    assert not LIBRARY.search(str(refused(caught.value)))


@pytest.mark.parametrize(("given", "sentence"), [
    ({"train": {"steps": None, "group_size": None}},
     "train.steps: must be a whole number, not nothing (also wrong: train.group_size)"),
    ({"name": 5, "model": 5}, "name: must be text, not 5; put it in quotes (also wrong: model)")])
def test_fields_that_hold_the_same_are_told_apart(given, sentence):
    with pytest.raises(ValidationError) as caught:
        RunSpec.model_validate({"environments": [{"id": "catch", "use": "catch"}]} | given)
    assert str(refused(caught.value, RunSpec)) == sentence


def test_what_is_missing_is_said_with_what_it_is():
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({})
    assert str(refused(caught.value, Everything)) == "needed: is missing; what it is called"


@pytest.mark.parametrize("changes", [
    {"match": {"players": []}}, {"match": {"players": [{"kind": "script", "name": "random"}] * 13}},
    {"match": {"players": [{"kind": "script", "name": "a", "label": "x" * 61}]}}, {"match": {"players": [{"kind": "odd"}]}},
    {"match": {"players": [{}]}}, {"match": {"players": [{"kind": "script", "name": "a"}], "held_out": 0}},
    {"train": {"steps": "x"}}, {"train": 3}, {"environments": []}, {"environments": [{"id": "a", "use": "b", "max_turns": 0}]},
    {"environments": [{"id": "a", "use": "b", "tasks": {"indices": [[]]}}]}, {"rewards": [{"name": "a" * 60, "value": "1"}]},
    {"generation": {"engine": "x"}}, {"seed": 1.5}, {"modle": "x"}, {"train": {"extra": [1]}}])
def test_no_spec_is_refused_in_the_librarys_words(changes):
    asked = {"name": "a", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}]} | changes
    with pytest.raises(SpecError) as caught:
        load_spec(json.dumps(asked) + "\n")
    assert caught.value.field and not LIBRARY.search(str(caught.value)), str(caught.value)
    if "modle" not in changes:
        with pytest.raises(SpecError, match="spec.yaml can't be read: ") as caught:
            from_kept_yaml(json.dumps(asked))
        assert not LIBRARY.search(str(caught.value)), str(caught.value)


def test_an_imported_line_and_an_address_are_refused_in_our_words(tmp_path):
    store, file = Store(tmp_path / "runs"), tmp_path / "x.jsonl"
    good = Episode(id="1-0-0", step=1, group=0, sample=0, environment="e", status="won").model_dump_json()
    wrong = [{"id": "1"}, json.loads(good) | {"status": "odd"}, json.loads(good) | {"facts": {"a": []}}]
    file.write_text("\n".join([good, *map(json.dumps, wrong)]) + "\n")
    reasons = [skip.reason for skip in bring(store, file, "jsonl").skipped]
    assert len(reasons) == 3 and not any(map(LIBRARY.search, reasons)), reasons
    for said in (watch.looked(store, {"run": "x" * 300}, True)["gone"],
                 watch.looked(store, {"view": {"smooth": 4}}, True)["gone"],
                 arena.looked(store, {"id": []}, True)["gone"]):
        assert "The address can&#x27;t be read: " in said and not LIBRARY.search(said), said


def test_the_records_themselves_need_nothing_else():
    with pytest.raises(ValidationError) as caught:
        Match.model_validate({"players": [{"kind": "script", "name": "a"}] * 2})
    assert str(refused(caught.value, Match)).startswith("two players are called a")
    with pytest.raises(ValidationError) as caught:
        RunSpec.model_validate([])
    assert str(refused(caught.value, RunSpec)).startswith("must hold fields such as name, ")


@pytest.mark.parametrize(("asked", "said"), [
    ({"train": {"seed": 1}}, "train.seed: there is no such field here; seed belongs at the top of the spec"),
    ({"group_size": 4}, "group_size: there is no such field here; group_size belongs under train"),
    ({"train": {"max_turns": 4}}, "max_turns belongs under environments"),
    ({"train": {"stpes": 1}}, "train.stpes: there is no such field; did you mean steps?")])
def test_a_field_at_the_wrong_place_is_told_its_place(asked, said):
    spec = {"name": "x", "model": "m", "environments": [{"id": "wordle", "use": "wordle"}]}
    with pytest.raises(ValidationError) as error:
        RunSpec.model_validate(spec | asked)
    assert said in str(refused(error.value, RunSpec))
