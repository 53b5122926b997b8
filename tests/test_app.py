"""The application as a browser and a script meet it: served pages, named endpoints, and what can't be fetched."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import app
from backend.launcher import Launcher
from backend.records import EnvironmentSpec, Episode, RewardTerm, RunSpec, Turn
from backend.store import Store

ROOT = Path(__file__).parent.parent
CONTRACT = {"/launch", "/runs", "/run", "/episodes", "/episode", "/stop", "/check", "/reprice"}


def a_spec(name="seen", model="starter:catch") -> RunSpec:
    return RunSpec(name=name, model=model, environments=[EnvironmentSpec(id="catch", use="catch")])


def a_run(store: Store, **spec):
    run = store.create(a_spec(**spec))
    writer = run.writer()
    writer.record([Episode(id="1-0-0", step=1, group=0, sample=0, environment="catch", status="won", total=1.0,
                           scores={"caught": 1.0}, turns=[Turn(index=0, said="\ud800 and \x00",
                                                               arguments={"n": 2**70})]),
                   Episode(id="1-0-1", step=1, group=0, sample=1, environment="catch", status="env_lost")])
    writer.close()
    return run


class Served:
    """The site in this process, on a free port."""

    def __init__(self, folder: Path, launcher=True):
        import uvicorn

        from ui import web

        self.store = Store(folder)
        self.server = uvicorn.Server(uvicorn.Config(web(self.store, Launcher(self.store) if launcher else None),
                                                    log_level="error", timeout_graceful_shutdown=1))
        listening = app.listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.should_exit = True
        self.thread.join(20)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    site = Served(tmp_path_factory.mktemp("runs"))
    yield site
    site.stop()


@pytest.fixture(scope="module")
def fetch(served):
    import httpx

    with httpx.Client(base_url=served.url, timeout=30) as client:
        yield client.get


@pytest.fixture(scope="module")
def ask(served):
    from gradio_client import Client

    return Client(served.url, verbose=False).predict


def test_an_import_ends_when_nobody_waits_for_it_any_more(served):
    body = b'{"prompt": "a", "completion": "b"}\n' * 400_000
    head = ("POST /share/import?format=trl&name=long.jsonl HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Ortam: import\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as asking:
        asking.sendall(head.encode() + body)
        until(lambda: list(served.store.folder.glob(".arriving-*/run/run.db")))
    until(lambda: not list(served.store.folder.glob(".arriving-*")))
    assert not [run for run in served.store.runs() if "long" in run.id]


def until(so, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


# ------------------------------------------------------------------------------------------------------ the frame


@pytest.mark.parametrize("path", ["/", "/launch", "/run?id=x", "/episode?run=x&id=y"])
def test_every_page_stands_in_the_frame_before_gradio_starts(fetch, path):
    page = fetch(path)
    assert page.status_code == 200
    assert page.text.index("o-header") < page.text.index("<gradio-app")
    assert "/o/ortam.css?v=" in page.text


def test_a_page_names_no_address_elsewhere_that_a_browser_would_fetch(fetch):
    page = fetch("/").text
    fetched = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"'](?:https?:)?//[^\"']+", page)
    assert not fetched
    assert "default-src 'self'" in fetch("/").headers["content-security-policy"]
    assert not re.findall(r"url\((?!data:)[^)]*//", (ROOT / "ui/style.css").read_text())


def test_files_of_the_pages_are_served_and_kept_by_the_browser(fetch):
    links = re.findall(r"(/o/[^\"]+)", fetch("/").text)
    assert len(links) == len(set(links)) == 3
    for link in links:
        answer = fetch(link)
        assert answer.status_code == 200
        assert "max-age" in answer.headers["cache-control"]
        assert answer.content == fetch(link, headers={"accept-encoding": "identity"}).content


def test_a_large_script_travels_packed(fetch):
    assert int(fetch("/o/plotly.min.js").headers["content-length"]) < 2_000_000


@pytest.mark.parametrize("path", [
    "/gradio_api/file={root}/app.py", "/gradio_api/file=app.py", "/gradio_api/file={runs}/spec.yaml", "/file=app.py",
    "/gradio_api/file={root}/ui/style.css", "/o/app.py", "/o/..%2fapp.py", "/o/%2e%2e/app.py",
    "/static/..%2f..%2fapp.py", "/gradio_api/file=/etc/passwd", "/runs/studio.db"])
def test_files_of_the_project_and_of_runs_cannot_be_fetched(served, fetch, path):
    run = a_run(served.store)
    answer = fetch(path.format(root=ROOT, runs=run.path))
    assert answer.status_code in (403, 404)


def test_a_wrong_address_shows_the_way_back_and_a_script_gets_json(fetch):
    page = fetch("/no-such-page", headers={"accept": "text/html"})
    assert page.status_code == 404 and "There is no such page" in page.text and "o-header" in page.text
    assert fetch("/no-such-page").json() == {"detail": "Not Found"}


# -------------------------------------------------------------------------------------------------------- endpoints


def test_the_named_endpoints_are_those_of_the_contract_and_nothing_else_can_be_called_by_name(fetch):
    told = fetch("/gradio_api/info").json()
    assert set(told["named_endpoints"]) == CONTRACT
    assert not told["unnamed_endpoints"]


def test_a_script_reads_runs_and_episodes(served, ask):
    run = a_run(served.store, name="scripted")
    listed = ask("scripted", api_name="/runs")
    assert [found["id"] for found in listed] == [run.id]
    assert ask(run.id, api_name="/run")["spec"]["name"] == "scripted"
    assert ask(run.id, "", "total", 50, 1e300, api_name="/episodes") == []
    rows = ask(run.id, "", "total", 50, 0, api_name="/episodes")
    assert {row["id"]: row["total"] for row in rows} == {"1-0-0": 1.0, "1-0-1": None}


def test_what_json_cannot_carry_arrives_as_text(served, ask):
    run = a_run(served.store, name="hostile")
    turn = ask(run.id, "1-0-0", api_name="/episode")["turns"][0]
    assert turn["said"] == "\\ud800 and \x00"
    assert turn["arguments"] == {"n": str(2**70)}


def test_a_run_is_re_priced_by_terms_or_by_a_saved_set(served, ask):
    run = a_run(served.store, name="priced")
    told = ask(run.id, "- {name: twice, value: '2.0'}", api_name="/reprice")
    assert (told["episodes"], told["total"]["before"]["mean"], told["total"]["after"]["mean"]) == (2, 1.0, 2.0)
    served.store.save_reward_set("thrice", [RewardTerm(name="thrice", value="3.0")])
    assert ask(run.id, "thrice", api_name="/reprice")["terms"][0]["after"]["mean"] == 3.0


def test_a_check_is_answered_with_its_findings(ask):
    told = ask("name: x\nmodel: nowhere\nenvironments: [{id: echo, use: echo}]", api_name="/check")
    assert told["ok"] is False and "would fail" in told["verdict"]
    levels = {each["check"]: each["level"] for each in told["checks"]}
    assert (levels["Settings"], levels["Start"]) == ("red", "green")


@pytest.mark.parametrize(("words", "endpoint", "said"), [
    (("no-such-run",), "/run", "no-such-run"),
    (("name: x\nmodel: starter:catch\nenvironments: [{id: catch, use: catchh}]",), "/launch", "did you mean catch?"),
    (("latest", "- {name: a, value: nowhere}"), "/reprice", "no fact is called 'nowhere'"),
    (("model: x\nenvironments: 1",), "/check", "environments: must be a list"),
    (("/etc/passwd",), "/launch", "the spec is empty or not a mapping"),
    ((None,), "/launch", "spec must be text, not None"),
    ((5,), "/run", "run must be text, not 5"),
    (("latest", 5), "/episodes", "where must be text, not 5"),
    (("latest", "", "-step", "many"), "/episodes", "limit must be a whole number, not 'many'"),
])
def test_what_is_wrong_comes_back_as_one_sentence(ask, words, endpoint, said):
    with pytest.raises(Exception, match=re.escape(said)) as caught:
        ask(*words, api_name=endpoint)
    assert "Traceback" not in str(caught.value)


def test_a_read_only_site_shows_runs_and_starts_none(tmp_path):
    from gradio_client import Client

    site = Served(tmp_path, launcher=False)
    try:
        a_run(site.store)
        ask = Client(site.url, verbose=False).predict
        assert len(ask("", api_name="/runs")) == 1
        for endpoint, word in (("/launch", "quickstart"), ("/stop", "latest"), ("/check", "quickstart")):
            with pytest.raises(Exception, match="only shows runs"):
                ask(word, api_name=endpoint)
    finally:
        site.stop()


# -------------------------------------------------------------------------------------------------------- python app.py


def test_a_taken_port_is_one_sentence_that_names_it_and_the_remedy(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert app.main(["--port", str(port)]) == 1
    said = capsys.readouterr().err.strip()
    assert f"Port {port} is already in use" in said and "--port" in said and "\n" not in said


@pytest.mark.parametrize("words", ["--port 99999", "--host 192.0.2.1", "--host no.such.host.invalid"])
def test_an_address_that_cannot_be_used_is_one_sentence(capsys, words):
    assert app.main(words.split()) == 1
    told = capsys.readouterr().err.strip()
    assert words in told and "\n" not in told


def test_a_folder_that_cannot_hold_runs_is_one_sentence_and_nothing_is_served(tmp_path, capsys):
    (tmp_path / "taken").write_text("a file")
    assert app.main(["--port", "0", "--runs", str(tmp_path / "taken")]) == 1
    told = capsys.readouterr().err.strip()
    assert "taken can't be used for runs" in told and "--runs" in told and "\n" not in told


@pytest.mark.parametrize(("by", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -9)])
def test_the_application_keeps_a_worker_and_ends_with_it(tmp_path, by, code):
    process = subprocess.Popen([sys.executable, "app.py", "--port", "0", "--runs", str(tmp_path / "runs")], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=hearing_interrupts)
    try:
        said = process.stdout.readline()
        assert said.startswith("Ortam is at http://127.0.0.1:")
        worker = children(process.pid)
        assert len(worker) == 1
        if by == signal.SIGTERM:
            os.kill(worker[0], signal.SIGKILL)
            assert "another" in process.stdout.readline()
            while not (worker := children(process.pid)):
                time.sleep(0.05)
        process.send_signal(by)
        assert process.wait(60) == code
        deadline = time.monotonic() + 60
        while Path(f"/proc/{worker[0]}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{worker[0]}").exists()
    finally:
        process.kill()
        process.wait()


def hearing_interrupts() -> None:
    """What a shell starts in the background, these tests perhaps, ignores SIGINT, and so would all it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
