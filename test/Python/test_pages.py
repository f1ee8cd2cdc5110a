"""The tutorial and the how-to pages work, word for word; the index names every page."""

import re

import pages
import pytest
from conftest import ROOT

DOCS = ROOT / "docs"
FOLLOWED = [
    "Tutorial.md",
    "how-to/data.md",
    "how-to/pytorch-module.md",
    "how-to/jax.md",
    "how-to/torch-compile.md",
    "how-to/evaluate.md",
    "how-to/watch-a-run.md",
    "how-to/refused-budget.md",
    "how-to/budgets.md",
    "how-to/resume.md",
    "how-to/ranks.md",
    "how-to/embed.md",
]
ELSEWHERE = {"how-to/plan-a-graph.md"}  # test_planner.py runs it


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_works(page, tmp_path):
    assert pages.follow(DOCS / page, tmp_path) > 0


def test_every_how_to_page_is_run():
    found = {f"how-to/{path.name}" for path in (DOCS / "how-to").glob("*.md")}
    assert found == {page for page in FOLLOWED if "/" in page} | ELSEWHERE


def test_the_index_names_every_page():
    text = (DOCS / "README.md").read_text()
    named = set(re.findall(r"\]\(([^)#]+\.md)\)", text))
    found = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"README.md"}
    assert {page for page in named if not page.startswith("..")} == found


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_a_page_that_does_not_work_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    for number, (text, wrong) in enumerate(
        [
            ("```sh\nfalse\n```\n", True),
            ("```sh\necho a\n```\n\n```text\nb\n```\n", True),
            ("```python\n1\n```\n", True),
            ("```sh\necho a b\n```\n\n```text\na ...\n```\n", False),
            ("```sh\necho a 12.5 b\n```\n\n```text\na 7  b\n```\n", False),
            ("```sh\necho a x b\n```\n\n```text\na 7  b\n```\n", True),
            ("```sh\necho a4\n```\n\n```text\na5\n```\n", True),
            ("As `f.txt`:\n\n```text2\nhello\n```\n\n```sh\ncat f.txt\n```\n\n```text\nhello\n```\n", False),
        ]
    ):
        page.write_text(text)
        folder = tmp_path / str(number)
        folder.mkdir()
        if wrong:
            with pytest.raises(AssertionError):
                pages.follow(page, folder)
        else:
            assert pages.follow(page, folder) == 1
