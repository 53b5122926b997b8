"""A class of one's own: trusted mode, TRL's contract with its fixes, and playing it on a server of its own."""

import re
from asyncio import gather, run
from pathlib import Path
from textwrap import dedent

import pytest

from backend.cli import main
from backend.environments import Task
from backend.environments.own_class import load
from backend.environments.own_class.contract import described as describe
from backend.environments.own_class.contract import documented
from backend.environments.playthrough import Playthrough
from backend.environments.sources import check, described, reach, settled, source
from backend.errors import EnvironmentFailed, ModelError, RewardError, SpecError
from backend.launcher import load_spec, resolve, validate
from backend.records import EnvironmentSpec

HUNT = f"python:{Path(__file__).parent / 'examples/number_hunt.py'}:NumberHunt"


@pytest.fixture
def trusted(monkeypatch):
    monkeypatch.setenv("ORTAM_TRUSTED", "1")


@pytest.fixture
def own(tmp_path, trusted):
    """Writes a class and gives its `use:`; what it leaves out of the contract is filled in."""

    def write(body: str, top: str = "", name: str = "Own") -> str:
        body = dedent(body).strip("\n")
        if "def reset" not in body:
            body += "\n\ndef reset(self, **kwargs) -> str | None:\n    return None"
        file = tmp_path / "own.py"
        inside = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
        file.write_text(f"{dedent(top)}\n\nclass {name}:\n{inside}\n")
        return f"python:{file}:Own"

    return write


GUESS = '''
def guess(self, number: int) -> str:
    """Guess.

    Args:
        number: What you think it is.
    """
    return "no"

def get_reward(self) -> float:
    return 0.5
'''


def spec(use: str, **more) -> EnvironmentSpec:
    return EnvironmentSpec(id="own", use=use, **more)


# ------------------------------------------------------------------------------------------------------- trusted mode


def test_without_trusted_mode_it_is_refused_in_one_sentence_wherever_it_is_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("ORTAM_TRUSTED", raising=False)
    for asked in (check, described, lambda spec: reach(spec, 1).__enter__()):
        with pytest.raises(SpecError, match="all your rights, so only trusted mode allows it; .* with --trusted") as no:
            asked(spec(HUNT))
        assert no.value.field == "use"
    (tmp_path / "spec.yaml").write_text(f"model: x\nenvironments: [{{id: own, use: '{HUNT}'}}]\n")
    assert main(["launch", str(tmp_path / "spec.yaml"), "--runs", str(tmp_path / "runs")]) == 2
    assert "environments.0.use: a class of your own runs with all your rights" in capsys.readouterr().err


