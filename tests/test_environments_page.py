"""What there is to train in: the catalog's data, catalog files, environments of one's own, and the page that shows them."""

import json
import re
import shutil
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest

from backend.cli import main
from backend.environments import sources
from backend.environments.catalog import CATALOG
from backend.environments.listing import STATUSES, Listed, elsewhere, from_plain, listing, to_plain, way
from backend.environments.sample import sample
from backend.environments.serving import serve
from backend.environments.snapshot import LARGEST, read
from backend.errors import OrtamError, SpecError
from backend.launcher.known import bring, known
from backend.launcher.trying import AT_ONCE, Trying
from backend.records import EnvironmentSpec
from backend.store.shelf import SavedEnvironment, Shelf
from tests.test_launch import fields
from ui import environment_cards, environments, launch
from ui.environment_cards import Shown
from ui.launch_choices import choices, slug


@pytest.fixture
def shelf(store):
    return Shelf(store.folder)


# ------------------------------------------------------------------------------------------------------- the data


@pytest.mark.parametrize("one", elsewhere(), ids=lambda one: one.use)
def test_an_environment_known_of_elsewhere_is_well_described(one, monkeypatch):
    monkeypatch.setenv("OPENREWARD_API_KEY", "none")
    assert one.title and one.about.endswith(".") and one.status in STATUSES
    assert one.page.startswith("https://")
    cloned = one.use.startswith("folder:")
    assert one.status in ("not run here", "needs network" if cloned else way(one.use)[0])
    if not cloned and (shutil.which("docker") or not one.use.startswith("docker:")):
        sources.check(EnvironmentSpec(id="x", use=one.use))
    if cloned:
        assert "git clone" in one.first


def test_nothing_is_listed_twice_and_all_that_ships_here_is_listed():
    uses = [one.use for one in listing()]
    assert len(uses) == len(set(uses)) and set(CATALOG) <= set(uses)


def test_the_simulators_are_said_not_to_have_been_run():
    for use in ("space:openenv/browsergym_env", "space:sergiopaniego/carla-env"):
        one = next(one for one in elsewhere() if one.use == use)
        assert one.status == "not run here" and "not on" in one.note and one.description.tools


@pytest.mark.parametrize(("use", "status"), [
    ("wordle", "built in"), ("space:a/b", "needs network"), ("openenv+https://example.com", "needs network"),
    ("openenv+http://127.0.0.1:8001", "on this machine"), ("ors+http://localhost:1#x", "on this machine"),
    ("docker:image", "needs docker"), ("folder:x", "on this machine"), ("ors:Org/Name", "needs network")])
def test_the_way_an_environment_is_run_follows_from_its_address(use, status):
    assert way(use)[0] == status


def test_a_description_is_kept_and_read_again_and_an_odd_one_is_dropped():
    for entry in CATALOG.values():
        kept = json.loads(json.dumps(to_plain(entry.description)))
        assert from_plain({**kept, "of_a_newer_version": 1}) == entry.description
    assert [from_plain(odd) for odd in (None, 3, {}, {"tools": [1]}, {"tools": []}, {"tools": [{"x": 1}]})] == [None] * 6


@pytest.mark.parametrize("use", CATALOG)
def test_a_sample_game_of_what_ships_here_can_be_shown(use):
    game = sample(use)
    assert game.turns and not game.fault and sample(use) is game
    card = environment_cards.small(next(one for one in listing() if one.use == use))
    assert card.count("data-frame") == min(len(game.turns) + 1, environment_cards.MOST_FRAMES)
    assert card.count("data-frame hidden") == card.count("data-frame") - 1


def test_a_sample_game_takes_options_and_is_left_out_where_they_are_wrong():
    assert len(sample("sudoku", {"size": 4}).facts["board"]) == 16
    assert sample("sudoku", {"size": "x"}) is None and sample("space:openenv/wordle") is None


# -------------------------------------------------------------------------------------------------- catalog files


