"""The tokenizer against the textbook algorithm, the exact count, its errors, and its files."""

import json
import os
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import regex

from course import tokenizer as tokenizer_module
from course.corpus import Corpus, CorpusError, load_corpus
from course.grammar import generate
from course.tokenizer import Tokenizer

# As published with GPT-2; the course's pattern has the alternatives in another order.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def textbook_merges(text: str, n_merges: int) -> list[tuple[int, int]]:
    """Sennrich et al. 2016, algorithm 1: all pairs counted again after every merge."""
    words = Counter(regex.findall(GPT2_PATTERN, text))
    split = [list(word.encode()) for word in words]
    merges = []
    while len(merges) < n_merges:
        counts: Counter = Counter()
        for word, frequency in zip(split, words.values(), strict=True):
            for pair in pairwise(word):
                counts[pair] += frequency
        if not counts:
            break
        best = max(counts, key=counts.__getitem__)  # the first of several: the pair met first
        split = [replace(word, best, 256 + len(merges)) for word in split]
        merges.append(best)
    return merges


def replace(word: list[int], pair: tuple[int, int], new: int) -> list[int]:
    out, i = [], 0
    while i < len(word):
        hit = tuple(word[i : i + 2]) == pair
        out.append(new if hit else word[i])
        i += 2 if hit else 1
    return out


def textbook_encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """In each word, always the merge learned first of those that are possible."""
    rank = {pair: i for i, pair in enumerate(merges)}
    out = []
    for piece in regex.findall(GPT2_PATTERN, text):
        word = list(piece.encode())
        while found := [pair for pair in pairwise(word) if pair in rank]:
            best = min(found, key=rank.__getitem__)
            word = replace(word, best, 256 + rank[best])
        out += word
    return out


SAMPLE = (
    generate(6000)
    + "Ænima, naïve café; 東京タワー 東京 \t\n\n it's they've 1234 12 🙂🙂 \u200d aaaaaaa"
)


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return Tokenizer.train(SAMPLE, 400)


@pytest.fixture(scope="module")
def shakespeare() -> Corpus:
    try:
        return load_corpus(fallback=False)
    except CorpusError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs the corpus: {error}")


def test_the_corpus_has_exactly_459760_tokens(shakespeare):
    assert len(shakespeare.text) == 1_115_394
    tokenizer = Tokenizer.train(shakespeare.text, 1024)
    ids = tokenizer.encode_array(shakespeare.text)
    assert len(ids) == 459_760
    assert tokenizer.vocab_size == 1024
    assert len(tokenizer.merges) == 768
    assert tokenizer.decode(ids) == shakespeare.text
    # A tokenizer that has not seen the words in training splits them the same way.
    np.testing.assert_array_equal(Tokenizer(tokenizer.merges).encode_array(shakespeare.text), ids)


def test_it_is_fast_enough(shakespeare):
    start = time.process_time()
    tokenizer = Tokenizer.train(shakespeare.text, 1024)
    learned = time.process_time()
    fresh = Tokenizer(tokenizer.merges)
    begun = time.process_time()
    fresh.encode_array(shakespeare.text)
    encoded = time.process_time()
    assert learned - start < 5
    assert encoded - begun < 2


@pytest.mark.parametrize(
    "text",
    [
        SAMPLE,
        "low low low low low lower lower newest newest newest newest newest newest widest widest",
        "aaaa aaa aa a aaaaaaaaaaaaaaaa baaab",
        "abababab bababa abab aabbaabb",
        "xy zw",
    ],
)
def test_merges_and_ids_equal_the_textbooks(text):
    merges = textbook_merges(text, 150)
    tokenizer = Tokenizer.train(text, 256 + len(merges))
    assert tokenizer.merges == merges
    assert tokenizer.encode(text) == textbook_encode(text, merges)
    other = "a lower widest naïve 東 aaaaaab bab'll xyzw\n\n  zw"
    assert tokenizer.encode(other) == textbook_encode(other, merges)


def test_counts_are_weighted_by_how_often_a_word_occurs():
    # "ab" stands in three different words, "yz" in one that occurs four times.
    assert Tokenizer.train("ab\nabc\nabd\nyz\nyz\nyz\nyz", 257).merges == [(ord("y"), ord("z"))]


def test_of_equal_counts_the_pair_met_first_wins():
    assert Tokenizer.train("qr op", 257).merges == [(ord("q"), ord("r"))]
    assert Tokenizer.train("op qr", 257).merges == [(ord("o"), ord("p"))]


def test_the_pattern_splits_as_gpt2_does():
    pattern = tokenizer_module.SPLIT_PATTERN
    assert regex.findall(pattern, SAMPLE) == regex.findall(GPT2_PATTERN, SAMPLE)
    assert regex.findall(pattern, "I'll go,  he's  \n 12a") == [
        *("I", "'ll", " go", ",", " ", " he", "'s", "  \n", " 12", "a")
    ]


def test_one_long_word_is_no_trouble(small):
    text = "ab" * 200_000 + "東" * 1000
    start = time.process_time()
    ids = small.encode(text)
    assert small.decode(ids) == text
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "\x00", "a", "🙂", "e\u0301", "\ufeff", "\U0010ffff"]
)
def test_short_and_strange_texts_come_back(small, text):
    assert small.decode(small.encode(text)) == text
    assert small.encode_array(text).dtype == np.int64
    assert small.encode_array(text).tolist() == small.encode(text)


