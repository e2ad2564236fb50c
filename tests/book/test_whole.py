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


def test_a_long_name_in_code_may_be_broken_at_its_joints_and_nowhere_else() -> None:
    code = '<code class="docutils literal notranslate">{}</code>'
    name = whole(code.format('<span class="pre">course.models.encoder_decoder</span>'))
    assert name == code.format(
        '<span class="pre">course.<wbr>models.<wbr>encoder_<wbr>decoder</span>'
    )
    assert whole("<code>generate(model, max_new_tokens=24)</code>") == (
        "<code>generate(<wbr>model, max_<wbr>new_<wbr>tokens=24)</code>"
    )
    for short in ("<code>context_length</code>", "<pre><code>a.long_name.in_a_block</code></pre>"):
        assert whole(short) == short
    assert whole("<code>&quot;.course-widget&quot;</code>") == (
        "<code>&quot;.course-widget&quot;</code>"
    )


def test_an_option_is_not_broken_after_its_dashes() -> None:
    code = '<code class="docutils literal notranslate">{}</code>'
    alone = whole(code.format('<span class="pre">--force</span>'))
    assert alone.startswith('<code class="whole docutils')
    words = [f'<span class="pre">{word}</span>' for word in ("pip", "wheel", "--no-isolation")]
    assert '<span class="pre whole">--no-isolation</span>' in whole(code.format(" ".join(words)))
    assert whole("<code>-v</code>") == '<code class="whole">-v</code>'
