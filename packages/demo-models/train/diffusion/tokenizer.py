"""A byte-level BPE tokenizer in CLIP's format, with a vocabulary of its own.

Text is lower-cased, split by CLIP's pattern, each word spelt in CLIP's 256 printable byte characters with </w> on the
last one, then merged. All 512 byte characters are in the vocabulary, so every string has tokens. The files written are
those of a Hugging Face CLIP tokenizer; ordinary CLIP tokenizer code loads them.
"""

import json
import random
import re
import unicodedata
from collections import Counter

START, END = "<|startoftext|>", "<|endoftext|>"
LENGTH = 77
# CLIP's pattern; \p{L} and \p{N} written for Python's re.
PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[^\W\d_]+|\d|(?:[^\s\w]|_)+")
HF_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def byte_characters():
    """CLIP's (GPT-2's) printable character for every byte, in CLIP's vocabulary order."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(rest)}


BYTES = byte_characters()


class Tokenizer:
    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        letters = list(BYTES.values())
        tokens = [*letters, *(c + "</w>" for c in letters), *("".join(m) for m in self.merges), START, END]
        self.vocab = {t: i for i, t in enumerate(tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.start, self.end = self.vocab[START], self.vocab[END]
        self.cache = {}

    def word(self, word):
        """Token ids of one word (a match of PATTERN)."""
        if word not in self.cache:
            parts = [BYTES[b] for b in word.encode()]
            parts[-1] += "</w>"
            while len(parts) > 1:
                rank, i = min((self.rank.get(pair, 1 << 30), i) for i, pair in enumerate(zip(parts, parts[1:])))
                if rank == 1 << 30:
                    break
                parts[i : i + 2] = [parts[i] + parts[i + 1]]
            self.cache[word] = [self.vocab[p] for p in parts]
        return self.cache[word]

    def pieces(self, text):
        """Token ids without start and end."""
        text = unicodedata.normalize("NFC", text).lower()
        return [i for word in PATTERN.findall(text) for i in self.word(word)]

    def encode(self, text):
        """LENGTH ids: start, text, end, padded with end."""
        ids = [self.start, *self.pieces(text)[: LENGTH - 2], self.end]
        return ids + [self.end] * (LENGTH - len(ids))

    def encode_tagged(self, pieces):
        """Ids (unpadded) and the tag of each, for a Caption's pieces. None for start and end."""
        ids, tags = [self.start], [None]
        for text, tag in pieces:
            new = self.pieces(text)
            ids += new
            tags += [tag] * len(new)
        return [*ids[: LENGTH - 1], self.end], [*tags[: LENGTH - 1], None]

    # ---- files

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        dump = lambda name, data: (folder / name).write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")  # noqa: E731
        (folder / "vocab.json").write_text(json.dumps(self.vocab, ensure_ascii=False) + "\n")
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in self.merges))
        special = {"bos_token": START, "eos_token": END, "unk_token": END, "pad_token": END}
        dump("special_tokens_map.json", special)
        dump(
            "tokenizer_config.json",
            {"add_prefix_space": False, **special, "do_lower_case": True, "errors": "replace", "model_max_length": LENGTH,
             "tokenizer_class": "CLIPTokenizer"},
        )  # fmt: skip
        added = [
            {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": True}
            for t, i in ((START, self.start), (END, self.end))
        ]
        data = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": HF_PATTERN}, "behavior": "Removed", "invert": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}]},
            "post_processor": {"type": "RobertaProcessing", "sep": [END, self.end], "cls": [START, self.start],
                               "trim_offsets": False, "add_prefix_space": False},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": END, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "</w>", "fuse_unk": False, "vocab": self.vocab,
                      "merges": [" ".join(m) for m in self.merges]},
        }  # fmt: skip
        (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder):
        lines = (folder / "merges.txt").read_text().splitlines()[1:]
        return cls([line.split(" ") for line in lines])


# ---------------------------------------------------------------- training


def train(words, size):
    """Byte-pair merges for `words` (a Counter) until the vocabulary has `size` tokens."""
    spelt = {}
    for word in words:
        parts = [BYTES[b] for b in word.encode()]
        parts[-1] += "</w>"
        spelt[word] = parts
    merges = []
    while len(merges) < size - 514:
        pairs = Counter()
        for word, parts in spelt.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        for word, parts in spelt.items():
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = [parts[i] + parts[i + 1]]
                i += 1
    return Tokenizer(merges)


def build(seed, size=1800, captions=20000):
    """The vocabulary for this project: captions of random scenes, and every everyday word some times."""
    import grammar
    import scenes

    rng = random.Random(f"{seed} tokenizer")
    words = Counter()
    for _ in range(captions):
        text = grammar.caption(scenes.sample_scene(rng), rng).text
        words.update(PATTERN.findall(unicodedata.normalize("NFC", text).lower()))
    for word in grammar.EVERYDAY:
        words[word] += 20
    # Nonsense and rare words teach no merges.
    return train(Counter({w: n for w, n in words.items() if n >= 15}), size)