def environment_folder(root, name, manifest):
    folder = root / "envs" / name
    folder.mkdir(parents=True)
    (folder / "openenv.yaml").write_text(manifest)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    """What openenv itself writes of a small repository."""
    from openenv.discovery import build_catalog, write_catalog

    root = tmp_path_factory.mktemp("repository")
    environment_folder(root, "maze_env", "name: maze_env\ndescription: Find the way out.\n")
    environment_folder(root, "snake_env", "name: snake_env\ndescription: <b>Eat</b> fruit.\n")
    environment_folder(root, "odd_env", "name: [1]\n")
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    made = build_catalog(root, repository_uri="https://github.com/someone/envs.git", publisher="example.com")
    write_catalog(made, root / "catalog.json")
    return (root / "catalog.json").read_bytes()


def changed(snapshot, change):
    whole = json.loads(snapshot)
    change(whole)
    return json.dumps(whole).encode()


def test_what_openenv_writes_is_read_and_its_own_complaints_are_told(snapshot):
    found = read(snapshot)
    assert [card.name for card in found.cards] == ["maze_env", "snake_env"] and not found.skipped
    assert found.cards[0].repository == "https://github.com/someone/envs" and found.cards[0].path == "envs/maze_env"
    assert any("incomplete" in notice for notice in found.notices)
    assert any("odd_env" in notice for notice in found.notices)
    assert not any("digest" in notice for notice in found.notices)


def test_a_snapshot_that_was_changed_after_it_was_written_says_so(snapshot):
    found = read(changed(snapshot, lambda whole: whole["entries"][0].update(displayName="other")))
    assert any("digest" in notice for notice in found.notices) and found.cards[0].name == "other"


@pytest.mark.parametrize(("odd", "why"), [
    (3, "no object"), ({}, "no data"), ({"type": "x/y", "data": {}}, "x/y"), ({"data": {}}, "no name"),
    ({"displayName": "a", "data": {}}, "no source"),
    ({"displayName": "a", "data": {"source": {"uri": "http://x/y", "path": "p"}}}, "no https address"),
    ({"displayName": "a", "data": {"source": {"uri": "https://u:p@x/y", "path": "p"}}}, "no https address"),
    ({"displayName": "a", "data": {"source": {"uri": "https://x/y", "path": "../../etc"}}}, "leads nowhere"),
    ({"displayName": "a", "data": {"source": {"uri": "https://x/y", "path": "p", "revision": "; rm"}}}, "revision"),
])
def test_an_odd_entry_is_skipped_with_its_number_and_reason(snapshot, odd, why):
    found = read(changed(snapshot, lambda whole: whole["entries"].insert(1, odd)))
    assert len(found.cards) == 2 and len(found.skipped) == 1
    assert found.skipped[0].startswith("Entry 2") and why in found.skipped[0]


def test_the_same_folder_twice_is_listed_once(snapshot):
    found = read(changed(snapshot, lambda whole: whole["entries"].append(whole["entries"][0])))
    assert len(found.cards) == 2 and "same folder" in found.skipped[0]


def test_what_discover_and_inspect_print_is_read_too(snapshot):
    entries = json.loads(snapshot)["entries"]
    for written in ({"results": entries, "metadataOnly": True}, entries):
        assert len(read(json.dumps(written).encode()).cards) == 2
    assert len(read(json.dumps(entries[0]).encode()).cards) == 1


@pytest.mark.parametrize("data", [b"", b"<html>", b"3", b'{"a": 1}', b"\xff\xfe", b"[" * 100_000,
                                  b" " * (LARGEST + 1)])
def test_a_file_that_is_no_catalog_is_refused_in_a_sentence(data):
    with pytest.raises(OrtamError, match="file"):
        read(data)


