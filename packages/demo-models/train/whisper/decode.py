"""Greedy decoding with Whisper's rules, batched, and word error rate: how training looks at itself.

The product decodes in TypeScript; this follows the same published rules closely enough to steer a training run.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mel import log_mel
from model import Whisper
from sentences import normalise
from tokenizer import Tokenizer

NEVER = float("-inf")


class Rules:
    def __init__(self, tokenizer: Tokenizer, timestamps: bool) -> None:
        self.t, self.timestamps = tokenizer, timestamps
        self.suppressed = torch.tensor([*tokenizer.suppressed(), tokenizer.notimestamps, *tokenizer.language.values()])
        self.blank = tokenizer.encode(" ")[0]

    def apply(self, logits: Tensor, written: list[list[int]]) -> Tensor:
        """`logits` [rows, vocab], `written` the tokens of each row after the prompt."""
        t = self.t
        logits = logits.clone()
        logits[:, self.suppressed] = NEVER
        if not self.timestamps:
            logits[:, t.timestamp_begin :] = NEVER
        for row, tokens in enumerate(written):
            if not tokens:
                logits[row, self.blank] = NEVER
            if self.timestamps:
                self._timestamp_rules(logits[row], tokens)
        return logits

    def _timestamp_rules(self, logits: Tensor, tokens: list[int]) -> None:
        begin, eot = self.t.timestamp_begin, self.t.eot
        if not tokens:
            logits[:begin] = NEVER
            return
        if tokens[-1] >= begin:
            if len(tokens) < 2 or tokens[-2] >= begin:
                logits[begin:] = NEVER
            else:
                logits[:eot] = NEVER
        times = [token for token in tokens if token >= begin]
        if times:  # never back in time; a segment is longer than nothing
            closing = tokens[-1] < begin or (len(tokens) > 1 and tokens[-2] < begin and tokens[-1] >= begin)
            limit = times[-1] if tokens[-1] >= begin and closing else times[-1] + 1
            logits[begin:limit] = NEVER
        probabilities = logits.log_softmax(-1)
        if probabilities[begin:].logsumexp(-1) > probabilities[:begin].max():
            logits[:begin] = NEVER


@torch.no_grad()
def transcribe(model: Whisper, t: Tokenizer, waves: list[Tensor], language: str | None = None, timestamps: bool = False,
               task: str = "transcribe", limit: int = 96) -> list[dict]:  # fmt: skip
    """Each wave, padded or cut to one chunk, to {tokens, text, language, no_speech}."""
    device = model.tokens.weight.device
    size = model.config.chunk_seconds * 16000
    batch = torch.zeros(len(waves), size)
    for row, wave in enumerate(waves):
        batch[row, : min(size, len(wave))] = wave[:size]
    source = model.encode(log_mel(batch.to(device)))
    keys = model.source_keys(source)
    start = torch.full((len(waves), 1), t.sot, device=device)
    first = model.decode(start, keys)[0][:, 0].float()
    codes = list(t.language)
    heard = first[:, [t.language[code] for code in codes]].argmax(-1).tolist()
    languages = [language or codes[index] for index in heard]
    no_speech = first.softmax(-1)[:, t.nospeech].tolist()
    tail = [t.transcribe if task == "transcribe" else t.translate] + ([] if timestamps else [t.notimestamps])
    prompt = torch.tensor([[t.sot, t.language[code], *tail] for code in languages], device=device)
    rules = Rules(t, timestamps)
    rows, written = list(range(len(waves))), [[] for _ in waves]
    tokens = prompt
    for _ in range(limit):
        logits = rules.apply(model.decode(tokens, keys)[0][:, -1].float().cpu(), [written[row] for row in rows])
        best = logits.argmax(-1)
        going = [i for i, token in enumerate(best.tolist()) if token != t.eot]
        for i in going:
            written[rows[i]].append(int(best[i]))
        if not going:
            break
        # finished rows leave the batch
        index = torch.tensor(going, device=device)
        tokens = torch.cat([tokens[index], best[going].to(device)[:, None]], 1)
        keys = [tuple(part[index] for part in pair) for pair in keys]
        rows = [rows[i] for i in going]
    return [{"tokens": ids, "text": t.decode(ids).strip(), "language": code, "no_speech": p}
            for ids, code, p in zip(written, languages, no_speech)]  # fmt: skip


def transcribe_long(model: Whisper, t: Tokenizer, wave: Tensor, language: str) -> list[dict]:
    """Any length, window by window: Whisper's seeking by timestamps. Segments {start, end, text} in seconds."""
    size, seek, segments = model.config.chunk_seconds * 16000, 0, []
    while len(wave) - seek >= 1600:
        tokens = transcribe(model, t, [wave[seek : seek + size]], language=language, timestamps=True)[0]["tokens"]
        times = [(at, (token - t.timestamp_begin) * 0.02) for at, token in enumerate(tokens) if token >= t.timestamp_begin]
        # Pairs of timestamps close one segment and open the next.
        closed = [at for (at, _), (after, _) in zip(times, times[1:]) if after == at + 1]
        ends_alone = len(times) > 0 and times[-1][0] == len(tokens) - 1 and len(tokens) - 2 not in closed
        cuts = [at + 1 for at in closed] + ([len(tokens)] if ends_alone or not closed else [])
        offset, here, start = seek / 16000, dict(times), 0
        for cut in cuts:
            piece = tokens[start:cut]
            text = t.decode(piece).strip()
            if text:
                inside = [here[at] for at in range(start, cut) if at in here]
                segments.append({"start": offset + (inside[0] if inside else 0.0),
                                 "end": offset + (inside[-1] if len(inside) > 1 else min(size, len(wave) - seek) / 16000), "text": text})  # fmt: skip
            start = cut
        seek += size if ends_alone or not closed else max(1600, int(here[closed[-1]] * 16000))
    return segments


def word_errors(reference: str, heard: str) -> tuple[int, int]:
    """Edits between the word lists, and the reference's length."""
    a, b = normalise(reference).split(), normalise(heard).split()
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1], len(a)


def word_error_rate(pairs: list[tuple[str, str]]) -> float:
    errors, total = zip(*(word_errors(reference, heard) for reference, heard in pairs))
    return sum(errors) / max(1, sum(total))
