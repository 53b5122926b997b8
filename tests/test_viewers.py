"""Boards and marks: one contract over the table of viewers, then what each board shows."""

import base64
import html
import io
import random
import re
from html.parser import HTMLParser

import pytest

from backend.environments.catalog import CATALOG
from backend.records import Episode, Fault, Turn
from ui.badges import advantage
from ui.viewers import VIEWERS, catch, screen, terminal, transcript, viewer, wordle
from ui.written import BITMAP, as_json, attribute, block, number, seconds, text

HOSTILE = ("</div></script><script>window.pwned=1</script><img src=x onerror='pwned=1'>\x00\x1b[31m\u202eevil\ud800"
           "\"' &amp; ${x} {{y}}")
TAGS = {"div", "span", "b", "i", "em", "p", "svg", "path", "circle", "rect", "g", "details", "summary", "img"}


class Tags(HTMLParser):
    """Every tag and attribute of a piece of HTML, and whether all that was opened was closed."""

    def __init__(self, markup: str):
        super().__init__()
        self.tags, self.attributes, self.text, self.open, self.sources = set(), set(), "", [], []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources += [value for name, value in attrs if name == "src"]
        if tag != "img":  # it has no end
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def clean(markup: str, tags=frozenset(TAGS)) -> Tags:
    seen = Tags(markup)
    assert seen.tags <= tags
    assert not {name for name in seen.attributes if name.startswith("on") or name == "href"}
    assert all(BITMAP.fullmatch(source) for source in seen.sources)
    assert seen.open == []
    markup.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", markup)
    return seen


def episode(turns=(), environment="game", **more) -> Episode:
    more = {"status": "lost", **more}
    return Episode(id="1-0-0", step=1, group=0, sample=0, environment=environment, turns=tuple(turns), **more)


def guesses(*played: tuple[str, str], invalid: int = 0) -> list[Turn]:
    return [Turn(index=k, tool="guess", arguments={"guess": f"[{word}]"}, facts={
        "guesses": k + 1, "last_guess": word, "last_feedback": marks, "invalid_moves": invalid})
        for k, (word, marks) in enumerate(played)]


def falls(*places: tuple[int, int, int], **end) -> list[Turn]:
    return [Turn(index=k, tool="stay", facts={"rows": 10, "columns": 5, "ball_row": row, "ball_column": column,
                                              "paddle_column": paddle, **(end if k == len(places) - 1 else {})})
            for k, (row, column, paddle) in enumerate(places)]


def boards(*shown: str, **more) -> Episode:
    start, *after = shown
    return episode([Turn(index=k, tool="act", facts={"board": board}) for k, board in enumerate(after)],
                   start_facts={"board": start}, **more)


PIXEL = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
         "rkJggg==")


def typed(*calls: tuple[str, str], tool="bash", argument="command", **more) -> Episode:
    return episode([Turn(index=k, tool=tool, arguments={argument: command}, result=answer)
                    for k, (command, answer) in enumerate(calls)], **more)


def pictures(first: str | None, *shown: str | None, **more) -> Episode:
    return episode([Turn(index=k, tool="click", images=(url,) if url else (), facts={"url": f"http://page.example/{k}"})
                    for k, url in enumerate(shown)], images=(first,) if first else (), **more)


GRID = "12.." "34.." "...." "..2."

odd = {"guesses": HOSTILE, "last_guess": 7, "last_feedback": None, "rows": 10**12, "columns": float("nan"),
       "secret": HOSTILE, "ball_row": -1, "ball_column": True, "paddle_column": None, "caught": HOSTILE,
       "board": HOSTILE, HOSTILE: HOSTILE}
