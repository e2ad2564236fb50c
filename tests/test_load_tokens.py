"""The corpus as ids: the split, the cache and what happens to it, several processes at once."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from course import tokenizer as tokenizer_module
from course.corpus import Corpus
from course.files import cache_dir
from course.grammar import generate
from course.tokenizer import Tokenizer, load_tokens


@pytest.fixture
def text_corpus(tmp_path, monkeypatch) -> Corpus:
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return Corpus(generate(20_000), "built-in grammar", "test", "ab" * 42, True)


def test_the_split_is_nine_to_one_in_order(text_corpus):
    tokens = load_tokens(text_corpus, 300)
    ids = tokens.tokenizer.encode(text_corpus.text)
    assert tokens.train.dtype == tokens.held_out.dtype == torch.int64
    assert len(tokens.train) == len(ids) * 9 // 10
    assert tokens.train.tolist() + tokens.held_out.tolist() == ids
    assert tokens.corpus is text_corpus


def test_the_second_time_comes_from_the_cache(text_corpus, monkeypatch):
    first = load_tokens(text_corpus, 300)
    monkeypatch.setattr(Tokenizer, "train", lambda *_: pytest.fail("learned again"))
    second = load_tokens(text_corpus, 300)
    assert second.tokenizer == first.tokenizer
    assert torch.equal(second.train, first.train)
    assert torch.equal(second.held_out, first.held_out)
    second.train[0] = 7  # the cache is not handed out: the next reader gets its own
    assert torch.equal(load_tokens(text_corpus, 300).train, first.train)


def test_another_vocabulary_has_a_cache_of_its_own(text_corpus):
    assert load_tokens(text_corpus, 256).tokenizer.vocab_size == 256
    assert load_tokens(text_corpus, 300).tokenizer.vocab_size == 300
    assert len(load_tokens(text_corpus, 256).train) > len(load_tokens(text_corpus, 300).train)


def pickled(path):
    np.savez(path, merges=np.array([{}], dtype=object), ids=np.array([1]))


def other_text(path):
    np.savez(path, merges=np.zeros((0, 2), np.uint32), ids=np.array([65, 66], np.uint32))


def wrong_ids(path):
    with np.load(path) as arrays:
        merges, ids = arrays["merges"], arrays["ids"]
    np.savez(path, merges=merges, ids=ids[::-1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"not a zip file at all"),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(path.read_bytes()[:200] + b"x" + path.read_bytes()[201:]),
        lambda path: np.savez(path, merges=np.zeros((0, 2))),
        pickled,
        other_text,
        wrong_ids,
    ],
)
def test_a_damaged_cache_is_made_again_with_a_note(text_corpus, damage):
    before = load_tokens(text_corpus, 300)
    (path,) = cache_dir().glob("tokens-*.npz")
    damage(path)
    with pytest.warns(UserWarning, match="damaged .* made again"):
        after = load_tokens(text_corpus, 300)
    assert torch.equal(after.train, before.train)
    assert torch.equal(load_tokens(text_corpus, 300).train, before.train)  # without a warning


def test_a_full_disk_costs_only_the_cache(text_corpus, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tokenizer_module, "atomic_write_bytes", full)
    with pytest.warns(UserWarning, match="could not be kept"):
        tokens = load_tokens(text_corpus, 300)
    assert len(tokens.train)


def test_a_text_too_small_for_the_vocabulary_is_an_error(text_corpus):
    with pytest.raises(ValueError, match="vocab_size 30000 needs"):
        load_tokens(text_corpus, 30_000)


def test_tensors_decode_too():
    tokenizer = Tokenizer()
    assert tokenizer.decode(torch.tensor(tokenizer.encode("a weary captain"))) == "a weary captain"
    assert tokenizer.decode(torch.tensor([], dtype=torch.long)) == ""
    with pytest.raises(ValueError, match=r"got \(1, 2\)"):
        tokenizer.decode(torch.tensor([[65, 66]]))
    with pytest.raises(TypeError, match="whole numbers, got float"):
        tokenizer.decode(torch.tensor([65.0]))


REPOSITORY = Path(__file__).parents[1]
READER = """
import sys
sys.modules["torch"] = None  # quicker to start, and shows that nothing here needs it
from course.corpus import Corpus
from course.grammar import generate
from course.tokenizer import _load_ids
corpus = Corpus(generate(20_000), "built-in grammar", "test", "ab" * 42, True)
print(_load_ids(corpus, 300)[1].tolist())
"""


def test_processes_at_once_do_not_disturb_each_other(text_corpus):
    command = [sys.executable, "-W", "error", "-c", READER]
    readers = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY
        )
        for _ in range(4)
    ]
    results = [reader.communicate(timeout=120) for reader in readers]
    assert [error for _, error in results] == [""] * 4
    tokens = load_tokens(text_corpus, 300)
    expected = f"{tokens.train.tolist() + tokens.held_out.tolist()}\n"
    assert [output for output, _ in results] == [expected] * 4
    assert [path.suffix for path in cache_dir().iterdir()] == [".npz"]  # no half files left


def test_the_tokenizer_needs_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from course.tokenizer import Tokenizer\n"
        "print(Tokenizer.train('low low lower', 260).encode('lower'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert done.stderr == ""
    assert done.stdout == f"{Tokenizer.train('low low lower', 260).encode('lower')}\n"
