"""Create the starting inputs of a fuzzer: seeds (valid messages) and a dictionary of byte strings.

    seeds(C, version)                 (shape name, message) pairs, the smallest message first
    dictionary_of(messages)           tokens for a fuzzer's dictionary, by name
    dictionary_text(tokens)           the file that libFuzzer and AFL++ read
    key_bytes(C, version)             API key and version, as at the start of a request

All functions are deterministic. docs/howto-fuzzing.md shows how to use them with fuzzers.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire_workbench.fuzzing.corpus.dictionary import dictionary_of, dictionary_text
    from tagwire_workbench.fuzzing.corpus.shapes import seeds
    from tagwire_workbench.fuzzing.framing import key_bytes

__all__ = ["dictionary_of", "dictionary_text", "key_bytes", "seeds"]

_MODULES = {
    "tagwire_workbench.fuzzing.corpus.dictionary": ("dictionary_of", "dictionary_text"),
    "tagwire_workbench.fuzzing.corpus.shapes": ("seeds",),
    "tagwire_workbench.fuzzing.framing": ("key_bytes",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