def test_an_import_can_be_repeated_placed_and_removed(shelf, snapshot):
    assert len(bring(shelf, snapshot).cards) == 2
    first = next(one for one in known(shelf) if one.imported)
    assert not first.listed.use and first.listed.status == "not run here" and "git clone" in first.listed.first
    shelf.check_out(first.imported.repository, "/somewhere/envs")
    bring(shelf, snapshot)
    placed = [one.listed for one in known(shelf) if one.imported]
    assert [one.use for one in placed] == ["folder:/somewhere/envs/envs/maze_env", "folder:/somewhere/envs/envs/snake_env"]
    assert shelf.forget(first.imported.repository) == 2 and not shelf.imported()


# ------------------------------------------------------------------------------------------------------ one's own


def test_an_environment_is_saved_changed_renamed_and_deleted(shelf):
    shelf.save(SavedEnvironment(name=" Mine ", use="sudoku", options={"size": 4}, note="a\0b"))
    mine = shelf.get("Mine")
    assert (mine.options, mine.note) == ({"size": 4}, "a\0b")
    shelf.save(mine.model_copy(update={"name": "Ours", "note": ""}), instead_of="Mine")
    assert [one.name for one in shelf.saved()] == ["Ours"]
    assert shelf.delete("Ours") and not shelf.delete("Ours") and shelf.saved() == []


def test_a_name_is_taken_once_and_a_secret_is_not_kept(shelf):
    shelf.save(SavedEnvironment(name="Mine", use="echo"))
    with pytest.raises(SpecError, match="is taken"):
        shelf.save(SavedEnvironment(name="Mine", use="wordle"))
    for odd in ({"use": "openenv+https://me:secret@example.com"}, {"use": "echo", "options": {"api_key": "x"}}):
        with pytest.raises(SpecError, match="looks like a"):
            shelf.save(SavedEnvironment(name="Other", **odd))
    assert [one.use for one in shelf.saved()] == ["echo"]


def tried(trying, use, **more):
    asked = {"token": "one", "use": use, **more}
    answer = environments.said(lambda: environments.tried(trying, asked), read_only=False)
    for _ in range(40):
        if "waiting" not in answer:
            return answer
        answer = environments.tried(trying, {"token": "one"})
    return answer


def test_an_address_is_asked_what_it_is_and_kept_with_the_answer(shelf):
    trying = Trying()
    with serve("catch", 1) as server:
        use = f"openenv+{server.url}"
        answer = tried(trying, use)
        assert "1 tool" in answer["html"] and "paddle_column" in answer["html"] and "on this machine" in answer["html"]
    saved = environments.kept(shelf, trying, {"token": "one", "use": use, "name": "My catch", "note": "at home"})
    assert saved == {"name": "My catch", "query": "saved=My+catch"}
    one = next(one for one in known(shelf) if one.saved)
    assert [tool.name for tool in one.listed.description.tools] and one.listed.title == "My catch"
    environments.kept(shelf, Trying(), {"use": use, "name": "My catch", "was": "My catch", "note": "x"})
    assert shelf.get("My catch").told, "changing the note keeps what was told"
    environments.kept(shelf, Trying(), {"use": "echo", "name": "My catch", "was": "My catch"})
    assert shelf.get("My catch").told is None, "another address was told nothing"


@pytest.mark.parametrize(("use", "said"), [
    ("", "Write an address first"), ("wordl", "did you mean wordle?"), ("openenv+http://127.0.0.1:1", "Nothing answers"),
    ("openenv+ftp://x", "isn't an address"), ("folder:/no/such/folder", "no folder"), ("ors:Org/Name", "OPENREWARD_API_KEY"),
])
def test_an_address_that_cannot_be_asked_says_why(use, said, monkeypatch):
    monkeypatch.delenv("OPENREWARD_API_KEY", raising=False)
    assert said in tried(Trying(), use)["problem"]