def test_without_merges_the_tokens_are_the_bytes():
    bare = Tokenizer.train("whatever", 256)
    assert bare.merges == []
    assert bare.encode("né") == list("né".encode())
    assert bare == Tokenizer()


def test_token_bytes(small):
    assert small.token_bytes(65) == b"A"
    assert b"".join(small.token_bytes(i) for i in small.encode(SAMPLE)) == SAMPLE.encode()
    for a, b in small.merges[:3]:
        token = 256 + small.merges.index((a, b))
        assert small.token_bytes(token) == small.token_bytes(a) + small.token_bytes(b)


def test_a_list_an_iterator_and_an_array_decode_alike(small):
    ids = small.encode("The captain is weary.")
    for kind in (tuple(ids), iter(ids), np.array(ids, dtype=np.uint16)):
        assert small.decode(kind) == "The captain is weary."
    assert small.decode([]) == small.decode(np.array([], dtype=np.int64)) == ""


def test_a_lone_surrogate_is_refused_and_named(small):
    for function in (small.encode, small.encode_array, lambda text: Tokenizer.train(text, 257)):
        with pytest.raises(ValueError, match=r"character 2 .*U\+D83D"):
            function("ab\ud83dcd")


def test_ids_out_of_the_vocabulary_are_named(small):
    with pytest.raises(ValueError, match=r"id 400 at place 1 .*0 to 399"):
        small.decode([1, 400])
    with pytest.raises(ValueError, match="id -1 at place 0"):
        small.decode([-1])
    with pytest.raises(ValueError, match="id 400"):
        small.token_bytes(400)


@pytest.mark.parametrize("ids", [[1.0], [True, False], ["a"], np.array([0.5]), [None]])
def test_ids_that_are_no_numbers_are_refused(small, ids):
    with pytest.raises(TypeError, match="whole numbers"):
        small.decode(ids)


def test_ids_of_another_shape_are_refused(small):
    with pytest.raises(ValueError, match=r"\(n_tokens,\), got \(1, 2\)"):
        small.decode(np.array([[65, 66]]))
    with pytest.raises(ValueError, match=r"got \(\)"):
        small.decode(np.array(65))


def test_half_a_character_is_replaced_only_if_asked():
    bare = Tokenizer()
    ids = bare.encode("a東b")[:-2]  # the last byte of 東 is missing
    with pytest.raises(ValueError, match=r"byte 1 of 3 is 0xe6 .*errors=\"replace\""):
        bare.decode(ids)
    assert bare.decode(ids, errors="replace") == "a\ufffd"
    with pytest.raises(ValueError, match="'ignore'"):
        bare.decode(ids, errors="ignore")


@pytest.mark.parametrize("vocab_size", [255, 0, -1, 0x110000])
def test_a_vocabulary_that_cannot_be_is_refused(vocab_size):
    with pytest.raises(ValueError, match=f"got {vocab_size}"):
        Tokenizer.train("some text", vocab_size)


def test_a_text_with_too_few_pairs_says_how_far_it_reaches():
    with pytest.raises(ValueError, match=r"1024 needs 768 merges.*only 3 .*vocab_size <= 259"):
        Tokenizer.train("abcd", 1024)
    assert Tokenizer.train("abcd", 259).encode("abcd") == [258]
    with pytest.raises(ValueError, match="only 0"):
        Tokenizer.train("", 257)


def test_merges_must_build_on_what_there_is():
    with pytest.raises(ValueError, match=r"merge 1 joins ids 257 and 98, not both < 257"):
        Tokenizer([(97, 98), (257, 98)])
    with pytest.raises(ValueError, match="not both < 256"):
        Tokenizer([(-1, 98)])
    with pytest.raises(ValueError, match=r"\(97, 98\) is listed 2 times"):
        Tokenizer([(97, 98), (97, 98)])


def test_words_remembered_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(tokenizer_module, "_MAX_REMEMBERED", 100)
    tokenizer = Tokenizer()
    for i in range(50):
        assert tokenizer.decode(tokenizer.encode(" ".join(f"w{i}x{j}" for j in range(20))))
    assert len(tokenizer._words) < 300


def test_saved_and_loaded_it_is_the_same(small, tmp_path):
    path = small.save(tmp_path / "folder" / "tokenizer.json")
    loaded = Tokenizer.load(path)
    assert loaded == small
    assert loaded.encode(SAMPLE) == small.encode(SAMPLE)
    assert os.listdir(path.parent) == ["tokenizer.json"]


def edited(change):
    def write(path):
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    return write


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_text(path.read_text()[:-20]), "not a saved tokenizer"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "not a saved tokenizer"),
        (lambda path: path.write_text("[]"), "format"),
        (edited(lambda data: data.update(format="other")), "format"),
        (edited(lambda data: data.update(split_pattern=".")), "another pattern"),
        (edited(lambda data: data.update(vocab_size=300)), "vocab_size 300 but 144 merges"),
        (edited(lambda data: data.pop("merges")), "merges"),
        (edited(lambda data: data["merges"].pop()), "vocab_size 400 but 143 merges"),
        (edited(lambda data: data["merges"].__setitem__(0, [1, 2, 3])), "not a pair"),
        (edited(lambda data: data["merges"].__setitem__(0, [1.5, 2])), "not a pair"),
        (edited(lambda data: data["merges"].__setitem__(0, [999, 2])), "not both < 256"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(small, tmp_path, damage, message):
    path = small.save(tmp_path / "tokenizer.json")
    damage(path)
    with pytest.raises(ValueError, match=message) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Tokenizer.load(tmp_path / "nowhere.json")
