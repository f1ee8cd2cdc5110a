#!/usr/bin/env python3
"""Makes C++ of the page's files: embed-page.py OUTPUT.cpp PAGE.html FILE...

The page has a line "<!-- style -->" and a line "<!-- script -->"; the files, .css and .js, come there
in the order given.
"""

import pathlib
import sys

# Compilers must take literals of 65536 characters.
LONGEST = 60000


def literal(text):
    assert ')page"' not in text
    parts = [text[i : i + LONGEST] for i in range(0, len(text), LONGEST)]
    return "\n".join(f'R"page({part})page"' for part in parts)


def main(output, page, *files):
    text = pathlib.Path(page).read_text()
    for suffix, place, tag in (
        (".css", "<!-- style -->\n", "style"),
        (".js", "<!-- script -->\n", "script"),
    ):
        chosen = [pathlib.Path(file).read_text() for file in files if file.endswith(suffix)]
        before, after = text.split(place)
        text = f"{before}<{tag}>\n{''.join(chosen)}</{tag}>\n{after}"
    before, after = text.split("<!-- data -->\n")
    pathlib.Path(output).write_text(
        "// Made by embed-page.py.\n"
        "namespace remat {\n"
        f"extern const char PageBegin[] =\n{literal(before)};\n"
        f"extern const char PageEnd[] =\n{literal(after)};\n"
        "} // namespace remat\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
