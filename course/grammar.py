"""A little grammar that writes scenes of a play: the text to train on where there is no corpus.

It is no Shakespeare, but what makes context worth having is in it, on purpose. Verbs agree with a
subject that may stand some words before ("the captains that guard the gate are weary"). A scene
has a subject, a few speakers, and an oath for each of them that comes back word for word. An
answer takes up the noun of the question before it. "He" or "she" goes with the name just said. A
model that sees one token can learn none of this; one that averages its past learns which words
belong to the scene; attention can look up the rest.

The same seed gives the same text on every machine and Python: only ``random.Random.random`` is
used, the one generator whose sequence Python promises to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

LENGTH = 500_000  # characters of the text that stands in for the corpus

# Each subject of a scene: who is in it, and what. "wolf/wolves" gives a plural that is not -s.
SUBJECTS = {
    "war": (
        "captain soldier archer enemy/enemies rider spy/spies guard smith",
        "sword shield banner drum wall gate tent wound arrow bridge siege truce helmet camp",
    ),
    "sea": (
        "sailor pilot pirate merchant fisherman/fishermen gull whale stranger",
        "ship sail storm harbour island wave anchor rope net lantern cargo/cargoes tide mast shore",
    ),
    "court": (
        "king queen servant herald judge duke counsellor fool",
        "crown throne letter law secret promise debt seal chamber feast goblet robe title charge",
    ),
    "love": (
        "lover poet maiden rival cousin nurse/nurses dancer singer",
        "ring song rose garden window dream heart kiss/kisses veil vow mirror dance glove sigh",
    ),
    "field": (
        "farmer shepherd sheep/sheep wolf/wolves miller reaper ox/oxen widow",
        "field harvest plough barn well orchard mill brook hill fire loaf/loaves fence seed meadow",
    ),
    "night": (
        "ghost witch/witches owl monk thief/thieves raven watchman/watchmen prophet",
        "shadow candle bell tower moon star grave dagger door key riddle chapel cloud mist",
    ),
}
MEN = "Aldric Bertolt Corvin Dorian Edmar Falco Gaspar Hobart Ivo Jorin Lucan Merrick Osric Tobin"
WOMEN = "Ailith Brisa Corisande Delphine Elinor Fiora Gwenda Honora Isolde Livia Mirabel Rosamund"
ADJECTIVES = (
    "old young proud gentle bitter silent golden broken weary honest false bold pale merry cruel "
    "faithful hungry noble hidden quiet foolish patient heavy strange bright bloody humble sweet"
)
VERBS = (
    "see find keep lose praise fear follow remember forget bless/blesses curse seek guard hide "
    "bring carry/carries break mend sell watch/watches hold love hate know leave trust steal burn"
)
DEEDS = (
    "sleep wake weep laugh sing wait fall rise vanish/vanishes tremble wander speak rest return "
    "kneel"
)
HELPERS = "will must shall would may might cannot should"
TIMES = [
    *("tonight", "again", "before dawn", "at last", "for ever", "in vain", "once more"),
    *("without fear", "by moonlight", "too late", "in silence", "tomorrow", "in the rain"),
    *("till morning", "as of old", "with a smile"),
]
OATHS = ["By", "Now by", "I swear by", "So help me", "Upon"]


class _Scene:
    """One scene: its subject, its speakers with their oaths, and what was last spoken of."""

    def __init__(self, random: Random) -> None:
        self.random = random
        people, things = SUBJECTS[self.pick(tuple(SUBJECTS))]
        self.people, self.things = people, things
        names = [(name, "he") for name in MEN.split()] + [(name, "she") for name in WOMEN.split()]
        self.cast = [names.pop(int(random.random() * len(names))) for _ in range(2 + self.roll(3))]
        self.oaths = {name: f"{self.pick(OATHS)} {self.noun_phrase(1)}" for name, _ in self.cast}
        self.asked = ""  # the noun of a question that is not answered yet

    def roll(self, n: int) -> int:
        return int(self.random.random() * n)

    def pick(self, words: str | Sequence[str]) -> str:
        if isinstance(words, str):
            words = _words(words)
        # The square makes the first words common and the last rare, as words are.
        return words[int(self.random.random() ** 2 * len(words))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def noun_phrase(self, depth: int = 0, plural: bool = False, person: bool = False) -> str:
        noun = _form(self.pick(self.people if person else self.things), plural)
        adjective = f"{self.pick(ADJECTIVES)} " if self.chance(0.35) else ""
        rest = ""
        if person and depth == 0 and self.chance(0.3):
            rest = f" that {self.verb(plural)} {self.noun_phrase(1, self.chance(0.3))}"
        elif depth == 0 and self.chance(0.15):
            rest = f" of {self.noun_phrase(1)}"
        return f"the {adjective}{noun}{rest}"

    def verb(self, plural: bool) -> str:
        # The plural of a verb is its bare form: the other way round from a noun's.
        return _form(self.pick(VERBS), not plural)

    def verb_phrase(self, plural: bool) -> str:
        kind = self.roll(5)
        if kind == 0:
            return f"{'are' if plural else 'is'} {self.pick(ADJECTIVES)}"
        if kind == 1:
            return f"{_form(self.pick(DEEDS), not plural)} {self.pick(TIMES)}"
        if kind == 2:
            bare = _form(self.pick(VERBS), False)
            return f"{self.pick(HELPERS)} {bare} {self.noun_phrase(1, self.chance(0.3))}"
        return f"{self.verb(plural)} {self.noun_phrase(1, self.chance(0.3))}"

    def statement(self) -> str:
        plural, person = self.chance(0.4), self.chance(0.7)
        return f"{self.noun_phrase(0, plural, person)} {self.verb_phrase(plural)}"

    def about(self, name: str, pronoun: str) -> list[str]:
        """Two lines on somebody: the second has a pronoun for the name in the first."""
        their = "his" if pronoun == "he" else "her"
        thing = _form(self.pick(self.things), False)
        first = f"{name} {self.verb_phrase(False)}"
        if self.chance(0.5):
            return [f"{first};", f"{pronoun} {self.verb_phrase(False)}."]
        return [f"{first},", f"and {their} {thing} is {self.pick(ADJECTIVES)}."]

    def speech(self, speaker: str, previous: str) -> list[str]:
        lines: list[str] = []
        if self.asked:
            lines.append(f"The {self.asked} is by {self.noun_phrase(1)}, {previous}.")
            self.asked = ""
        for _ in range(1 + self.roll(3)):
            kind = self.roll(7)
            if kind == 0:
                lines.append(f"{self.oaths[speaker]}, {self.statement()}!")
            elif kind == 1:
                lines += self.about(*self.cast[self.roll(len(self.cast))])
            elif kind == 2:
                bare = _form(self.pick(VERBS), False)
                address = f"{self.pick(ADJECTIVES)} {previous}"
                lines.append(f"{bare} {self.noun_phrase(0, self.chance(0.3))}, {address}.")
            elif kind == 3:
                lines += [f"If {self.statement()},", f"then {self.statement()}."]
            elif kind == 4:
                lines.append(f"I {_form(self.pick(VERBS), False)} {self.noun_phrase(0)}.")
            else:
                lines.append(f"{self.statement()}.")
        if self.chance(0.3):
            self.asked = _form(self.pick(self.things), False)
            lines.append(f"Where is the {self.asked}, {previous}?")
        return [line[0].upper() + line[1:] for line in lines]

    def speeches(self) -> Iterator[str]:
        order = [name for name, _ in self.cast]
        speaker, previous = order[0], order[1]
        for _ in range(6 + self.roll(10)):
            yield "\n".join([f"{speaker.upper()}:", *self.speech(speaker, previous), "", ""])
            others = [name for name in order if name != speaker]
            # The one who was spoken to answers, most of the time.
            following = previous if self.chance(0.7) else others[self.roll(len(others))]
            speaker, previous = following, speaker


@cache
def _words(words: str) -> list[str]:
    return words.split()


def _form(entry: str, with_s: bool) -> str:
    """The word as it is, or its form in -s: a noun's plural, a verb's third person."""
    bare, _, irregular = entry.partition("/")
    return (irregular or f"{bare}s") if with_s else bare


def generate(n_characters: int = LENGTH, seed: int = 0) -> str:
    """A text of exactly ``n_characters``; a longer one with the same seed begins with it.

    Raises:
        ValueError: ``n_characters`` is negative.
    """
    if n_characters < 0:
        raise ValueError(f"n_characters must be 0 or more, got {n_characters}")
    random = Random(seed)
    parts: list[str] = []
    size = 0
    while size < n_characters:
        for speech in _Scene(random).speeches():
            parts.append(speech)
            size += len(speech)
    return "".join(parts)[:n_characters]