def test_trusted_on_the_command_line_lets_it_through_to_the_next_check(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ORTAM_TRUSTED", "")
    (tmp_path / "spec.yaml").write_text(f"model: no/such/model\nenvironments: [{{id: own, use: '{HUNT}'}}]\n")
    assert main(["launch", "--trusted", str(tmp_path / "spec.yaml"), "--runs", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.startswith("model: ")


def test_a_run_keeps_the_whole_path_and_proposes_the_classs_own_reward(trusted, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    asked = load_spec("model: starter:catch\nenvironments: [{id: own, use: 'python:examples/number_hunt.py:NumberHunt'}]")
    kept = resolve(asked)
    assert kept.environments[0].use == settled(asked.environments[0]).use == HUNT
    assert [(term.name, term.value) for term in kept.rewards] == [("env_reward", "env_reward")]


def test_a_reward_term_may_speak_of_the_objects_attributes(trusted):
    text = f"model: starter:catch\nenvironments: [{{id: own, use: '{HUNT}'}}]\nrewards: [{{name: near, value: VALUE}}]"
    with pytest.raises(RewardError, match="closest"):
        validate(load_spec(text.replace("VALUE", "closest")), ask=True)
    with pytest.raises(ModelError):  # the next thing that is checked
        validate(load_spec(text.replace("VALUE", "nearest").replace("starter:catch", "no/model")), ask=True)


def test_a_class_that_proposes_no_reward_needs_a_term_in_the_spec(own):
    use = own("def __init__(self):\n    self.steps, self.far = 0, 1.5\n" + GUESS.split("def get_reward")[0])
    text = f"model: no/model\nenvironments: [{{id: own, use: '{use}'}}]"
    with pytest.raises(SpecError, match="own proposes no reward term of its own; write one .* such as steps, far") as no:
        validate(load_spec(text), ask=True)
    assert no.value.field == "rewards"
    with pytest.raises(ModelError):
        validate(load_spec(text + "\nrewards: [{name: far, value: 'far'}]"), ask=True)


def test_an_attribute_that_says_what_it_was_worth_is_proposed_as_the_reward(own):
    guess = GUESS.split("def get_reward")[0]
    for name, proposed in (("reward", ("reward", "reward")), ("won", ("won", "1.0 if won else 0.0"))):
        use = own(f"def __init__(self):\n    self.{name} = 0\n{guess}")
        assert describe(load(use), {}).rewards == (proposed,)


# ------------------------------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize("body, why, right", [
    ('def guess(self, number: int):\n    return ""', "guess has no docstring, and as a public method it is a tool",
     '    def guess(self, number: int) -> str:\n        """What it does.\n\n        Args:\n            number: What it is.'),
    ('def guess(self, number):\n    """Guess."""', "guess has no type hint for number", "def guess(self, number: str)"),
    ('def guess(self, number: int):\n    """Guess."""', "the docstring of guess says nothing of number under Args:",
     "            number: What it is."),
    ('def guess(self, *numbers: int):\n    """Guess."""', "guess takes *numbers: int", "def guess(self, numbers: int)"),
    ('def guess(self, **more: int):\n    """Guess."""', "guess takes **more: int", "def guess(self, more: int)"),
    ("def reset(self):\n    pass\n" + GUESS, "has a reset without **kwargs", "def reset(self, **kwargs) -> str | None:"),
    ("async def reset(self, **kwargs):\n    pass\n" + GUESS, "has an async reset", "    def reset(self, **kwargs)"),
    ("reset = 'def reset'\n" + GUESS, "has no method reset", "    def reset(self, **kwargs)"),
    ("def __init__(self, url):\n    pass\n" + GUESS, "takes arguments when it is made (url)", "def __init__(self):"),
    ("def close(self):\n    pass\n" + GUESS, "has a public method close, and so the player could call it",
     "    def _close(self):"),
    ("def helper(self):\n    pass\n" + GUESS, "helper has no docstring, and as a public method it is a tool whose "
     "description that is; write one, or name it _helper", ""),
    ("x = 1", "has no public method besides reset", "def act(self, move: str)"),
    (GUESS.split("def get_reward")[0], "has neither get_reward nor a public attribute", "def get_reward(self) -> float:"),
    ('def guess(self, number: "Nowhere"):\n    """Guess."""', "a type hint of guess can't be read: name 'Nowhere'", ""),
    ('def guess(self, number: Path):\n    """Guess.\n\n    Args:\n        number: x\n    """', None, ""),
    ('def guess(self, number: open):\n    """Guess.\n\n    Args:\n        number: x\n    """', "has no JSON Schema", ""),
])
def test_what_breaks_the_contract_is_said_with_the_lines_that_would_be_right(own, body, why, right):
    use = own(body.replace("Path", "Literal['a']"), "from typing import Literal")
    if why is None:
        use = own(body.replace("Path", "Literal['a']") + "\ndef get_reward(self):\n    return 1.0",
                  "from typing import Literal")
        assert describe(load(use), {}).tools[0].parameters["properties"]["number"] == {
            "const": "a", "description": "x", "type": "string"}
        return
    with pytest.raises(SpecError, match=re.escape(why)) as wrong:
        describe(load(use), {})
    assert wrong.value.field == "use" and "Own" in str(wrong.value) and right in str(wrong.value)


def test_an_object_that_cannot_be_made_is_named(own):
    with pytest.raises(SpecError, match=r"Own\(\) fails with ConnectionError: nobody there"):
        describe(load(own("def __init__(self):\n    raise ConnectionError('nobody there')\n" + GUESS)), {})


def test_an_argument_of_reset_has_to_be_an_option(own):
    use = own("def reset(self, level, **kwargs):\n    return None\n" + GUESS)
    with pytest.raises(SpecError, match="reset needs level; give it here, such as options: {level: ...}") as wrong:
        describe(load(use), {})
    assert wrong.value.field == "options"
    assert describe(load(use), {"level": 3}).tools[0].name == "guess"
    with pytest.raises(SpecError, match="seed is what reset is given anyway"):
        describe(load(use), {"level": 3, "seed": 1})


@pytest.mark.parametrize("use, why", [
    ("python:", "names no class; write a file or a module and a class in it"),
    ("python:my module:Own", "'my module' is neither a module nor a file that ends in .py"),
    ("python:nowhere/own.py:Own", "there is no file"),
    ("python:own.py:1", "names no class"),
])
def test_a_place_that_is_none_is_refused_before_anything_is_loaded(trusted, use, why):
    with pytest.raises(SpecError, match=re.escape(why)):
        check(spec(use))


@pytest.mark.parametrize("top, name, why", [
    ("import nowhere_to_be_found", "Own", "ModuleNotFoundError: No module named 'nowhere_to_be_found' (line 1)"),
    ("raise ValueError('not today')", "Own", "ValueError: not today (line 1)"),
    ("import sys; sys.exit(3)", "Own", "SystemExit: 3"),
    ("def", "Own", "SyntaxError: invalid syntax"),
    ("", "Owned", "has no class Own; did you mean Owned?"),
])
def test_a_module_that_cannot_be_loaded_says_why_and_where(own, top, name, why):
    with pytest.raises(SpecError, match=re.escape(why)):
        described(spec(own(GUESS, top, name)))


def test_a_module_that_ends_the_process_is_told_apart_and_its_words_are_kept(own):
    with pytest.raises(EnvironmentFailed, match="ended the process that loaded it(.|\n)*last words"):
        described(spec(own(GUESS, "import os; print('last words', flush=True); os._exit(0)")))


def test_a_module_by_name_is_found_where_it_is_installed(trusted):
    with pytest.raises(SpecError, match="json.decoder has no class Own; did you mean JSONDecode"):
        load("python:json.decoder:Own")
    with pytest.raises(SpecError, match="A module has to be installed for .* or lie in Ortam's folder; else name its file"):
        load("python:nowhere_at_all.sub:Own")


def test_a_class_is_described_as_it_is_on_disk_now_and_its_prints_do_not_matter(own):
    first = described(spec(own('"""Hunt.\n\nMore words."""\n' + GUESS, "print('hello')")))
    assert (first.title, first.about, first.rewards) == ("Own", "Hunt.", (("env_reward", "env_reward"),))
    assert first.prompt == "Hunt.\n\nMore words.\n\nUse the tool `guess`."
    again = described(spec(own("max_turns = 3\n" + GUESS.replace("guess(", "try_it("))))
    assert again.tools[0].name == "try_it" and again.max_turns == 3


def test_schemas_keep_everything_a_type_hint_says(own):
    use = own('''
        def act(self, move: Literal["up", "down"], path: list[int], where: Place, from_: str | None = None,
                title: str = "x", mode: str = "a") -> str:
            """Act
            at once.

            Args:
                move (str): Where to,
                    in one word.
                path: The steps.
                where: A place.
                from_: May be left out.
                title: A title.
                mode: How (choices: ["a", "b"])

            Returns:
                what: happened
            """

        @staticmethod
        def look(far: bool) -> str:
            """Look.

            Args:
                far: Whether far.
            """

        def get_reward(self):
            return 1
        ''', '''
        from dataclasses import dataclass
        from typing import Literal

        @dataclass
        class Place:
            title: str
            row: int
        ''')
    act, look = describe(load(use), {}).tools
    assert act.description == "Act\nat once."
    properties = act.parameters["properties"]
    assert properties["move"] == {"description": "Where to, in one word.", "enum": ["up", "down"], "type": "string"}
    assert properties["path"] == {"description": "The steps.", "items": {"type": "integer"}, "type": "array"}
    assert properties["from_"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None,
                                   "description": "May be left out."}
    assert properties["title"]["type"] == "string" and properties["mode"]["enum"] == ["a", "b"]
    assert properties["mode"]["description"] == "How"
    assert act.parameters["required"] == ["move", "path", "where"]
    assert act.parameters["$defs"]["Place"]["properties"] == {"title": {"type": "string"}, "row": {"type": "integer"}}
    assert list(look.parameters["properties"]) == ["far"]


def test_trl_would_tell_the_model_the_same_of_the_example():
    """transformers writes the schemas that TRL shows; ours may say more, never something else."""
    from transformers.utils import get_json_schema

    cls = load(HUNT)
    for tool in describe(cls, {}).tools:
        theirs = get_json_schema(getattr(cls(), tool.name))["function"]
        assert (theirs["name"], theirs["description"]) == (tool.name, tool.description)
        assert theirs["parameters"]["properties"] == tool.parameters["properties"]


@pytest.mark.parametrize("docstring, told, arguments", [
    ("Do it.", "Do it.", {}),
    ("Do it.\n\nReturns:\n    x: y", "Do it.", {}),
    ("Do it.\n\nArgs:\n    a: one: two\n    b (int): x\n      y: z\n\nReturns:\n    c: d", "Do it.",
     {"a": "one: two", "b": "x y: z"}),
    ("Args:\n    a:\n", "", {}),
])
def test_docstrings_are_read_as_google_writes_them(docstring, told, arguments):
    assert documented(docstring) == (told, arguments)


# -------------------------------------------------------------------------------------------------------------- playing


def play(use: str, *calls: tuple[str, dict], options: tuple[dict, ...] = ({},), at_once: int = 1) -> list[Playthrough]:
    """`at_once` episodes for each of the options, all on one server."""
    asked = spec(use)

    async def one(there, chosen: dict) -> Playthrough:
        episode = Playthrough(there, asked, pauses=())
        await episode.begin(Task("3", 3, chosen))
        for call in calls:
            await episode.call(*call)
        await episode.end()
        await episode.end()
        return episode

    async def all_of_them(there):
        return await gather(*(one(there, chosen) for chosen in options for _ in range(at_once)))

    with reach(asked, at_once * len(options) + 1) as address:
        return run(all_of_them(source(asked, address)))


def test_a_hunt_over_a_real_server_with_its_reward_asked_once_at_the_end(trusted):
    hunted, *others = play(HUNT, ("guess", {"number": 10}), ("guess", {"number": 90}), ("guess", {"number": "x"}),
                           ("give_up", {}), ("guess", {"number": 8}), at_once=4)
    assert hunted.opening == "I think of a number from 1 to 20."
    assert [turn.shown or turn.result for turn in hunted.turns] == [
        "Lower.", "Error: 90 isn't from 1 to 20.", "Wrong arguments for guess: number: 'x' is not of type 'integer'.",
        "It was 8.", "The game is over. Make no more calls."]
    assert hunted.turns[1].fault.kind == "ValueError" and "number_hunt.py" in hunted.turns[1].fault.traceback
    assert hunted.status() == "lost" and hunted.fault is None
    assert hunted.facts == {"won": False, "guesses": 1, "nearest": 2, "turns": 3, "tool_failures": 2, "done": True,
                            "env_reward": pytest.approx(0.5 / 3), "env_reward_total": pytest.approx(0.5 / 3)}
    assert [turn.reward for turn in hunted.turns] == [None] * 5
    assert all(other.facts == hunted.facts and other.fingerprint == hunted.fingerprint for other in others)


def test_a_class_without_a_reward_of_its_own_leaves_the_episode_to_the_terms(own):
    use = own("def __init__(self):\n    self.won = True\n" + GUESS.split("def get_reward")[0])
    played, = play(use, ("guess", {"number": 1}))
    assert played.status() == "finished" and played.fault is None and played.facts["won"] is True
    assert played.facts.get("env_reward") is None


def test_options_reach_reset_and_an_episode_without_a_call_is_scored(trusted):
    silent, = play(HUNT, options=({"highest": 5},))
    assert silent.opening == "I think of a number from 1 to 5." and silent.status() == "lost"
    assert silent.facts["env_reward"] == 0.0 and silent.facts["turns"] == 0


def test_slow_tools_of_many_episodes_run_side_by_side_each_in_a_thread_of_its_own(own):
    use = own('''
        def reset(self, **kwargs):
            self._thread = threading.get_ident()

        def rest(self) -> str:
            """Rest."""
            all_here.wait(60)
            return "same" if self._thread == threading.get_ident() else "other"

        def get_reward(self):
            return 1.0
        ''', "import threading\n\nall_here = threading.Barrier(16)  # nobody goes on before all have come")
    plays = play(use, ("rest", {}), ("rest", {}), at_once=16)
    assert [turn.result for each in plays for turn in each.turns] == ["same"] * 32


def test_what_goes_wrong_in_the_class_is_told_apart(own):
    use = own('''
        def __init__(self):
            self.mood = None

        def reset(self, mood="", **kwargs):
            self.mood = mood
            return {"raises": lambda: 1 / 0, "number": lambda: 7}.get(mood, lambda: "hello")()

        def leave(self) -> str:
            """Leave."""
            sys.exit("bye")

        def show(self) -> str:
            """Show."""
            one, two = {"type": "text", "text": "one"}, {"type": "text", "text": "two"}
            return [one, {"type": "image", "image": Picture()}, two]

        async def plain(self) -> str:
            """Plain."""
            return {"a": 1}

        def get_reward(self):
            return None if self.mood == "none" else float("nan") if self.mood == "nan" else [][1]

        def _close(self):
            open(f"{__file__}.{self.mood}", "w").close()
        ''', '''
        import sys

        class Picture:
            def save(self, into, format):
                into.write(b"png")
        ''')
    moods = ("raises", "number", "nan", "none", "index")
    raises, number, nan, none, index = play(use, ("leave", {}), ("show", {}), ("plain", {}),
                                            options=tuple({"mood": mood} for mood in moods))
    assert raises.status() == number.status() == "env_error" and raises.facts["env_reward"] is None
    assert raises.fault.message == "Own.reset failed: ZeroDivisionError: division by zero"
    assert "own.py" in raises.fault.traceback
    assert number.fault.message == "Own.reset failed: TypeError: it returned int; return a str, or None"

    assert [turn.result for turn in nan.turns] == ["Error: bye", "one\ntwo", "{'a': 1}"]
    assert nan.turns[0].fault.kind == "SystemExit" and nan.turns[1].images == ("data:image/png;base64,cG5n",)
    assert nan.status() == "finished" and nan.facts["mood"] == "nan" and nan.facts["tool_failures"] == 1
    assert nan.facts["env_reward"] is none.facts["env_reward"] is None and none.fault is None

    assert index.status() == "env_error" and "get_reward failed: IndexError" in index.fault.message
    assert "own.py" in index.fault.traceback
    assert sorted(file.suffix for file in Path(use.split(":")[1]).parent.glob("own.py.*")) == sorted(
        f".{mood}" for mood in moods)


def test_a_server_whose_class_cannot_be_loaded_says_why(own):
    with pytest.raises(EnvironmentFailed, match="ValueError: not today"), reach(
            spec(own(GUESS, "raise ValueError('not today')")), 1):
        pass
