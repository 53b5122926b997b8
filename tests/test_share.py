"""Files over HTTP: what is offered, sent as attachments, read only where the site is; uploads only from here."""

import contextlib
import io
import json
import re
import resource
import sqlite3
import time
from html import escape, unescape
from urllib.parse import parse_qs, urlencode

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from backend.exchange import lines
from backend.launcher import Launcher
from backend.records import Episode, Turn
from backend.store.codec import MISSING
from tests.recording import facts_after, record, wordle_run
from ui.replay import answer
from ui.share import FORMATS, gif, pictures
from ui.share import html as page
from ui.share.curve import figure
from ui.share.document import policy
from ui.share.menu import sized
from ui.share.pictures import letters, paper
from ui.share.routes import MOST
from ui.share_button import button
from ui.written import named

ATTACK = "</script><script>window.__pwn=1</script><img src=x onerror='window.__pwn=2'>\"' \u202e\x00\ud800"
WORDS = (("crane", "GXYXX"), ("cabal", "GGXYX"), ("caper", "GGGGG"))
ROW = {"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "gone"}]}


def game(id: str, step: int, sample: int, turns: int = 3) -> Episode:
    played = [Turn(index=k, tool="guess", arguments={"guess": word}, result=ATTACK, facts=facts_after(WORDS, k + 1))
              for k, (word, _) in enumerate(WORDS[:turns])]
    return Episode(id=id, step=step, group=0, sample=sample, environment="wordle", status="won" if turns == 3 else "lost",
                   facts=played[-1].facts, scores={"win": float(turns == 3)}, total=float(turns == 3), advantage=0.5,
                   prompt=({"role": "user", "content": ATTACK},), turns=played)


@pytest.fixture
def run(store):
    return record(wordle_run(store, "shared"), game("1-0-0", 1, 0), game("1-0-1", 1, 1, 2), game(f"../{ATTACK}", 2, 0))


def client(store, launcher=None) -> TestClient:
    from fastapi import FastAPI

    from ui.share import routes

    app = FastAPI()
    routes.add(app, store, launcher)
    return TestClient(app, base_url="http://127.0.0.1:7860")


# ---------------------------------------------------------------------------------------------------------- downloads


@pytest.mark.parametrize("what", [{}, {"id": "1-0-0"}, {"step": "1", "group": "0"}])
def test_every_file_a_menu_offers_can_be_had_and_is_an_attachment(store, run, what):
    site = client(store)
    menu = site.get("/share/menu", params={"run": run.id, **what}).json()["html"]
    offered = re.findall(r'href="(/share/file/([a-z]+)\?[^"]*)"', menu)
    assert {"html", "jsonl"} <= {format for _, format in offered}
    for address, format in offered:
        got = site.get(address.replace("&amp;", "&"))
        assert got.status_code == 200 and got.content, format
        assert got.headers["content-disposition"].startswith(f'attachment; filename="{run.id}')
        assert got.headers["x-content-type-options"] == "nosniff" and "text/html" not in got.headers["content-type"]


def test_messages_to_imitate_are_what_the_group_won_and_all_of_it_where_it_won_nothing(store, run):
    with run.writing() as writer:
        writer.record([game(f"4-0-{sample}", 4, sample, 2) for sample in range(2)])
    site = client(store)
    for step, count, said in ((1, 1, "what was won"), (4, 2, "none was won")):
        what = {"run": run.id, "step": step, "group": 0}
        assert said in site.get("/share/menu", params=what).json()["html"]
        assert len(site.get("/share/file/sft", params=what).text.splitlines()) == count


def test_opening_a_menu_makes_no_file(store, run):
    with run.writing() as writer:
        short = game("5-0-0", 5, 0)
        turns = [turn.model_copy(update={"index": k}) for k, turn in enumerate(short.turns * 100)]
        writer.record([short.model_copy(update={"turns": tuple(turns)})])
    site, took = client(store), {}
    what = {"run": run.id, "id": "5-0-0"}
    for address in ("/share/menu", "/share/file/html"):
        tries = []
        for _ in range(3):
            start = time.process_time()
            assert site.get(address, params=what).status_code == 200
            tries.append(time.process_time() - start)
        took[address] = min(tries)
    assert took["/share/menu"] < took["/share/file/html"] / 4, took


def test_a_menu_says_the_sizes_that_stored_episodes_tell(store, run):
    site = client(store)
    line = len(site.get("/share/file/jsonl", params={"run": run.id, "id": "1-0-0"}).content)
    assert f"<em>{sized(line)}</em>" in site.get("/share/menu", params={"run": run.id, "id": "1-0-0"}).json()["html"]
    assert "<em>about " in site.get("/share/menu", params={"run": run.id}).json()["html"]


def test_a_long_text_that_is_gone_from_the_folder_is_never_taken_away_or_shown_as_empty(store, run):
    with run.writing() as writer:
        kept = game("6-0-0", 6, 0)
        writer.record([kept.model_copy(update={"turns": (kept.turns[0].model_copy(update={"result": "long " * 9000}),)})])
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("DELETE FROM texts")
    asked = {"run": run.id, "id": "6-0-0"}
    assert answer(store, f"?{urlencode(asked)}")["player"].count(escape(MISSING)) == 1
    for format, written in (("html", escape(MISSING)), ("jsonl", MISSING), ("trl", MISSING), ("sft", MISSING)):
        assert client(store).get(f"/share/file/{format}", params=asked).text.count(written) >= 1, format


def test_what_is_not_there_is_a_sentence(store, run):
    site = client(store)
    for address, status in (("/share/file/exe?run=latest", 404), ("/share/file/jsonl?run=../../etc", 404),
                            (f"/share/file/png?run={run.id}&id=none", 404), (f"/share/file/png?run={run.id}", 400),
                            (f"/share/file/html?run={run.id}&step=x&group=1", 400)):
        got = site.get(address)
        assert (got.status_code, got.headers["content-type"][:10]) == (status, "text/plain"), address
        assert "Traceback" not in got.text
    assert "no run" in site.get("/share/menu?run=gone").json()["problem"]


@pytest.mark.parametrize("id", ["../\0", "a\r\nSet-Cookie: x", "日本", f"../{ATTACK}"])
def test_no_id_gets_into_a_header_or_a_path(store, run, id):
    with run.writing() as writer:
        writer.record([game(id, 3, 0)])
    got = client(store).get("/share/file/jsonl", params={"run": run.id, "id": id.encode("utf-8", "replace")})
    if got.status_code == 200:  # an address can't hold half a surrogate pair as it is
        assert re.fullmatch(r'attachment; filename="[\w.-]+"; filename\*=UTF-8\'\'[\w.-]+', got.headers["content-disposition"])
        assert "set-cookie" not in got.headers and lines.episode(got.text).id == id


@pytest.mark.parametrize("id", ["half \ud83d", "\udc00\ud800", "a\0b \ue0ff", "日本 🎮"])
def test_every_id_can_be_linked_and_leads_to_its_episode(store, run, id):
    with run.writing() as writer:
        writer.record([game(id, 3, 0), game("next", 3, 1)])
    listed = answer(store, f"?run={run.id}&id=next&sort=step")["list"]
    addresses = [unescape(address) for address in re.findall(r'<a class="o-link o-mono" href="([^"]*)" data-go="row"', listed)]
    shown = [answer(store, address.partition("?")[2]) for address in addresses]
    drawn = [f'data-id="{named(id)}"' in one["player"] for one in shown]
    assert sum(drawn) == 1 and all("o-dead-end" not in one["player"] for one in shown)
    query = parse_qs(re.search(r'data-share="([^"]*)"', button(run=run.id, id=id))[1].replace("&amp;", "&"))
    got = client(store).get("/share/file/jsonl", params={name: value[0] for name, value in query.items()})
    assert lines.episode(got.text).id == id


def test_the_picture_is_of_the_turn_and_in_the_theme_that_was_asked_for(store, run):
    site = client(store)
    asked = {"run": run.id, "id": "1-0-0"}
    first, last, dark = (site.get("/share/file/png", params=asked | more).content
                         for more in ({"turn": "0"}, {}, {"dark": "1"}))
    assert len({first, last, dark}) == 3
    pixel = Image.open(io.BytesIO(last)).convert("RGB").getpixel((24, 24 + 2 * 62))
    assert pixel == (0x2C, 0x8A, 0x52), "the first letter of the third guess is green"


def test_a_character_that_no_font_has_is_told_of_in_the_picture():
    def drawn(said):
        return letters.words(Episode(id="1", step=1, group=0, sample=0, environment="e", status="won", opening=said))[0]

    plain, odd = drawn("a word"), drawn("a w\U0010fff0rd")
    assert paper.font_for("\U0010fff0", 42, "mono") is None and paper.font_for("é", 42, "mono")
    assert odd.height > plain.height and odd.width > plain.width, "a line below says what the sign stands for"
    assert drawn("a w\N{REPLACEMENT CHARACTER}rd").size == plain.size


# ------------------------------------------------------------------------------------------------------------- uploads


def test_an_upload_becomes_a_run_and_names_the_lines_it_skipped(store):
    site = client(store, Launcher(store))
    body = json.dumps(ROW) + "\n{torn <b>\n" + json.dumps(ROW)
    got = site.post("/share/import?format=openai&name=..%2Fmine%20%3Cb%3E.jsonl", content=body, headers={"X-Ortam": "import"})
    told = got.json()
    assert got.status_code == 200 and store.run(told["run"]).count_episodes() == 2
    assert "Line 2" in told["html"] and "<b>.jsonl" not in told["html"]
    assert [path.name for path in store.folder.iterdir()] == [told["run"]]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "trackio"])
