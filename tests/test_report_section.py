"""One list of sections, in Markdown, in HTML and as CSV."""

import csv
import io
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.metrics.estimate import Estimate, missing
from personalbench.report.html import html
from personalbench.report.section import Column, Figure, Section, Table, columns, markdown, plain

TABLE = Table(
    caption="Twins",
    columns=columns("line", Column("TMR", help="Share of traits."), Column("share", form=".0%")),
    rows=(
        ("few_shot", Estimate(value=0.123456, ci_low=0.1, ci_high=0.2, n=9), 0.5),
        ("profile", missing("no | text"), 1),
    ),
)
SECTION = Section(
    id="twins",
    title="Twins",
    basis="n = 9; encoder luar-mini.",
    text=("First words.",),
    points=("A point.",),
    figures=(Figure("bars", "Bars of all.", "Two bars.", "<svg id='drawn'></svg>", b"png"),),
    tables=(TABLE,),
    notes=("A note.",),
)


class _Page(HTMLParser):
    """All text, and all tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_section_has_the_same_parts_in_markdown_and_html() -> None:
    text, page = markdown([SECTION]), html([SECTION])
    seen = "".join(_Page(page).text)
    for part in ("First words.", "A point.", "A note.", "Bars of all.", "0.123", "n = 9"):
        assert part in text
        assert part in seen
    assert text.startswith(
        "## Twins\n\nFirst words.\n\n- A point.\n\n![Two bars.](figures/bars.png)"
    )
    assert "| few_shot | 0.123 [0.100, 0.200] | 50%   |" in text
    assert "<svg id='drawn'></svg>" in page


def test_what_is_missing_says_why_below_the_table() -> None:
    assert r"- profile TMR: no \| text." in markdown([SECTION])
    page = _Page(html([SECTION]))
    assert ("span", {"class": "missing", "data-help": "no | text", "tabindex": "0"}) in page.tags
    assert "profile TMR: no | text." in "".join(page.text)


def test_csv_has_full_precision_and_intervals_in_columns_of_their_own() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0] == ["line", "TMR", "TMR low", "TMR high", "share"]
    assert rows[1] == ["few_shot", "0.123456", "0.1", "0.2", "0.5"]
    assert rows[2] == ["profile", "", "", "", "1"]
    (link,) = [tag for name, tag in _Page(html([SECTION])).tags if name == "a"]
    assert link["download"] == "twins.csv"
    assert unquote((link["href"] or "").split(",", 1)[1]) == TABLE.csv()


def test_the_terminal_has_the_table_as_it_is() -> None:
    assert plain(TABLE).split("\n")[0].split() == ["|", "line", "|", "TMR", "|", "share", "|"]
    assert len({len(line) for line in plain(TABLE).split("\n")}) == 1


def test_a_row_has_a_cell_for_every_column() -> None:
    with pytest.raises(ValueError, match="1 cells, 2 columns"):
        Table("Short", columns("a", "b"), (("x",),))


HOSTILE = "<script>alert(1)</script> & \"quoted\" 'single' *bold* `code` [a](http://b.c) | \u2028"


def test_every_text_is_escaped() -> None:
    section = Section(
        id="x",
        title=HOSTILE,
        basis=HOSTILE,
        text=(HOSTILE,),
        points=(HOSTILE,),
        tables=(
            Table(HOSTILE, columns(Column(HOSTILE, help=HOSTILE), "b"), ((HOSTILE, HOSTILE),)),
        ),
        notes=(HOSTILE,),
    )
    page = _Page(html([section]))
    assert "script" not in {tag for tag, _ in page.tags}
    assert "".join(page.text).count(HOSTILE) == 9
    text = markdown([section])
    assert not re.search(r"(?<!\\)[<*`]|(?<!\\)\](?=\()", text.replace("**", ""))


@given(st.text(max_size=40))
def test_a_cell_never_breaks_its_table(text: str) -> None:
    rows = markdown([Section("s", "t", "", tables=(Table("c", columns("a"), ((text,),)),))])
    table = [line for line in rows.split("\n") if line.startswith("|")]
    assert len(table) == 3
    assert len(re.findall(r"(?<!\\)\|", table[2].replace("\\\\", ""))) == 2
