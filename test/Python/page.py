"""Opens a page of --report-html in a headless browser and reads what it drew."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, List

import pytest

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}

# Hovers, presses and types as a reader would; what goes wrong is in #errors.
TRY_EVERYTHING = """
<script>
const did = [];
function at(node, kind, x, y) {
  const box = node.getBoundingClientRect();
  node.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: box.left + x * box.width, clientY: box.top + y * box.height}));
}
function hoverAll(name) {
  document.querySelectorAll("svg[tabindex]").forEach((chart) => {
    at(chart, "pointermove", 0.6, 0.5);
    if (byId("tip").hidden || !byId("tip").textContent) complain(`no tip over ${chart.getAttribute("aria-label")}`);
    else did.push(name);
    chart.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  });
}
document.querySelector("#chart-frontier svg")?.removeAttribute("tabindex");
hoverAll("hover");
const chart = document.querySelector("#chart-arena svg");
at(chart, "pointerdown", 0.4, 0.5); at(chart, "pointermove", 0.6, 0.5); at(chart, "pointerup", 0.6, 0.5);
if (!(state.from > 0 && state.to < 1)) complain("dragging did not enlarge");
hoverAll("enlarged");
document.querySelector("#controls input[value=time]")?.click();
hoverAll("time");
const select = document.querySelector("#filters select");
for (const option of select.options) {
  select.value = option.value;
  select.dispatchEvent(new Event("change"));
}
const search = document.querySelector("#filters input");
search.value = "weight";
search.dispatchEvent(new Event("input"));
if (!(Number(byId("chart-lifelines").dataset.rows) > 0)) complain("no value is called weight");
document.documentElement.dataset.did = did.length;
</script>
"""


@dataclass
class Element:
    tag: str
    attributes: Dict[str, str]
    text: str = ""
    children: List["Element"] = field(default_factory=list)

    def find_all(self, test):
        for child in self.children:
            if test(child):
                yield child
            yield from child.find_all(test)

    def by_id(self, name: str) -> "Element":
        return next(self.find_all(lambda e: e.attributes.get("id") == name))

    def all_text(self) -> str:
        return self.text + "".join(child.all_text() for child in self.children)


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag, attributes):
        element = Element(tag, {name: value or "" for name, value in attributes})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open[-1].tag == tag
            self.open.pop()

    def handle_data(self, data):
        self.open[-1].text += data


def find_browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    if os.environ.get("REMAT_REQUIRE_ALL"):
        pytest.fail("no browser: scripts/setup.sh test installs chromium-headless-shell")
    pytest.skip("no browser")


def open_page(page: Path, profile: Path, try_everything: bool = False) -> Element:
    """The document after its script has run."""
    text = page.read_text()
    assert (
        "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    )
    if try_everything:
        page = page.with_suffix(".tried.html")
        page.write_text(text.replace("</body>", TRY_EVERYTHING + "</body>"))
    done = subprocess.run(
        [
            find_browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--window-size=1200,1000",
            "--virtual-time-budget=10000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    reader = Reader()
    reader.feed(done.stdout)
    return reader.open[0]
