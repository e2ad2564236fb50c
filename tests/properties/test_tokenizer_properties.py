"""What holds of the tokenizer for every text."""

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from course.tokenizer import SPLIT_PATTERN, Tokenizer
from tests.test_tokenizer import (
    GPT2_PATTERN,
    SAMPLE,
    textbook_encode,
    textbook_merges,
)

TOKENIZER = Tokenizer.train(SAMPLE, 500)
# Few letters, so that pairs repeat, overlap and tie.
KNOTTY = st.text(alphabet="ab c'\né", max_size=120)


def trained(text: str, most: int = 40) -> Tokenizer:
    return Tokenizer.train(text, 256 + len(textbook_merges(text, most)))


@given(st.text())
def test_decoding_gives_the_text_back(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.encode_array(text).tolist() == TOKENIZER.encode(text)


@given(st.text())
def test_the_bytes_of_the_tokens_are_the_text(text):
    assert b"".join(map(TOKENIZER.token_bytes, TOKENIZER.encode(text))) == text.encode()


@given(st.text())
def test_it_splits_as_gpt2_does(text):
    pieces = regex.findall(SPLIT_PATTERN, text)
    assert pieces == regex.findall(GPT2_PATTERN, text)
    assert "".join(pieces) == text


@given(st.text())
def test_a_word_at_a_time_gives_the_same_ids(text):
    words = regex.findall(GPT2_PATTERN, text)
    assert [id_ for word in words for id_ in TOKENIZER.encode(word)] == TOKENIZER.encode(text)


@given(st.lists(st.text(), max_size=5))
def test_what_was_encoded_before_changes_nothing(texts):
    used = Tokenizer(TOKENIZER.merges)
    for text in texts:
        assert used.encode(text) == Tokenizer(TOKENIZER.merges).encode(text)


@settings(max_examples=200)
@given(KNOTTY, KNOTTY)
def test_merges_and_ids_are_the_textbooks(text, other):
    merges = textbook_merges(text, 40)
    tokenizer = Tokenizer.train(text, 256 + len(merges))
    assert tokenizer.merges == merges
    assert tokenizer.encode(text) == textbook_encode(text, merges)
    assert tokenizer.encode(other) == textbook_encode(other, merges)


@given(KNOTTY)
def test_training_twice_gives_the_same(text):
    assert trained(text) == trained(text)


@given(KNOTTY, st.integers(0, 40))
def test_fewer_merges_are_the_first_of_more(text, n):
    merges = trained(text).merges
    n = min(n, len(merges))
    assert Tokenizer.train(text, 256 + n).merges == merges[:n]


@given(KNOTTY, KNOTTY)
def test_another_merge_never_makes_a_text_longer(text, other):
    merges = trained(text, 15).merges
    lengths = [len(Tokenizer(merges[:n]).encode(other)) for n in range(len(merges) + 1)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == len(other.encode())


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1)))
def test_any_ids_decode_with_replacement(ids):
    data = b"".join(map(TOKENIZER.token_bytes, ids))
    assert TOKENIZER.decode(ids, errors="replace") == data.decode("utf-8", "replace")
