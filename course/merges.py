"""Which pairs to merge: the learning step of byte-pair encoding, with counts that are kept.

A word is a *string whose characters are token ids*, ``chr(id)``. A pair is a string of two
characters, and merging it in a word is ``str.replace``, which goes from left to right without
overlaps, exactly as the algorithm asks, at the speed of C.

Source: Sennrich et al. 2016, "Neural machine translation of rare words with subword units",
algorithm 1; their text counts all pairs again after each merge, which is what the tests compare to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise

N_BYTES = 256


def learn_merges(
    words: list[str], frequency: Sequence[int], n_merges: int
) -> list[tuple[int, int]]:
    """Learn up to ``n_merges`` merges; ``words`` (in order of first occurrence) end up merged.

    Counting all pairs again after each merge would be the textbook's way. Here the counts are
    kept, and a merge touches only the words that hold its pair. A merge can only take away
    occurrences of the pairs there were (its new pairs all hold the new token), so what the heap
    says of a pair is never too low: look at the best, and put it back if it has fallen since.
    """
    counts: dict[str, int] = defaultdict(int)
    homes: dict[str, list[int]] = defaultdict(list)  # pair → words that hold it or once did
    for i, word in enumerate(words):
        for a, b in pairwise(word):
            counts[a + b] += frequency[i]
            homes[a + b].append(i)
    width = [1] * N_BYTES  # of each token, in bytes

    def place(pair: str) -> tuple[int, int]:
        """Where the pair is met first: the word, and the byte in it."""
        home = next(i for i in homes[pair] if pair in words[i])
        before = words[home][: words[home].index(pair)]
        return home, sum(width[ord(token)] for token in before)

    heap = [(-count, *place(pair), pair) for pair, count in counts.items()]
    heapify(heap)
    merges: list[tuple[int, int]] = []
    while heap and len(merges) < n_merges:
        pair = heap[0][-1]
        if not counts[pair]:
            heappop(heap)
            continue
        now = (-counts[pair], *place(pair), pair)
        if now != heap[0]:
            heapreplace(heap, now)
            continue
        heappop(heap)
        new = chr(N_BYTES + len(merges))
        merges.append((ord(pair[0]), ord(pair[1])))
        width.append(width[ord(pair[0])] + width[ord(pair[1])])
        made = _merge(pair, new, words, frequency, counts, homes)
        for other in made:
            if counts[other]:
                heappush(heap, (-counts[other], *place(other), other))
    return merges


def _merge(
    pair: str,
    new: str,
    words: list[str],
    frequency: Sequence[int],
    counts: dict[str, int],
    homes: dict[str, list[int]],
) -> dict[str, None]:
    """Replace ``pair`` by ``new`` in ``words``, keep ``counts`` and ``homes``; the pairs made."""
    made: dict[str, None] = {}
    first, second = pair[0], pair[1]
    for i in dict.fromkeys(homes.pop(pair)):
        parts = words[i].split(pair)
        if len(parts) == 1:
            continue
        f = frequency[i]
        words[i] = new.join(parts)
        for left, right in pairwise(parts):
            # What stood before and after this occurrence; another occurrence: see below.
            if left:
                counts[left[-1] + first] -= f
                counts[left[-1] + new] += f
                homes[left[-1] + new].append(i)
                made[left[-1] + new] = None
            if right:
                counts[second + right[0]] -= f
                counts[new + right[0]] += f
                homes[new + right[0]].append(i)
                made[new + right[0]] = None
        for part in parts[1:-1]:
            if not part:  # two occurrences side by side
                counts[second + first] -= f
                counts[new + new] += f
                homes[new + new].append(i)
                made[new + new] = None
    counts[pair] = 0
    return made
