"""A small byte-level BPE in Whisper's layout: trained here, written as Hugging Face files, used in training.

Ids, in Whisper's order: 256 bytes, the merges, <|endoftext|>, <|startoftranscript|>, the languages, <|translate|>,
<|transcribe|>, <|startoflm|>, <|startofprev|>, <|nospeech|>, <|notimestamps|>, then <|0.00|> .. in steps of 0.02 s.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import sentences

LANGUAGES = ["en", "es"]
MERGES = 1000
TIME_STEP = 0.02

# GPT-2's pattern, with Python's classes for its \p{L} and \p{N}
_PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_alphabet() -> dict[int, str]:
    """GPT-2's printable stand-in for every byte."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    table = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(plain))
    return table


BYTE_TO_CHAR = byte_alphabet()
CHAR_TO_BYTE = {char: byte for byte, char in BYTE_TO_CHAR.items()}


def _byte_order() -> list[str]:
    """GPT-2 numbers the printable bytes first, then the rest."""
    return sorted(BYTE_TO_CHAR.values(), key=lambda char: (ord(char) >= 256, ord(char)))


def pieces(text: str) -> list[str]:
    return ["".join(BYTE_TO_CHAR[b] for b in piece.encode()) for piece in _PIECES.findall(text)]


def train_merges(texts: list[str], count: int) -> list[tuple[str, str]]:
    """Plain BPE over word counts. Counts are damped, so that a rare word gets tokens too and not only the grammar's."""
    frequency = Counter(piece for text in texts for piece in pieces(text))
    weight = [n**0.5 for n in frequency.values()]
    split = [list(piece) for piece in frequency]
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: dict[tuple[str, str], float] = defaultdict(float)
        for symbols, w in zip(split, weight):
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += w
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for symbols in split:
            index = 0
            while index < len(symbols) - 1:
                if (symbols[index], symbols[index + 1]) == best:
                    symbols[index : index + 2] = ["".join(best)]
                index += 1
    return merges