EPISODES = {
    "nothing happened": episode(),
    "words only": episode([Turn(index=0, said=HOSTILE)]),
    "hostile": episode([Turn(index=0, tool=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE, facts=odd,
                             fault=Fault(where="model", kind=HOSTILE, message=HOSTILE))] * 3,
                       facts=odd, start_facts=odd),
    "hostile guesses": episode(guesses((HOSTILE, HOSTILE), ("ab", "GQ")), start_facts={"guesses": 0}, facts={
        "secret": HOSTILE, "won": False}),
    "the environment broke": episode(status="env_error", fault=Fault(where="environment", kind="E", message=HOSTILE)),
    "wordle": episode(guesses(("crane", "GXYXX"), ("caper", "GGGGG")), facts={"won": True, "guesses": 2}),
    "endless wordle": episode(guesses(*[("crane", "GXYXX")] * 200)),
    "catch": episode(falls((1, 2, 2), (2, 2, 1), caught=False), facts={"caught": False}),
    "sudoku": boards(GRID, "123." + GRID[4:], "1234" + GRID[4:], facts={"won": False}),
    "a sudoku that shrinks": boards("." * 81, GRID, "9" * 81, "5" * 81),
    "text board": boards("a b\n. .\n\n", "a b\nX .\n", "", facts={"won": True, "done": True}),
    "huge text board": boards("x" * 5000 + "\n" * 500 + HOSTILE, HOSTILE + "\n" + HOSTILE),
    "terminal": typed(("ls -la", "total 8\n\x1b[34mdocs\x1b[0m\nREADME"), ("cat README", "Hello")),
    "hostile terminal": typed((HOSTILE, HOSTILE), ("yes", "y\n" * 300_000), ("a\nb", "50%\r100%")),
    "screen": pictures(PIXEL, None, PIXEL),
    "hostile pictures": pictures('data:image/png;base64,AA"onerror=x', "data:image/svg+xml;base64,AAAA", "http://x.example/a.png"),
    "facts on some turns only": episode([*falls((1, 2, 2)), Turn(index=1, said="hm"), *falls((2, 2, 1))]),
}


@pytest.mark.parametrize("name", VIEWERS)
@pytest.mark.parametrize("played", EPISODES.values(), ids=EPISODES)
def test_every_viewer_draws_a_thumbnail_of_any_episode(name, played):
    clean(VIEWERS[name].thumbnail(played))


@pytest.mark.parametrize("name", VIEWERS)
@pytest.mark.parametrize("played", EPISODES.values(), ids=EPISODES)
def test_every_viewer_draws_one_frame_for_the_start_and_one_for_each_turn(name, played):
    if not VIEWERS[name].draws(played):
        return
    frames = VIEWERS[name].frames(played)
    assert len(frames) in (0, len(played.turns) + 1)
    for frame in frames:
        assert "aria-label" in clean(frame).attributes


def test_every_environment_that_ships_names_a_viewer_that_exists():
    assert {entry.description.viewer for entry in CATALOG.values()} <= set(VIEWERS)


def test_an_episode_without_its_facts_falls_back_to_the_transcript():
    assert viewer(episode([Turn(index=0, tool="guess")]), "wordle") is transcript


def test_an_unknown_viewer_falls_back_to_one_that_can_draw_the_facts():
    assert viewer(EPISODES["wordle"], "no_such_viewer") is wordle
    assert viewer(EPISODES["catch"]) is catch
    assert viewer(EPISODES["words only"], "no_such_viewer") is transcript


# ----------------------------------------------------------------------------------------------------------- wordle


def spoken(frame: str) -> str:
    return html.unescape(re.search('aria-label="([^"]*)"', frame)[1])


def test_wordle_says_for_each_letter_what_is_known():
    frames = wordle.frames(EPISODES["wordle"])
    assert spoken(frames[0]) == "No guess yet"
    assert spoken(frames[1]) == "crane: right place, not in the word, other place, not in the word, not in the word"
    assert '<b class="o-tile o-new o-g" style="--nth:0">C<i>G</i></b>' in frames[1]


def test_wordle_flips_only_the_row_that_has_just_come():
    assert [frame.count("o-new") for frame in wordle.frames(EPISODES["wordle"])] == [0, 5, 5]


def test_the_keyboard_keeps_the_best_that_is_known_of_a_letter():
    frame = wordle.frames(episode(guesses(("caper", "YXXXX"), ("crane", "GXXXX"), ("cocoa", "XXXXX"))))[-1]
    assert '<b class="o-key o-g" title="c: right place">c</b>' in frame
    assert '<b class="o-key o-x" title="r: not in the word">r</b>' in frame
    assert '<b class="o-key">z</b>' in frame


def test_an_invalid_move_stands_beside_the_row_it_was_tried_for():
    tried = Turn(index=0, tool="guess", arguments={"guess": "[zzzzz]"}, facts={"guesses": 0, "invalid_moves": 1})
    played = episode([tried, *guesses(("crane", "GXYXX"), invalid=1)], start_facts={"guesses": 0, "invalid_moves": 0})
    start, first, second = wordle.frames(played)
    assert "zzzzz" not in start
    row = first.split("o-wordle-row")[1]
    assert 'class="o-invalid o-new" title="zzzzz">zzzzz<' in row
    assert "CRANE" not in first and "zzzzz" in second.split("o-wordle-row")[1]


