#!/usr/bin/env python3
"""Makes docs/images/report-*.png: each view of a page of remat-run --report-html, light and dark.

usage: scripts/report-images.py PAGE.html

docs/Report.md shows them, of the page that its first command makes.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

BROWSER = "chromium-headless-shell"
VIEWS = ("memory", "lifelines", "arena", "frontier", "times", "refusal")
WIDTH = 1180

# Shows one view, and says how high it is.
ALONE = """
<style>
  main > :not(#VIEW), #filters, #more { display: none !important }
  main { padding: 0 !important; max-width: none !important; margin: 0 !important }
  section { margin: 0 !important; border: 0 !important; border-radius: 0 !important }
</style>
<script>state.rows = 24; drawAll();
  document.documentElement.dataset.height = Math.ceil(byId("VIEW").getBoundingClientRect().height);</script>
"""


def browse(page, height, scheme, *options):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        f"--window-size={WIDTH},{height}", "--virtual-time-budget=5000", *options, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(page):
    images = pathlib.Path(__file__).resolve().parent.parent / "docs" / "images"
    images.mkdir(exist_ok=True)
    text = pathlib.Path(page).read_text()
    has_refusal = '"refused":null' not in text
    with tempfile.TemporaryDirectory() as folder:
        for view in VIEWS:
            # Of a refused budget the refusal is what there is to see.
            if (view == "refusal") != has_refusal:
                continue
            alone = pathlib.Path(folder) / f"{view}.html"
            alone.write_text(text.replace("</body>", ALONE.replace("VIEW", view) + "</body>"))
            drawn = browse(alone, 1000, "light", "--dump-dom")
            height = re.search(r'data-height="(\d+)"', drawn)[1]
            for scheme in ("light", "dark"):
                image = images / f"report-{view}-{scheme}.png"
                browse(alone, height, scheme, f"--screenshot={image}")


if __name__ == "__main__":
    main(*sys.argv[1:])
