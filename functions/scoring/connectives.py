"""The words that join one thought to another, in the languages that `scoring.rubric` can count."""

import re
from collections.abc import Iterator, Sequence

__all__ = ["in_characters", "in_words"]

# English, French, German, Spanish, Italian, Portuguese and Dutch, a line or two each.
_WORDS = """
although because besides but consequently finally firstly furthermore hence however if instead lastly meanwhile
moreover nevertheless nonetheless otherwise secondly similarly since so then therefore though thus unless when
whenever whereas while yet
car cependant donc enfin ensuite lorsque mais néanmoins parce pourtant puisque toutefois
aber allerdings außerdem daher dennoch deshalb jedoch obwohl schließlich sondern trotzdem während weil zunächst
además aunque entonces luego mientras pero porque sino
infatti inoltre mentre perché però poiché quindi tuttavia
contudo embora enquanto portanto porém
bovendien daarom echter hoewel maar omdat terwijl toch
"""

_PHRASES = """
after all|as a result|as well|at first|at least|even so|first of all|for example|for instance|in addition|in contrast
in conclusion|in fact|in other words|in short|of course|on the other hand|such as|that is why|to sum up
en effet|en outre|par conséquent|par exemple
das heißt|zum beispiel
es decir|por ejemplo|por lo tanto|sin embargo
per esempio
no entanto|por exemplo
aan de andere kant
"""

# Chinese in both spellings, Japanese, Korean.
_CJK = """
因为 因為 所以 因此 于是 於是 但是 可是 然而 不过 不過 却 卻 虽然 雖然 尽管 儘管 而且 并且 並且 此外 另外 例如 比如 譬如
首先 其次 再次 最后 最後 总之 總之 如果 假如 那么 那麼 只要 只有 除非 否则 否則 不仅 不僅 不但 更是 反而 而是 既然
可见 可見 同时 同時 相比之下 换句话说 換句話說 当然 當然 其实 其實 结果 結果 从而 從而 以致 由于 由於 无论 無論 即使
与其 與其 然后 然後 接着 接著
しかし だから したがって なぜなら ため ので けれど そして また さらに 例えば たとえば つまり まず 次に 最後に 一方
ところが それでも もし
그러나 그리고 따라서 하지만 그래서 왜냐하면 또한 예를 먼저 마지막으로 만약 반면 때문
"""

_LATIN = frozenset(_WORDS.split()) | frozenset(re.split(r"[|\n]", _PHRASES.strip()))
_LONGEST_PHRASE = max(phrase.count(" ") + 1 for phrase in _LATIN)
# The longest first, so that a connective is not taken for a shorter one that it begins with.
_CJK_PATTERN = re.compile("|".join(sorted(_CJK.split(), key=lambda connective: (-len(connective), connective))))


def in_words(words: Sequence[str]) -> frozenset[str]:
    """The connectives among the words of a sentence, each once."""
    return _LATIN.intersection(_phrases(words))


def in_characters(sentence: str) -> frozenset[str]:
    """The connectives in a Chinese, Japanese or Korean sentence, each once."""
    return frozenset(_CJK_PATTERN.findall(sentence))


def _phrases(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, min(_LONGEST_PHRASE, len(words)) + 1):
        for at in range(len(words) - size + 1):
            yield " ".join(words[at : at + size])
