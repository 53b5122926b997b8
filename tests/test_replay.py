"""The Replay page without a browser: which episode an address opens, what its HTML says, and the list beside it."""

import html
import re
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from backend.errors import SpecError
from backend.records import Episode, Fault, RewardTerm, Turn
from backend.store import Store
from tests.recording import record, wordle_run
from tests.test_viewers import HOSTILE, TAGS, Tags, clean
from ui.episodes import Asked
from ui.player import Setting, player
from ui.replay import answer, group_of

PAGE = frozenset(TAGS | set("article header nav h1 h2 h3 a button aside table tbody thead tr th td small dl dt dd "
                            "output select option section ul li s figure form label input".split()))
VOID = re.compile(r"<(input|img|br)\b[^>]*>")


def seen(markup: str) -> Tags:
    """The page's text; fails where a tag, an attribute or a character got through that isn't ours."""
    links = [html.unescape(link) for link in re.findall(r'(?:href|action)="([^"]*)"', markup)]
    assert all(link.startswith(("/", "/episode", "/run")) and not link.startswith("//") for link in links)
    return clean(re.sub(r'(href)="[^"]*"', "", VOID.sub("", markup)), PAGE)


def played(id="1-0-0", step=1, group=0, sample=0, total=0.5, status="lost", turns=None, **more) -> Episode:
    turns = turns if turns is not None else [
        Turn(index=0, tool="guess", arguments={"guess": "[crane]"}, result="Feedback", tokens=12, seconds=0.05,
             facts={"guesses": 1, "last_guess": "crane", "last_feedback": "GXYXX", "won": False})]
    more = {"scores": {"win": total}, "advantage": total, "facts": {"guesses": 1, "won": status == "won"}, **more}
    return Episode(id=id, step=step, group=group, sample=sample, environment="wordle", status=status, total=total,
                   started=time.time(), turns=tuple(turns), **more)


@pytest.fixture
def run(store):
    return wordle_run(store, "first", rewards=[{"name": "win", "value": "1.0 if won else 0.0", "weight": 2}])


def ask(run, **query) -> dict[str, str]:
    return answer(Store(run.path.parent), Asked(run=run.id).to(**query).partition("?")[2])


def opened(page: dict[str, str]) -> tuple[str, int]:
    return re.search('data-id="([^"]*)"', page["player"])[1], int(re.search('data-turn="([0-9]+)"', page["player"])[1])


# --------------------------------------------------------------------------------------------------- what is opened


def test_an_address_opens_its_episode_at_its_turn(run):
    record(run, played(), played("1-0-1", sample=1, turns=[Turn(index=k, said=f"word {k}") for k in range(5)]))
    assert opened(ask(run, id="1-0-1", turn=3)) == ("1-0-1", 3)
    assert opened(ask(run, id="1-0-1", turn=0)) == ("1-0-1", 0)


def test_without_a_turn_it_opens_at_the_start_and_a_turn_too_far_is_the_last(run):
    record(run, played(turns=[Turn(index=k) for k in range(5)]))
    assert opened(ask(run, id="1-0-0"))[1] == 0
    assert opened(ask(run, id="1-0-0", turn=99))[1] == 5


def two_steps() -> list[Episode]:
    return [played("1-0-0", total=9.0), played("2-0-0", step=2, total=0.1),
            played("2-0-1", step=2, sample=1, total=0.7)]


def test_without_an_episode_the_best_of_the_newest_step_opens(run):
    record(run, *two_steps())
    assert opened(ask(run))[0] == "2-0-1"


def test_a_list_that_was_asked_for_opens_at_its_first(run):
    record(run, *two_steps())
    assert opened(ask(run, sort="-total"))[0] == "1-0-0"
    assert opened(ask(run, where="total < 0.5"))[0] == "2-0-0"


def test_without_a_run_the_newest_is_taken(run):
    record(run, played())
    assert opened(answer(Store(run.path.parent), "")) == ("1-0-0", 0)