def test_options_are_written_as_yaml_and_a_wrong_one_is_named(shelf):
    assert "1 tool" in tried(Trying(), "sudoku", options="size: 4")["html"]
    assert "name: value" in tried(Trying(), "sudoku", options="four")["problem"]
    assert "no option 'siz'" in tried(Trying(), "sudoku", options="siz: 4")["problem"]
    with pytest.raises(OrtamError, match="no option"):
        environments.kept(shelf, Trying(), {"use": "sudoku", "options": "siz: 4", "name": "x"})


def test_too_many_at_once_and_attempts_of_a_server_that_restarted_are_told():
    trying = Trying()
    for token in range(AT_ONCE):
        trying.begin(str(token), EnvironmentSpec(id="x", use="echo")).over.clear()
    busy = environments.said(lambda: environments.tried(trying, {"token": "y", "use": "echo"}), read_only=False)
    assert "try again in a moment" in busy["problem"] or "html" in busy
    assert "restarted" in environments.tried(Trying(), {"token": "gone"})["problem"]


# ------------------------------------------------------------------------------------------------------- the page


def test_every_environment_is_a_card_that_can_be_searched_and_opened(shelf, snapshot):
    shelf.save(SavedEnvironment(name="Mine", use="sudoku", options={"size": 4}))
    bring(shelf, snapshot)
    page = environments.everything(shelf, read_only=False)
    shown = environments.shown(shelf)
    assert page["html"].count('<article class="o-env"') == len(shown) == sum(page["statuses"].values())
    assert len({one.query for one in shown}) == len(shown)
    for one in shown:
        whole = environment_cards.page(one)
        assert "Tools, as the model sees them" in whole and "Facts that reward terms may use" in whole
    assert environments.everything(shelf, read_only=False)["mark"] == page["mark"]


def test_tools_are_shown_with_their_exact_schema(shelf):
    wordle = next(one for one in environments.shown(shelf) if one.listed.use == "wordle")
    tool = CATALOG["wordle"].description.tools[0]
    written = re.search(r"<pre>(.*?)</pre>", environment_cards.page(wordle), re.DOTALL)[1]
    assert json.loads(written.replace("&quot;", '"').replace("&#x27;", "'")) == tool.schema()


def test_what_is_not_known_is_said_to_be_unknown():
    drawn = environment_cards.particulars(Listed("space:a/b", "t", "", "needs network", "a Space on the Hub"))
    assert drawn.count(">unknown<") == 3 and "None" not in drawn


HOSTILE = '<img src=x onerror="boom()">\u202e\x1b[31m'


def test_what_an_environment_says_of_itself_stays_text():
    told = from_plain({"title": HOSTILE, "about": HOSTILE, "facts": {HOSTILE: HOSTILE}, "prompt": HOSTILE, "max_turns": 3,
                       "notice": HOSTILE, "options": {HOSTILE: {"description": HOSTILE, "enum": [HOSTILE]}},
                       "rewards": [[HOSTILE, HOSTILE]], "tools": [{
                           "name": HOSTILE, "description": HOSTILE,
                           "parameters": {"required": 3, "properties": {HOSTILE: {"type": [HOSTILE, None]}, "b": 7}}}]})
    one = Listed("openenv+http://127.0.0.1:1", HOSTILE, HOSTILE, "on this machine", HOSTILE, told, size=HOSTILE,
                 licence=HOSTILE, page="javascript:boom()", first=HOSTILE, note=HOSTILE, options={HOSTILE: HOSTILE})
    saved = SavedEnvironment(name="x", use="y", note=HOSTILE)
    for drawn in (environment_cards.card(Shown(one, HOSTILE, HOSTILE, saved)),
                  environment_cards.page(Shown(one, HOSTILE, HOSTILE, saved)), environments.found(one, 1.0)):
        assert "<img" not in drawn and "\u202e" not in drawn and "\x1b" not in drawn and "javascript:" not in drawn
    odd = from_plain({"title": "", "about": "", "facts": {}, "prompt": "", "max_turns": 1,
                      "tools": [{"name": "a", "description": "", "parameters": None}]})
    assert "o-env-tool" in environment_cards.tool_block(odd.tools[0], whole=True)


