"""All tests run in one process, in which a name is one module."""

from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The folders that are on the path; those with an __init__.py are packages.
FOLDERS = [HERE, *(path.parent for path in HERE.glob("*/test_*.py")), HERE.parent.parent / "examples"]


def test_modules_have_names_of_their_own():
    names = Counter(path.stem for folder in set(FOLDERS) for path in folder.glob("*.py"))
    assert [name for name, count in names.items() if count > 1] == []