@pytest.mark.parametrize("search, sentence, link", [
    ("run=nope", "called 'nope'", 'href="/"'),
    ("run=first&id=9-9-9", "no episode '9-9-9'", "/episode?run="),
    ("run=first&page=soon", "'soon' isn't a whole number", 'href="/episode?run=first"'),
])
def test_what_isnt_there_is_a_sentence_with_a_way_back(run, search, sentence, link):
    record(run, played())
    page = answer(Store(run.path.parent), search)["player"]
    assert sentence in seen(page).text and link in page


def test_a_run_without_episodes_says_when_they_come(run):
    page = ask(run)
    assert seen(page["player"]).text == "first›replay" and "No episode yet" in seen(page["list"]).text


# ---------------------------------------------------------------------------------------------------- what it says


def shown(episode: Episode, **setting) -> str:
    return player(episode, Setting(run="r", name="first", **setting))


def test_worth_is_value_times_weight_and_none_is_not_a_zero():
    terms = [RewardTerm(name="win", value="1.0", weight=2), RewardTerm(name="near", value="0.5")]
    text = seen(shown(played(scores={"win": 0.5, "near": None}, total=1.0, advantage=-0.25), terms=terms)).text
    assert "win0.50 × 2+1.00" in text and "nearnot scored" in text
    assert "Total1.00" in text and "Advantage−0.25" in text


def test_an_unscored_episode_says_that_the_environment_broke_it():
    broken = played(status="env_lost", total=None, advantage=None, scores={"win": None},
                    fault=Fault(where="environment", kind="SessionLost", message="gone", traceback="line 1\nline 2"))
    text = seen(shown(broken)).text
    assert "The environment broke this episode; it isn't scored and says nothing about the policy." in text
    assert "SessionLost" in text and "line 2" in text and "Totalnot scored" in text


def test_a_turn_says_what_was_thought_said_called_answered_and_changed():
    turn = Turn(index=0, thought="hm, hm", said="I try", tool="guess", arguments={"guess": "[crane]"}, result="whole",
                shown="part", reward=-0.5, tokens=84, model_seconds=0.8, seconds=0.05, cut=True, done=True,
                facts={"guesses": 1, "best_greens": 3})
    text = seen(shown(played(turns=[turn], start_facts={"guesses": 0, "best_greens": 2}))).text
    for words in ("Thought2 words; 84 tokens with what follows", "hm, hm", "SaidI try", 'guess{"guess": "[crane]"}',
                  "Resultwhole", "Model sawpart", "guesses0→1", "best_greens2→3", "0.8 s model", "50 ms environment",
                  "reward −0.50", "cut from the transcript by the token budget", "last move"):
        assert words in text


def test_only_facts_that_changed_are_told_and_true_is_not_one():
    turns = [Turn(index=0, facts={"n": 1, "same": "x"}), Turn(index=1, facts={"n": True, "same": "x"}), Turn(index=2)]
    text = seen(shown(played(turns=turns, facts={}, start_facts={"same": "x"}))).text
    assert "nunknown→1" in text and "n1→yes" in text and "same" not in text


def test_arguments_that_didnt_parse_are_shown_as_written():
    text = seen(shown(played(turns=[Turn(index=0, tool="guess", arguments='{"guess": [')]))).text
    assert 'guessnot valid JSON{"guess": [' in text