def test_of_what_was_never_recorded_there_is_no_file(store, run, format):
    got = client(store).get(f"/share/file/{format}?run={run.id}&step=99&group=0")
    assert got.status_code == 400 and "Nothing is recorded" in got.text


@pytest.mark.parametrize(("room", "status", "said"), [(40, 507, "can't be kept here"), (2000, 400, "can't take a new run")])
def test_an_upload_that_a_full_disk_refuses_is_one_sentence_and_leaves_nothing(store, room, status, said):
    site, body = client(store, Launcher(store)), json.dumps(ROW)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        got = site.post("/share/import?format=openai", content=body, headers={"X-Ortam": "import"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert got.status_code == status and said in got.json()["problem"], got.text
    assert not list(store.folder.glob("*")) and not list(store.folder.glob(".arriving*"))


def test_uploads_are_refused_from_elsewhere_on_a_read_only_site_and_above_a_size(store, monkeypatch):
    mine = {"X-Ortam": "import"}
    site = client(store, Launcher(store))
    send = dict(content=json.dumps(ROW))
    assert site.post("/share/import?format=openai&name=x", **send).status_code == 403
    for other in ({"Origin": "http://elsewhere"}, {"Sec-Fetch-Site": "cross-site"}):
        assert site.post("/share/import?format=openai&name=x", headers=mine | other, **send).status_code == 403
    assert client(store).post("/share/import?format=openai&name=x", headers=mine, **send).status_code == 403
    assert site.post("/share/import?format=exe&name=x", headers=mine, **send).status_code == 400
    assert site.post("/share/import?format=openai&name=x", headers=mine, content="{torn").json()["problem"].startswith("x holds")
    monkeypatch.setattr("ui.share.routes.MOST", 10)
    assert site.post("/share/import?format=openai&name=x", headers=mine, **send).status_code == 413
    chunks = site.post("/share/import?format=openai&name=x", headers=mine, content=iter([b"x" * 8, b"x" * 8]))
    assert chunks.status_code == 413 and MOST > 10**8
    assert not store.folder.exists() or list(store.folder.iterdir()) == []


# ------------------------------------------------------------------------------------------------------ what is drawn


@pytest.mark.parametrize("format", ["html", "png", "gif"])
def test_drawn_formats_are_in_the_table_with_the_written_ones(format):
    assert FORMATS[format].SUFFIX == f".{format}" and FORMATS[format].FOR


def test_a_page_holds_no_markup_of_an_episode_and_no_address_of_elsewhere(run):
    from backend.exchange import Choice

    for choice in (Choice(run), Choice(run, group=(1, 0)), Choice(run, id="1-0-0")):
        drawn = page.page(choice)
        assert "<script>window.__pwn" not in drawn and "<img src=x" not in drawn
        assert drawn.count("<script>") == 1 and "http://" not in drawn.replace("http://www.w3.org", "")
        assert "https://" not in drawn and 'src="/' not in drawn and 'href="/' not in drawn
        assert "default-src 'none'" in policy() and "unsafe-inline" not in policy().partition("style-src")[0]


def test_a_run_page_says_how_many_of_how_many_episodes_it_holds(run):
    from backend.exchange import Choice

    with run.writing() as writer:
        writer.record([game(f"3-{k}-0", 3, k) for k in range(40)])
    drawn = page.page(Choice(run))
    assert re.search(r"\d+ episodes of 43 that show most of it", drawn)
    assert "largest advantage of the last step" in drawn
    assert "20 episodes of 43 matching won; a file holds 20 at most" in page.page(Choice(run, where="won"))


def test_a_curve_has_gaps_where_nothing_was_scored_and_few_points_however_long_it_is():
    drawn = figure("total", [1, 2, 3, 4, 5], [0.0, 1.0, None, 2.0, None])
    assert drawn.count("o-lone") == 1 and re.search(r'o-mean" d="M[^M]+"', drawn)
    long = figure("total", list(range(100_000)), [float(k % 7) for k in range(100_000)])
    assert len(long) < 20_000 and figure("total", [1], [None]) == ""


@pytest.mark.parametrize("values", [[1e308], [1e17, 1e17], [-1.7e308, 1.7e308], [0.0, 5e-324]])
def test_a_curve_of_huge_or_tiny_values_stays_inside_its_frame(values):
    drawn = figure("total", range(len(values)), values)
    heights = [float(y) for y in re.findall(r"[ML\"][\d.]+ ([\d.]+)|cy=\"([\d.]+)", drawn.partition("o-band")[2]) for y in y if y]
    assert heights and all(0 <= y <= 132 for y in heights) and "nan" not in drawn


@pytest.mark.parametrize("named", list(pictures.DRAWN))
def test_every_viewer_has_a_drawing_of_all_turns_in_one_size(named):
    grid = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    facts = {"wordle": [{"guesses": 0}, {"guesses": 1, "last_guess": "crane", "last_feedback": "GXYXX"}, {"invalid_moves": 1}],
             "catch": [{"rows": 5, "columns": 4, "ball_row": k, "ball_column": 1, "paddle_column": k} for k in range(3)],
             "sudoku": [{"board": grid}, {"board": grid.replace(".", "4", 1)}, {"invalid_moves": 1}],
             "text_board": [{}, {"board": "a b\nc d"}, {"board": "a b\nx\ud800d\n日本"}]}.get(named, [{}, {}, {}])
    dot = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
           "rkJggg==")
    images = [(dot,), ("data:image/png;base64,aGk=",)] if named == "screen" else [(), ()]
    turns = [Turn(index=k, tool="bash" if named == "terminal" else "t\ud800", arguments={"command": "ls \x1b[31m"},
                  images=images[k], result="a\nb", facts=facts[k + 1]) for k in range(2)]
    episode = Episode(id="x", step=1, group=0, sample=0, environment="e", status="lost", start_facts=facts[0],
                      facts={"won": False, **{k: v for fact in facts for k, v in fact.items()}}, turns=turns)
    for dark in (False, True):
        drawn = pictures.frames(episode, named, dark)
        assert len(drawn) == 3 and len({picture.size for picture in drawn}) == 1
        assert named in ("screen",) or drawn[0].tobytes() != drawn[1].tobytes()


def test_a_film_holds_a_second_a_turn_and_its_end_longer(run):
    from backend.exchange import Choice

    file = io.BytesIO()
    gif.save(Choice(run, id="1-0-0"), run.episode("1-0-0"), file)
    film = Image.open(file)
    told = []
    for k in range(film.n_frames):
        film.seek(k)
        told.append(film.info["duration"])
    assert told == [1000, 1000, 1000, 3000]
    assert len(gif.picked(list(range(1000)))) == gif.FRAMES and gif.picked(list(range(1000)))[-1] == 999
