"""The changes of bench/mutation: what is found in a text, and the text with choices in it."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "mutation"))

import sites  # noqa: E402


def choose(text: str, before: str, after: str) -> str:
    """The text with the only change of `before` into `after` as choice 7, without the two lines in front."""
    found = [site for site in sites.find_sites("a.cpp", text) if (site.before, site.after) == (before, after)]
    assert len(found) == 1, found
    return sites.write_choices(text, {7: found[0]}, "h").split("\n", 2)[2]


def test_an_operator_stands_in_its_whole_expression():
    # Its parts may have any precedence; the assignment and the other argument are outside.
    assert choose("  X = a < b && c;\n", "<", "<=") == "  X = (remat_mutant::is(7) ? (a <= b && c) : (a < b && c));\n"
    assert choose("  f(a, g(b) + c);\n", "+", "-") == "  f(a, (remat_mutant::is(7) ? (g(b) - c) : (g(b) + c)));\n"
    assert choose("  return a::b * c;\n", "*", "+") == "  return (remat_mutant::is(7) ? (a::b + c) : (a::b * c));\n"


def test_a_body_without_braces_keeps_its_condition():
    text = "  if (x)\n    y += z;\n"
    assert choose(text, "+=", "-=") == "  if (x)\n    (remat_mutant::is(7) ? (y -= z) : (y += z));\n"


def test_lines_keep_their_numbers():
    # The changed copy is in one line, without the comment, which would hide the rest of it.
    text = "  return a + // why\n         b;\n"
    changed, original = "(a -        b)", "(a + // why\n         b)"
    assert choose(text, "+", "-") == f"  return (remat_mutant::is(7) ? {changed} : {original});\n"


def test_conditions_and_statements():
    assert choose("  if (int a = f(); b)\n", "b", "!(b)") == (
        "  if (int a = f(); (remat_mutant::is(7) ? !(b) : static_cast<bool>(b)))\n"
    )
    assert choose("  g();\n  f(x);\n", "f(x);", "") == "  g();\n  { if (!remat_mutant::is(7)) { f(x); } }\n"


def test_what_is_no_code_has_no_place():
    text = 'assert(a < b);\n// a < b\n/* 1 +\n 2 */ auto S = " + 1", T = R"(\n + 1)";\n#if A + 1 > 2\nauto X = 1\'000;\n'
    assert sites.find_sites("a.cpp", text) == []


def test_a_declaration_is_not_left_out():
    text = "  g();\n  const Foo &X = f();\n  std::vector<int> Y(f());\n  auto Z = f();\n"
    assert [site.before for site in sites.find_sites("a.cpp", text)] == []
