"""The letters mean the same in the notation, in the package's signatures and in its docstrings."""

from __future__ import annotations

import inspect

import pytest

from course import attention, block, notation
from course.models import GPT, EncoderDecoder, build_rung, gpt_parameters


def test_letters_and_names_are_unique():
    for field in ("letter", "name"):
        values = [getattr(entry, field) for entry in notation.LETTERS]
        assert len(values) == len(set(values))
    assert [w.word.lower() for w in notation.GLOSSARY] == sorted(
        w.word.lower() for w in notation.GLOSSARY
    )
    assert notation.letter("D").name == "d_head"
    with pytest.raises(KeyError, match="Q"):
        notation.letter("Q")


@pytest.mark.parametrize(
    "signature",
    [
        attention.Head,
        attention.MultiHeadAttention,
        attention.CrossAttention,
        block.Block,
        block.DecoderLayer,
        GPT,
        EncoderDecoder,
        build_rung,
        gpt_parameters,
    ],
)
def test_sizes_are_named_as_the_notation_names_them(signature):
    """nanoGPT's n_embd, PyTorch's embed_dim and the like are the notation page's second column."""
    foreign = {e.nanogpt for e in notation.LETTERS} | {e.pytorch for e in notation.LETTERS}
    foreign -= {e.name for e in notation.LETTERS}
    assert not foreign & set(inspect.signature(signature).parameters)


def test_the_terms_are_attributes_of_the_layers():
    layer = attention.MultiHeadAttention(8, 2, 4)
    for term in ("q_proj", "k_proj", "v_proj", "o_proj", "context_length", "n_heads", "d_head"):
        assert hasattr(layer, term)
        assert any(term in t.name for t in (*notation.TERMS, *notation.LETTERS)), (
            f"{term} is not in the notation"
        )
