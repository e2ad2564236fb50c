"""What a page does with its tables."""

from __future__ import annotations

import pytest

from tests.book import minibook  # noqa: F401  puts book/_ext on the path

from course_book import tables  # isort: skip

LONG = "a sentence that says at some length what was seen when the thing was measured again " * 2


def made(*rows: str, head: str = "") -> str:
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<table class="course-table">{head}<tbody>{body}</tbody></table>'


def test_a_head_that_says_nothing_is_dropped_and_one_that_says_something_stays() -> None:
    row = "<td>in</td><td>out</td>"
    empty = made(row, head='<thead>\n<tr><td></td><th class="head"><p></p></th></tr>\n</thead>\n')
    assert tables.finish(empty) == f'<div class="scroll">{made(row)}</div>'
    said = made(row, head="<thead><tr><td></td><th>what</th></tr></thead>")
    assert "<thead>" in tables.finish(said)


def test_the_names_of_rows_and_of_groups_say_what_they_name() -> None:
    found = tables.finish(
        made('<th class="stub" colspan="2"><p>All</p></th>', '<th class="stub">a</th><td>1</td>')
    )
    assert '<th scope="rowgroup" colspan="2"><p>All</p>' in found
    assert '<th scope="row">a</th>' in found


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (
            "<td>',' ':'</td>",
            """<td><code class="whole">','</code> <code class="whole">':'</code>""",
        ),
        ("<td>'\\n' ' of'</td>", "<code class=\"whole\">' of'</code></td>"),
        ("""<td>"'" 'a'</td>""", """<td><code class="whole">"'"</code> """),
        (
            "<td>the pair's noun, and 'both' of them</td>",
            "<td>the pair's noun, and 'both' of them</td>",
        ),
    ],
)
def test_strings_are_code_and_words_are_not(cell: str, shown: str) -> None:
    assert shown in tables.finish(made(cell))


def test_a_long_name_may_be_broken_where_it_is_joined() -> None:
    found = tables.finish(
        made(
            '<td><a href="../a_long_name/of_a_file">context_length</a></td>'
            "<td>nn.MultiheadAttention</td><td>@fontsource/ibm-plex-mono</td><td>d_model</td>"
            "<td><math><annotation>\\text{a_long_name_here}</annotation></math></td>"
        )
    )
    assert '<a href="../a_long_name/of_a_file">context_<wbr>length</a>' in found
    assert ">nn.Multihead<wbr>Attention<" in found
    assert ">@fontsource/<wbr>ibm-plex-mono<" in found
    assert ">d_model<" in found
    assert "{a_long_name_here}" in found


def test_a_text_beside_many_columns_gets_a_line_of_its_own_on_a_telephone() -> None:
    head = "<thead><tr><td></td><th>claim</th><th>verdict</th><th class='x'>seen</th></tr></thead>"
    head = head.replace("'", '"')
    row = f"<th>A1</th><td>it</td><td>holds</td><td>{LONG}</td>"
    found = tables.finish(made(row, head=head))
    assert '<table class="stack course-table" style="--others: 3">' in found
    assert '<th class="text x">seen</th>' in found
    assert f'<td class="text">{LONG}</td>' in found
    assert found.count("text") == 2
    narrow = made(f"<th>A1</th><td>{LONG}</td>")
    assert tables.finish(narrow) == f'<div class="scroll">{narrow}</div>'


def test_a_table_with_joined_cells_is_not_stacked() -> None:
    uneven = made("<th>a</th><td>b</td><td>c</td><td>d</td>", f'<td colspan="4">{LONG}</td>')
    assert "stack" not in tables.finish(uneven)