class Tokenizer:
    def __init__(self, merges: list[tuple[str, str]], chunk_seconds: int) -> None:
        self.merges = merges
        self.tokens = _byte_order() + ["".join(pair) for pair in merges]
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        assert len(self.ids) == len(self.tokens), "two merges made the same token"
        self._rank = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}
        names = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in LANGUAGES), "<|translate|>", "<|transcribe|>",
                 "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]  # fmt: skip
        self.special = {name: len(self.tokens) + index for index, name in enumerate(names)}
        self.timestamp_begin = len(self.tokens) + len(names)
        self.timestamp_count = round(chunk_seconds / TIME_STEP) + 1
        self.vocab_size = self.timestamp_begin + self.timestamp_count
        self.eot, self.sot = self.special["<|endoftext|>"], self.special["<|startoftranscript|>"]
        self.translate, self.transcribe = self.special["<|translate|>"], self.special["<|transcribe|>"]
        self.prev, self.nospeech = self.special["<|startofprev|>"], self.special["<|nospeech|>"]
        self.notimestamps = self.special["<|notimestamps|>"]
        self.language = {code: self.special[f"<|{code}|>"] for code in LANGUAGES}

    def timestamp(self, seconds: float) -> int:
        return self.timestamp_begin + min(max(round(seconds / TIME_STEP), 0), self.timestamp_count - 1)

    def encode(self, text: str) -> list[int]:
        return [token for piece in pieces(text) for token in self._encode_piece(piece)]

    def _encode_piece(self, piece: str) -> list[int]:
        if piece not in self._known:
            symbols = list(piece)
            while len(symbols) > 1:
                pairs = [(self._rank.get(pair, 1 << 30), index) for index, pair in enumerate(zip(symbols, symbols[1:]))]
                rank, _ = min(pairs)
                if rank == 1 << 30:
                    break
                first, second = self.merges[rank]
                merged, index = [], 0
                while index < len(symbols):
                    if symbols[index : index + 2] == [first, second]:
                        merged.append(first + second)
                        index += 2
                    else:
                        merged.append(symbols[index])
                        index += 1
                symbols = merged
            self._known[piece] = [self.ids[symbol] for symbol in symbols]
        return self._known[piece]

    def decode(self, ids: list[int]) -> str:
        """Text tokens only; special and timestamp tokens write nothing."""
        data = bytes(CHAR_TO_BYTE[char] for token in ids if token < len(self.tokens) for char in self.tokens[token])
        return data.decode("utf-8", "replace")

    def suppressed(self) -> list[int]:
        """Tokens that never belong in a transcript, chosen as openai/whisper chooses them: symbols and control tokens."""
        symbols = list('"#()*+/:;<=>@[\\]^_`{|}~「」『』') + "<< >> <<< >>> -- --- -( -[ (' (\" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪".split()
        banned = {self.encode(" -")[0] if len(self.encode(" -")) == 1 else self.encode("-")[0]}
        for symbol in [*symbols, *"♩♪♫♬♭♮♯"]:
            for ids in (self.encode(symbol), self.encode(" " + symbol)):
                if len(ids) == 1:
                    banned.add(ids[0])
        banned -= {self.encode(" ")[0], self.encode(",")[0], self.encode("'")[0]}
        control = {self.sot, self.translate, self.transcribe, self.special["<|startoflm|>"], self.prev, self.nospeech}
        return sorted(banned | control)

    # --- files --------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: Path, chunk_seconds: int) -> Tokenizer:
        lines = path.read_text().splitlines()[1:]
        return cls([tuple(line.split(" ")) for line in lines], chunk_seconds)

    def write_merges(self, path: Path) -> None:
        path.write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in self.merges))

    def write_folder(self, folder: Path, max_length: int) -> None:
        """tokenizer.json and the older files, as Hugging Face's Whisper folders have them."""
        self.write_merges(folder / "merges.txt")
        vocab = {**self.ids, "<|endoftext|>": self.eot}
        times = {f"<|{index * TIME_STEP:.2f}|>": self.timestamp_begin + index for index in range(self.timestamp_count)}

        def added(content: str, id: int, special: bool) -> dict:
            return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                    "normalized": not special, "special": special}  # fmt: skip

        def dump(name: str, value: object, indent: int | None = 1) -> None:
            (folder / name).write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")

        def single(*names: str) -> list[dict]:
            return [{"SpecialToken": {"id": name, "type_id": 0}} for name in names]

        head = single("<|startoftranscript|>", "<|notimestamps|>")
        end = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        dump("tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added(name, id, True) for name, id in self.special.items()]
            + [added(name, id, False) for name, id in times.items()],
            "normalizer": None,
            "pre_tokenizer": byte_level,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [*head, {"Sequence": {"id": "A", "type_id": 0}}, end],
                "pair": [*head, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                         {"SpecialToken": {"id": "<|endoftext|>", "type_id": 1}}],
                "special_tokens": {name: {"id": name, "ids": [self.special[name]], "tokens": [name]}
                                   for name in ("<|endoftext|>", "<|notimestamps|>", "<|startoftranscript|>")},
            },
            "decoder": {**byte_level, "add_prefix_space": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                      "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                      "merges": [f"{a} {b}" for a, b in self.merges]},
        }, indent=None)  # fmt: skip
        dump("vocab.json", vocab, indent=None)
        dump("added_tokens.json", {name: id for name, id in sorted([*self.special.items(), *times.items()]) if id != self.eot})
        dump("special_tokens_map.json", {
            "additional_special_tokens": [name for name in self.special if name != "<|endoftext|>"],
            "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": "<|endoftext|>",
        })  # fmt: skip
        dump("tokenizer_config.json", {
            "add_bos_token": False, "add_prefix_space": False, "bos_token": "<|endoftext|>", "clean_up_tokenization_spaces": False,
            "eos_token": "<|endoftext|>", "errors": "replace", "model_max_length": max_length, "pad_token": "<|endoftext|>",
            "processor_class": "WhisperProcessor", "return_attention_mask": False, "tokenizer_class": "WhisperTokenizer",
            "unk_token": "<|endoftext|>",
        })  # fmt: skip


def trained(seed: int, chunk_seconds: int, merges: int = MERGES, texts: int = 40000) -> Tokenizer:
    """The tokenizer of a run: a function of the seed. Words mostly stand after a space, as Whisper writes segments."""
    rng = random.Random(f"tokenizer/{seed}")
    spoken = [sentences.sentence(rng) for _ in range(texts)]
    return Tokenizer(train_merges([" " + s.text for s in spoken], merges), chunk_seconds)


if __name__ == "__main__":
    tokenizer = trained(1, 10)
    lengths = [(len(tokenizer.encode(" " + word)), word) for word in sentences.ENGLISH_WORDS + sentences.SPANISH_WORDS]
    print(Counter(n for n, _ in lengths), sorted(lengths)[-12:], tokenizer.vocab_size, tokenizer.suppressed())
    for text in sentences.GOLDEN_TEXTS:
        ids = tokenizer.encode(" " + text)
        print(len(ids), [tokenizer.decode([i]) for i in ids])
        assert tokenizer.decode(ids) == " " + text