def test_the_prompt_is_there_in_every_shape_it_comes_in():
    prompt = ({"role": "system", "content": None}, {"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]})
    text = seen(shown(played(prompt=prompt))).text
    assert "Promptlook" in text and "base64,aGk=" in text and '"tool_calls"' in text and "System" not in text


def test_a_picture_is_drawn_only_if_it_is_surely_one():
    images = ("data:image/png;base64,aGk=", 'data:image/png;base64,"onload=x', "data:image/svg+xml;base64,aGk=",
              "https://example.com/x.png")
    page = shown(played(turns=[Turn(index=0, images=images)]))
    assert re.findall("<img src=\"([^\"]*)\"", page) == ["data:image/png;base64,aGk="]
    assert "example.com" in seen(page).text


def test_a_frame_that_stays_the_same_is_drawn_once():
    quiet = [Turn(index=k, said="hm") for k in range(100)]
    page = shown(played(turns=quiet, start_facts={"guesses": 0}, facts={"guesses": 0}))
    assert page.count("<figure") == 1 and 'data-from="0" data-to="100"' in page


def test_hostile_text_is_text_everywhere(run):
    fault = Fault(where="model", kind=HOSTILE, message=HOSTILE, traceback=HOSTILE)
    turn = Turn(index=0, said=HOSTILE, thought=HOSTILE, tool=HOSTILE, arguments={HOSTILE: [HOSTILE]}, result=HOSTILE,
                shown=HOSTILE + "!", facts={HOSTILE: HOSTILE}, fault=fault, images=(HOSTILE,))
    turns = [turn, turn.model_copy(update={"index": 1})]
    name = HOSTILE.replace("\ud800", "")
    record(run, *(played(f"{name}{n}", sample=n, turns=turns, task=HOSTILE, stop=HOSTILE, fault=fault, opening=HOSTILE,
                         fingerprint=f"{HOSTILE}{n}", prompt=({"role": HOSTILE, "content": HOSTILE},),
                         scores={name: 1.0}, facts={HOSTILE: HOSTILE}) for n in range(2)))
    page = ask(run)
    text = seen(page["player"]).text
    seen(page["list"])
    assert text.count("<script>window.pwned=1</script>") > 20
    first = re.search('<tr data-id="[^"]*" aria-current="true">.*?href="([^"]*)"', page["list"])[1]
    strip = group_of(Store(run.path.parent), urlsplit(html.unescape(first)).query)
    assert "2 different tasks" in seen(strip).text and strip.count('<a class="o-mini"') == 2


def test_a_long_episode_is_whole_and_quick(run):
    line = "lorem " * 800 + "\n"
    record(run, played(turns=[Turn(index=k, said=f"turn {k}", tool="echo", arguments={"k": k}, result=line)
                              for k in range(200)]))
    began = time.process_time()
    page = ask(run, id="1-0-0")["player"]
    took = time.process_time() - began
    assert seen(page).text.count("lorem ") == 160_000
    assert len(page) < 1_400_000 and took < 1.0


# -------------------------------------------------------------------------------------------------------- the list


def rows(page: dict[str, str]) -> list[str]:
    return re.findall('<tr data-id="([^"]*)"', page["list"])


def neighbour(page: dict[str, str], which: str) -> dict[str, list[str]] | None:
    found = re.search(f'href="([^"]*)" data-go="{which}"', page["player"])
    return found and parse_qs(urlsplit(html.unescape(found[1])).query)


def test_the_list_is_filtered_and_sorted_and_its_neighbours_follow(run):
    record(run, *(played(f"1-0-{n}", sample=n, total=n / 10, status="won" if n % 2 else "lost") for n in range(6)))
    page = ask(run, id="1-0-3", status="won", sort="total")
    assert rows(page) == ["1-0-1", "1-0-3", "1-0-5"]
    assert neighbour(page, "prev") == {"run": [run.id], "id": ["1-0-1"], "status": ["won"], "sort": ["total"]}
    assert neighbour(page, "next")["id"] == ["1-0-5"]
    assert neighbour(ask(run, id="1-0-5", status="won", sort="total"), "next") is None


def test_every_row_is_a_link_that_keeps_the_filter(run):
    record(run, *(played(f"1-{n}-0", group=n) for n in range(3)))
    page = ask(run, where="total > 0", group=1)
    link = re.search('<a class="o-link o-mono" href="([^"]*)"', page["list"])[1]
    assert parse_qs(urlsplit(html.unescape(link)).query) == {
        "run": [run.id], "id": ["1-1-0"], "where": ["total > 0"], "group": ["1"]}


def test_a_filter_that_cant_be_used_is_one_sentence_and_the_episode_stays(run):
    record(run, played())
    page = ask(run, id="1-0-0", where="wins > 3")
    assert opened(page)[0] == "1-0-0"
    assert "no column, fact or reward term is called 'wins'" in seen(page["list"]).text
    assert 'value="wins &gt; 3"' in page["list"]


def test_nothing_found_offers_to_clear_the_filters(run):
    record(run, played())
    page = ask(run, status="cancelled")
    assert "No episode matches" in seen(page["list"]).text and "Clear filters" in page["list"]


def test_pages_of_the_list(run):
    record(run, *(played(f"1-0-{n}", sample=n) for n in range(120)))
    first, last = ask(run), ask(run, page=3)
    assert len(rows(first)) == 50 and "1–50 of 120" in first["list"]
    assert len(rows(last)) == 20 and 'aria-current="page">3</a>' in last["list"]


def test_the_list_counts_the_turns_that_were_played_and_names_the_rest_apart(run):
    late = Fault(where="model", kind="after_the_end", message="The game is over.")
    turns = [Turn(index=0, tool="guess", result="ok"), Turn(index=1, tool="guess", fault=late),
             Turn(index=2, said="Thanks for playing.")]
    record(run, played("1-0-0", turns=turns), played("1-0-1", sample=1, turns=turns[:1]))
    listed = re.findall(r'<td class="o-right o-col-m">(\d+(?: <small.*?</small>)?)</td><td class="o-right o-col-m">',
                        ask(run)["list"])
    assert "1" in listed and sum(">+2</small>" in cell and cell.startswith("1 ") for cell in listed) == 1


def test_an_unscored_episode_is_not_a_zero_in_the_list(run):
    record(run, played(status="env_error", total=None, advantage=None, scores={"win": None}, turns=[]))
    assert "not scored" in ask(run)["list"] and "0.00" not in ask(run)["list"]


def test_the_group_is_sorted_by_total_with_this_one_marked(run):
    record(run, *(played(f"1-0-{n}", sample=n, total=total, fingerprint="same")
                  for n, total in enumerate((0.1, None, 0.9))), played("1-1-0", group=1))
    strip = group_of(Store(run.path.parent), f"run={run.id}&id=1-0-0")
    assert re.findall('data-id="([^"]*)"', strip) == ["1-0-2", "1-0-0", "1-0-1"]
    assert re.findall('data-id="([^"]*)" aria-current="true"', strip) == ["1-0-0"]
    assert "one task ✓" in strip and "mean total 0.50" in strip


@pytest.mark.parametrize(("fingerprints", "said"), [
    ((None, None), "can't be told"), (("~seen first", "~seen first"), "can't be told"), (("same", None), "can't be told"),
    (("one", "two"), "2 different tasks"), (("~one", "~two"), "2 different tasks")])
def test_a_groups_purity_is_not_claimed_where_it_is_not_known(run, fingerprints, said):
    record(run, *(played(f"1-0-{n}", sample=n, fingerprint=one) for n, one in enumerate(fingerprints)))
    strip = group_of(Store(run.path.parent), f"run={run.id}&id=1-0-0")
    assert said in strip and "one task ✓" not in strip


def test_a_step_played_again_after_a_resume_is_a_group_of_its_own(run):
    record(run, *(played(f"1-0-{n}", sample=n, fingerprint="first") for n in range(2)),
           *(played(f"1-0-{n}-r2", sample=n, attempt=2, fingerprint="second") for n in range(2)))
    strip = group_of(Store(run.path.parent), f"run={run.id}&id=1-0-0-r2")
    assert "attempt=2" in strip
    assert sorted(re.findall('data-id="([^"]*)"', strip)) == ["1-0-0-r2", "1-0-1-r2"] and "one task ✓" in strip


def test_a_lone_episode_has_no_group_to_show(run):
    record(run, played())
    assert group_of(Store(run.path.parent), f"run={run.id}&id=1-0-0") == ""
    assert group_of(Store(run.path.parent), "run=nope&id=1-0-0") == ""


# ------------------------------------------------------------------------------------------------------ the address


def test_an_address_read_and_written_is_the_same():
    asked = Asked(run="a b/ü", id="1&2", turn=0, where="won and x == '&'", sort="-total", page=2, step=0, group=3,
                  environment="e", status="won", phase="eval")
    assert Asked.read(asked.to().partition("?")[2]) == asked


def test_what_is_usual_or_unknown_isnt_in_an_address():
    assert Asked.read("?run=r&page=1&sort=-step&__theme=dark&turn=").to() == "/episode?run=r"


@pytest.mark.parametrize("search", ["turn=x", "page=²", "turn=99999999999999999999"])
def test_a_wrong_number_in_an_address_is_named(search):
    with pytest.raises(SpecError, match=search.partition("=")[0]):
        Asked.read(search)