def test_a_page_for_nothing_says_so_without_its_markup():
    assert "There is no such environment" in environments.nowhere({"use": "x"})
    assert "<b>x" not in environments.nowhere({"use": "<b>x"})


def test_a_read_only_site_changes_nothing_and_offers_nothing(shelf):
    assert "only shows" in environments.said(lambda: {"html": "done"}, read_only=True)["problem"]
    drawn = environments.everything(shelf, read_only=True)["html"]
    assert "Use in a run" not in drawn and "hidden" in re.search(r'<div class="o-row" (\w*)>', environments.frame(True))[1]


def test_an_imported_catalog_tells_how_many_and_what_was_skipped(shelf, snapshot):
    written = changed(snapshot, lambda whole: whole["entries"].append({"displayName": "<b>", "data": {}})).decode()
    told = environments.imported(shelf, written, "")
    assert "2 environments imported, 1 skipped" in told["html"] and "Entry 3 (&lt;b&gt;)" in told["html"]


# ----------------------------------------------------------------------------------------------- the launch form


def test_use_in_a_run_starts_from_a_spec_for_that_environment(store, shelf):
    for one in environments.shown(shelf):
        if one.listed.use not in ("wordle", "sudoku", "space:openenv/wordle", "space:sergiopaniego/carla-env"):
            continue
        link = re.search(r'href="/launch\?([^"]+)"', environment_cards.card(one))[1].replace("&amp;", "&")
        asked = {name: values[0] for name, values in parse_qs(link).items()}
        spec = launch.started(store, asked)["spec"]
        assert [environment["use"] for environment in spec["environments"]] == [one.listed.use]
        assert spec["rewards"] and not launch.looked(store, {"spec": spec})["problems"]


def test_an_address_with_odd_options_says_so(store):
    assert "can't be read" in fields(launch.started(store, {"use": "wordle", "options": "{"}))[""]
    assert launch.started(store, {"use": "sudoku", "options": '{"size": 4}'})["spec"]["environments"][0]["options"]


def test_saved_environments_are_choices_of_the_launch_form(shelf):
    shelf.save(SavedEnvironment(name="My <4>", use="sudoku", options={"size": 4}))
    offered = choices(shelf)
    assert 'data-environment="sudoku"' in offered["cards"] and 'data-id="my-4"' in offered["cards"]
    assert "My &lt;4&gt;" in offered["cards"] and 'value="space:openenv/wordle"' in offered["addresses"]
    assert offered["facts"]["sudoku"] and offered["terms"]["sudoku"]


@pytest.mark.parametrize(("title", "named"), [("Wordle (TextArena)", "wordle-textarena"), ("2048", "environment"),
                                              ("…", "environment"), ("x" * 90, "x" * 48)])
def test_a_title_becomes_a_name_that_a_spec_takes(title, named):
    assert slug(title) == named
    EnvironmentSpec(id=slug(title), use="echo")


# --------------------------------------------------------------------------------------------------- the command


def test_the_command_lists_searches_and_imports(tmp_path, capsys, snapshot):
    file, runs = tmp_path / "catalog.json", ["--runs", str(tmp_path / "runs")]
    file.write_bytes(changed(snapshot, lambda whole: whole["entries"].append(3)))
    assert main(["environments", "wordle", *runs]) == 0
    assert "space:openenv/wordle" in capsys.readouterr().out
    assert main(["environments", "--import", str(file), "--checkout", str(tmp_path), *runs]) == 0
    assert "2 imported, 1 skipped" in capsys.readouterr().out
    assert main(["environments", "maze_env", "--json", *runs]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert f"folder:{tmp_path}/envs/maze_env" in [one["use"] for one in listed]
    assert main(["environments", "--import", str(tmp_path), *runs]) == 2
    assert "can't be read" in capsys.readouterr().err
    assert urlsplit(listed[0]["page"] or "https://x").scheme == "https"
