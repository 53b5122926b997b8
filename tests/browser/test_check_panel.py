"""Check before launch, in a real browser: lines arrive, remedies stand beside them, and the first prompt is shown."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.test_preflight import TEMPLATES, a_model

SPEC = """name: looked-at
model: {model}
environments:
  - {{id: catch, use: catch}}
train: {{steps: 1, group_size: 2, episodes_per_step: 4, max_completion_tokens: {budget}}}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return a_model(tmp_path_factory.mktemp("model"), (TEMPLATES / "qwen3.jinja").read_text())


@pytest.fixture
def launch(shared_application, page):
    def opened(spec: str):
        page.goto(f"{shared_application.url}/launch")
        page.locator(".o-stats").wait_for()
        page.get_by_label("Spec").fill(spec)
        page.get_by_role("button", name="Check first").click()
        return page
    return opened


def test_lines_arrive_one_by_one_and_the_first_prompt_is_shown_whole(launch, model, seen):
    page = launch(SPEC.format(model=model, budget=4000))
    panel = page.get_by_role("region", name="Check before launch")
    expect(panel.locator(".o-finding").first).to_contain_text("Settings")
    expect(panel.locator("[data-check-verdict]")).to_have_text("Everything is well. It can be launched.", timeout=90_000)
    assert panel.locator(".o-finding").count() == panel.locator(".o-finding.o-green").count() == 14
    prompt = panel.locator(".o-prompt")
    expect(prompt).to_contain_text("ball 0 0 paddle 2")
    expect(prompt.locator(".o-tool-line")).to_have_count(2)
    expect(prompt.locator("b").first).to_have_text("<|im_start|>")
    page.get_by_label("Name", exact=True).first.fill("changed")
    expect(panel.get_by_text("The settings have changed since this was checked.")).to_be_visible()
    assert not seen.errors and not seen.elsewhere


def test_what_would_fail_has_its_remedy_beside_it(launch, model):
    page = launch(SPEC.format(model=model, budget=32))
    panel = page.get_by_role("region", name="Check before launch")
    line = panel.locator(".o-finding.o-red")
    expect(line).to_contain_text("Token budget", timeout=90_000)
    expect(line.locator(".o-remedy")).to_contain_text("Set train.max_completion_tokens to")
    expect(panel.locator("[data-check-verdict]")).to_contain_text("1 thing would fail", timeout=30_000)
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def test_a_check_can_be_stopped(launch, model):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # nothing that comes in is answered
        page = launch(at(model, silent.getsockname()[1]))
        panel = page.get_by_role("region", name="Check before launch")
        expect(panel.locator(".o-finding").first).to_contain_text("Settings")
        panel.get_by_role("button", name="Stop").click()
        expect(panel.locator("[data-check-verdict]")).to_have_text("Stopped.")
        expect(panel.get_by_role("button", name="Check again")).to_be_enabled()


def at(model, port: int) -> str:
    """A run whose environment would be there."""
    return SPEC.format(model=model, budget=4000).replace("use: catch", f'use: "openenv+http://127.0.0.1:{port}"')


class Pages(BaseHTTPRequestHandler):
    """A web server that is no environment."""

    def do_GET(self):
        body = b"<!doctype html><h1>It works!</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def test_a_server_that_is_no_environment_is_said_to_be_none_on_a_phone_too(launch, page, model):
    page.set_viewport_size({"width": 390, "height": 844})
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        launch(at(model, web.server_port))
        panel = page.get_by_role("region", name="Check before launch")
        line = panel.locator(".o-finding.o-red")
        expect(line).to_contain_text("answers with something that isn't JSON", timeout=60_000)
        expect(line.locator(".o-remedy")).to_have_text("Is it an OpenEnv server?")
        web.shutdown()
    assert panel.bounding_box()["width"] <= 390 and page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_run_to_start_from_that_isnt_there_leaves_no_draft(shared_application, page):
    page.goto(f"{shared_application.url}/launch?from=no-such-run")
    expect(page.locator("[data-problems]")).to_contain_text("See all runs")
    expect(page.locator("[data-problems] a")).to_have_attribute("href", "/")
    expect(page.locator("[data-key=name]").first).to_have_value("quickstart")
    assert page.evaluate("sessionStorage.getItem('ortam-draft')") is None