def test_hundreds_of_invalid_moves_are_counted_and_the_last_two_named():
    turns = [Turn(index=k, tool="guess", arguments={"guess": f"[no{k}]"}, facts={"guesses": 0, "invalid_moves": k + 1})
             for k in range(300)]
    frame = wordle.frames(episode(turns, start_facts={"guesses": 0}))[-1]
    assert "298 more" in frame and "no298" in frame and "no299" in frame and "no297" not in frame


def test_the_secret_shows_at_the_end_and_not_before():
    ended = {"won": False, "guesses": 2, "secret": "cabin"}
    played = episode(guesses(("crane", "GXYXX"), ("caper", "GGXXX")), facts=ended)
    frames = wordle.frames(played)
    assert ["CABIN" in frame for frame in frames] == [False, False, True]


def test_a_solved_game_says_in_how_many_guesses():
    frames = wordle.frames(EPISODES["wordle"])
    assert "Solved in 2 guesses" in frames[-1] and "Solved" not in frames[-2]


def test_an_endless_game_shows_its_last_rows():
    assert wordle.frames(EPISODES["endless wordle"])[-1].count("o-wordle-row") == wordle.TALLEST


# ------------------------------------------------------------------------------------------------------------ catch


def test_catch_says_where_ball_and_paddle_are():
    frame = catch.frames(EPISODES["catch"])[1]
    assert spoken(frame) == "Ball in row 2 of 10, column 3 of 5; paddle in column 3"


def test_catch_draws_the_trail_and_how_it_ended():
    missed = catch.frames(EPISODES["catch"])[-1]
    assert missed.count("o-trail") == 1 and "o-missed" in missed and "Missed" in missed
    caught = catch.frames(episode(falls((9, 1, 1), caught=True), facts={"caught": True}))[-1]
    assert "o-caught" in caught and "Caught" in caught


def test_catch_shows_how_it_ended_at_the_turn_that_ended_it():
    late = Turn(index=1, tool="stay", fault=Fault(where="model", kind="after_the_end", message="no"))
    _, caught, after = catch.frames(episode([*falls((9, 1, 1), caught=True), late], facts={"caught": True}))
    assert "o-caught" in caught and "o-caught" in after


def test_an_unfinished_game_of_catch_is_neither_caught_nor_missed():
    frame = catch.frames(episode(falls((3, 1, 1)), facts={"caught": None}))[-1]
    assert "o-caught" not in frame and "o-missed" not in frame


# --------------------------------------------------------------------------------------------------------- terminal


@pytest.mark.parametrize("tool, argument, certain", [
    ("bash", "command", True), ("run_command", "cmd", True), ("execute-bash", "script", True), ("runShell", "command", True),
    ("terminal", "input", True), ("shell_exec", "code", True), ("move", "command", False), ("ask", "code", False),
    ("bash", "restart", False), ("bashful", "command", False), ("english", "input", False)])
def test_a_terminal_is_drawn_only_where_commands_are_surely_run(tool, argument, certain):
    assert terminal.draws(typed(("ls", ""), tool=tool, argument=argument)) == certain


def test_a_terminal_shows_command_and_output_without_colours_and_what_was_written_over():
    played = typed(("make\ntest", "\x1b[1;32mok\x1b[0m\n\x1b]0;title\x07 10%\r 55%\r100%\r\nab\bc"), start_facts={"cwd": "/src"})
    assert viewer(played) is terminal
    start, shown = terminal.frames(played)
    assert "nothing typed yet" in start
    assert Tags(shown).text == "/src$ make> testok100%ac"


def test_a_terminal_shows_the_last_screenful_and_how_a_command_failed():
    many = "\n".join(f"line {n}" for n in range(100))
    turn = Turn(index=1, tool="bash", arguments={"command": "false"}, result='{"stdout": "", "stderr": "no such file"}',
                facts={"exit_code": 1})
    frames = terminal.frames(episode([*typed(("seq 100", many)).turns, turn]))
    assert "line 99" in frames[1] and "line 50" not in frames[1] and frames[1].count("<span") == terminal.ROWS
    assert "no such file" in frames[2] and "exit 1" in frames[2] and "stdout" not in frames[2]
    assert "line 99" in frames[2] and "o-before" in frames[2]


