"""Lines of keys: documents that are written key by key, so that every line is known, and awkward ones by hand."""

import random
import tomllib

import pytest

from daedal.projects.lines import list_lines

AWKWARD = """\
# [not.a.table]
title = "a # in a \\"text\\" = [1]"   # and a remark with = and [
'quoted key' = '''
[no table]
no = "key"
'''
"dotted.in.quotes" . plain = 1979-05-27 07:32:00
text = \"\"\"
x = { y = 1 }\\
  \\\"""
\"\"\"\"\"
list = [
  1, # one ]
  { deep = [ "]", 2 ], other = '}' },
]

[ table . "sub table" ]
empty = {}
[[data]]
[[ data ]]
[data.inner]
a.b.c = [[1, 2], [3]]
[[data.inner.more]]
k = 1
[[data.inner.more]]
k = 2
"""


def test_an_awkward_text():
    tomllib.loads(AWKWARD)
    lines = list_lines(AWKWARD)
    expected = {
        ("title",): 2,
        ("quoted key",): 3,
        ("dotted.in.quotes", "plain"): 7,
        ("text",): 8,
        ("list",): 12,
        ("list", 0): 13,
        ("list", 1, "deep"): 14,
        ("list", 1, "deep", 1): 14,
        ("list", 1, "other"): 14,
        ("table", "sub table"): 17,
        ("table", "sub table", "empty"): 18,
        ("data", 0): 19,
        ("data", 1): 20,
        ("data", 1, "inner"): 21,
        ("data", 1, "inner", "a", "b", "c", 1, 0): 22,
        ("data", 1, "inner", "more", 0, "k"): 24,
        ("data", 1, "inner", "more", 1, "k"): 26,
    }
    assert {address: lines.get(address) for address in expected} == expected


class Author:
    """Writes TOML at random, and notes on which line each key is."""

    def __init__(self, seed: int) -> None:
        self.random, self.parts, self.noted = random.Random(seed), [], {}

    @property
    def line(self) -> int:
        return "".join(self.parts).count("\n") + 1

    def write(self) -> str:
        self.entries((), 3)
        for number in range(self.random.randrange(1, 5)):
            repeated = self.random.random() < 0.5
            name = f"table{number}"
            for entry in range(self.random.randrange(1, 3) if repeated else 1):
                address = (name, entry) if repeated else (name,)
                self.noted[address] = self.line
                self.parts.append(f"[[{name}]]\n" if repeated else f"[ {name} ] # [x]\n")
                self.entries(address, self.random.randrange(4))
        return "".join(self.parts)

    def entries(self, table: tuple, count: int) -> None:
        for number in range(count):
            self.parts.append(self.random.choice(["", "\n", "# a = 1\n", "  "]))
            self.entry(table, number)
            self.parts.append(self.random.choice(["\n", "  # b = [\n"]))

    def entry(self, table: tuple, number: int) -> None:
        kind = self.random.randrange(4)
        keys = (f"k{number}", "sub") if kind == 3 else (f"k{number}",)
        written = {0: keys[0], 1: f'"{keys[0]}"', 2: f"'{keys[0]}'", 3: f'{keys[0]} . "sub"'}[kind]
        self.noted[(*table, *keys)] = self.line
        self.parts.append(f"{written} = ")
        self.value((*table, *keys), 3)

    def value(self, address: tuple, depth: int) -> None:
        kind = self.random.randrange(9 if depth else 7)
        plain = [
            "-1.5e3",
            '"# = [ { \\" "',
            "'}]'",
            "true",
            '"""\n x = 1 # \\""" ]\n"""',
            "'''\n[t]\n'''",
            "2020-01-02",
        ]
        if kind < 7:
            self.parts.append(plain[kind])
        elif kind == 7:
            self.parts.append(self.random.choice(["[", "[ # ]\n"]))
            for number in range(self.random.randrange(4)):
                self.noted[(*address, number)] = self.line
                self.value((*address, number), depth - 1)
                self.parts.append(self.random.choice([",", " , # x ]\n"]))
            self.parts.append("]")
        else:
            self.parts.append("{")
            for number in range(count := self.random.randrange(3)):
                self.entry(address, number)
                self.parts.append(", " if number < count - 1 else "")
            self.parts.append("}")


def look_up(content, address):
    for key in address:
        content = content[key]
    return content


@pytest.mark.parametrize("seed", range(200))
def test_every_key_of_a_text_that_was_written_at_random(seed):
    author = Author(seed)
    text = author.write()
    content, lines = tomllib.loads(text), list_lines(text)
    assert author.noted
    for address, line in author.noted.items():
        look_up(content, address)  # the author's own notes are right
        assert lines[address] == line, (address, text)
