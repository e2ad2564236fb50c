"""What the end of a line may not break."""

from __future__ import annotations

from course_book.whole import whole

SPAN = '<span class="whole">{}</span>'


def test_a_compound_in_a_heading_and_a_models_name_stay_on_one_line() -> None:
    assert whole("<h1>The feed-forward network</h1>") == (
        f"<h1>The {SPAN.format('feed-forward')} network</h1>"
    )
    assert whole("<p>GPT-2, post-norm</p>") == f"<p>{SPAN.format('GPT-2')}, post-norm</p>"


def test_tags_code_and_entities_are_left_alone() -> None:
    for text in (
        '<h2>Order<a class="headerlink" href="#the-order" title="to-this-place">#</a></h2>',
        "<pre>GPT-2</pre><script>'GPT-2'</script><svg><text>GPT-2</text></svg>",
        '<a title="GPT-2" href="#GPT-2">it</a>',
        "<p>a − 1 &#x27;s</p>",
    ):
        assert whole(text) == text


def test_short_code_is_not_broken_and_long_code_is() -> None:
    code = '<code class="docutils literal notranslate">{}</code>'
    short = code.format('<span class="pre">t</span> <span class="pre">-</span> 1')
    assert whole(short).startswith('<code class="whole docutils')
    long = code.format("budget = 'full', seed = 0")
    assert whole(long) == long
    assert whole(code.format("tril()")) == code.format("tril()")