# ----------------------------------------------------------------------------------------------------------- screen


def test_the_screen_shows_the_latest_picture_and_the_openings_at_the_start():
    other = PIXEL.replace("image/png", "image/gif")
    frames = screen.frames(pictures(PIXEL, None, other, facts={"won": True, "done": True}))
    assert [Tags(frame).sources for frame in frames] == [[PIXEL], [PIXEL], [other]]
    assert "http://page.example/1" in frames[2] and "Goal reached" in frames[2] and "Goal" not in frames[1]
    assert viewer(pictures(None, PIXEL)) is screen and "no picture yet" in screen.frames(pictures(None, PIXEL))[0]


def test_a_board_comes_before_pictures_unless_the_environment_names_the_screen():
    both = EPISODES["catch"].model_copy(update={"images": (PIXEL,)})
    assert viewer(both) is catch and viewer(both, "screen") is screen


def test_what_is_not_surely_a_bitmap_is_no_picture():
    assert viewer(EPISODES["hostile pictures"]) is transcript
    assert "<img" not in screen.thumbnail(EPISODES["hostile pictures"])


def test_lists_get_small_pictures():
    from PIL import Image

    noise = io.BytesIO()
    Image.frombytes("RGB", (800, 600), random.Random(0).randbytes(800 * 600 * 3)).save(noise, "PNG")
    large = f"data:image/png;base64,{base64.b64encode(noise.getvalue()).decode()}"
    assert len(large) > 1_000_000
    small = screen.thumbnail(pictures(None, large))
    assert len(small) < 20_000 and len(clean(small).sources) == 1
    broken = large[:40_000] + "=="
    assert "no picture" in screen.thumbnail(pictures(None, broken))


# ------------------------------------------------------------------------------------------------------------- text


def test_text_shows_what_cant_be_seen():
    shown = Tags(text("a\x00b\x1b[0m\r50%\u202ecod.exe\u200b\ud83d\x7f")).text
    assert shown == "aNULbESC[0mCR50%U+202Ecod.exeU+200B U+D83D DEL"


def test_text_leaves_ordinary_writing_alone():
    for ordinary in ("👩‍👩‍👧 naïve 测试 שלום نستعلیق", "two\nlines\tand a tab", "می‌خواهم"):
        assert text(ordinary) == ordinary
    assert text("windows\r\nline") == "windows\nline"


def test_a_long_text_is_whole_and_folded_in_the_middle():
    written = "\n".join(f"line {n} <b>" for n in range(20_000))
    shown = Tags(block(written))
    assert shown.tags == {"div", "details", "summary"}
    assert re.sub("Show all: [0-9,]+ more characters", "", shown.text) == written


def test_a_long_line_without_breaks_is_whole_too():
    written = "x" * 1_000_000
    assert Tags(block(written)).text.count("x") == 1_000_000


def test_an_attribute_cant_be_left():
    assert '"' not in attribute('a" onload="x')
    assert attribute("\x00\ud800") == "[NUL U+D800]"


def test_none_is_never_a_zero():
    assert "not scored" in number(None) and "0" not in number(None)
    assert number(0.0) == "0.00"


@pytest.mark.parametrize("value, shown", [(1.25, "1.25"), (-0.1, "−0.10"), (0.0042, "0.0042"), (-2e-6, "−2e-06"), (-1e-9, "0.00"),
                                          (1234567.0, "1.23e+06"), (float("inf"), "∞")])
def test_numbers_read_well(value, shown):
    assert number(value) == shown


def test_signs_are_shown_where_asked_for():
    assert number(1.42, signed=True) == "+1.42" and number(0.0, signed=True) == "0.00"
    assert number(7.5e-8, signed=True) == number(-5.551e-17) == "0.00" and number(2e-6) == "2e-06"
    assert advantage(-1e-9) == '<span class="o-muted">0.00</span>'


@pytest.mark.parametrize("value, shown", [(0.05, "50 ms"), (0.83, "0.8 s"), (125, "2 min 5 s"), (4320, "1 h 12 min")])
def test_times_read_well(value, shown):
    assert seconds(value) == shown


def test_arguments_are_shown_as_sent():
    assert as_json({"guess": "[crane]", "n": 2**70}) == '{"guess": "[crane]", "n": 1180591620717411303424}'
    assert as_json({"ключ": None}) == '{"ключ": null}'
