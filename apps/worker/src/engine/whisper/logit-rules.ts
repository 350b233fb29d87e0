/**
 * Whisper's decoding rules (openai/whisper, decoding.py), applied to the logits of one row: tokens that must not come next
 * get minus infinity. Then the choice of the next token, with its log-probability.
 */

import { LehrError } from '@lehr/shared';
import type { SpecialTokens } from './special-tokens.ts';

interface RuleSettings {
  /** Token ids that are never written. */
  readonly suppress: readonly number[];
  /** Token ids that are not written first. */
  readonly beginSuppress: readonly number[];
  /** The latest first timestamp, counted in timestamp tokens; undefined for no limit. */
  readonly maxInitialTimestamp: number | undefined;
}

export class LogitRules {
  readonly #special: SpecialTokens;
  readonly #settings: RuleSettings;

  constructor(special: SpecialTokens, settings: RuleSettings) {
    this.#special = special;
    this.#settings = settings;
  }

  /** Changes `logits`, `[vocabulary]`, in place. `written`: the row's tokens after its prompt. */
  apply(logits: Float32Array, written: readonly number[], timestamps: boolean): void {
    const { suppress, beginSuppress } = this.#settings;
    for (const id of suppress) logits[id] = Number.NEGATIVE_INFINITY;
    if (written.length === 0) for (const id of beginSuppress) logits[id] = Number.NEGATIVE_INFINITY;
    if (timestamps) this.#applyTimestampRules(logits, written);
  }

  #applyTimestampRules(logits: Float32Array, written: readonly number[]): void {
    const { end, timestampBegin, noTimestamps } = this.#special;
    logits[noTimestamps] = Number.NEGATIVE_INFINITY;
    if (written.length === 0) {
      // A window begins with the time of its first words.
      forbid(logits, 0, timestampBegin);
      const { maxInitialTimestamp } = this.#settings;
      if (maxInitialTimestamp !== undefined) {
        forbid(logits, timestampBegin + maxInitialTimestamp + 1, logits.length);
      }
    } else {
      const isTime = (id: number | undefined): boolean => id === undefined || id >= timestampBegin;
      const endsInTime = isTime(written.at(-1));
      // Times come in pairs, the end of one segment and the start of the next; at the end of the text there is only one.
      if (endsInTime && isTime(written.at(-2))) forbid(logits, timestampBegin, logits.length);
      else if (endsInTime) forbid(logits, 0, end);
      this.#forbidEarlierTimes(logits, written, endsInTime && !isTime(written.at(-2)));
    }
    this.#preferTimeToUnlikelyText(logits);
  }

  /** Times never decrease, and no segment is empty: only the second time of a pair may repeat the first. */
  #forbidEarlierTimes(logits: Float32Array, written: readonly number[], mayRepeat: boolean): void {
    const { timestampBegin } = this.#special;
    const last = written.findLast((id) => id >= timestampBegin);
    if (last !== undefined) forbid(logits, timestampBegin, mayRepeat ? last : last + 1);
  }

  /** When all timestamps together are more likely than the likeliest text token, only a timestamp may follow. */
  #preferTimeToUnlikelyText(logits: Float32Array): void {
    const { timestampBegin } = this.#special;
    const likeliestText = largest(logits, 0, timestampBegin);
    if (logSumExp(logits, timestampBegin, logits.length) > likeliestText) forbid(logits, 0, timestampBegin);
  }
}

function forbid(logits: Float32Array, from: number, to: number): void {
  logits.fill(Number.NEGATIVE_INFINITY, from, to);
}

/** The largest logit of a range; minus infinity for an empty range, NaN when the range holds a NaN. */
export function largest(logits: Float32Array, from = 0, to = logits.length): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) {
    if (!(logits[i] <= max)) {
      max = logits[i];
      if (Number.isNaN(max)) return max;
    }
  }
  return max;
}

/** exp(-30) is below float32's precision: logits this far below the largest add nothing to the sum. */
const NEGLIGIBLE = 30;
/**
 * exp of 0, -1/64, -2/64 and so on. With three terms of the series in between it is exact to 1e-9 and four times as fast as
 * Math.exp, which takes a tenth of a small model's decoder call for a whole vocabulary.
 */
const GRID = 64;
const EXP_TABLE = Float64Array.from({ length: NEGLIGIBLE * GRID + 1 }, (_, i) => Math.exp(-i / GRID));

/** log of the sum of exp(scale * logit) over a range. `max` is the largest logit, when the caller knows it already. */
export function logSumExp(
  logits: Float32Array,
  from = 0,
  to = logits.length,
  scale = 1,
  max = largest(logits, from, to),
): number {
  if (!Number.isFinite(max)) return max * scale;
  let sum = 0;
  for (let i = from; i < to; i++) {
    const below = (max - logits[i]) * scale;
    if (below >= NEGLIGIBLE) continue;
    const cell = Math.floor(below * GRID);
    const rest = cell / GRID - below;
    sum += EXP_TABLE[cell] * (1 + rest * (1 + rest * (0.5 + rest / 6)));
  }
  return max * scale + Math.log(sum);
}

export interface Choice {
  readonly token: number;
  /** Among the tokens that the rules allow, at temperature 1 whatever the temperature of the draw. */
  readonly logProbability: number;
}

/** The most likely token. Throws LehrError `numeric-error` when the largest logit is not finite. */
export function chooseLikeliest(logits: Float32Array): Choice {
  const max = checkedLargest(logits);
  const total = logSumExp(logits, 0, logits.length, 1, max);
  return { token: logits.indexOf(max), logProbability: max - total };
}

/** A token drawn from softmax(logits / temperature); `uniform` is in [0, 1). Throws as `chooseLikeliest`. */
export function drawToken(logits: Float32Array, temperature: number, uniform: number): Choice {
  checkedLargest(logits);
  const scale = 1 / temperature;
  const norm = logSumExp(logits, 0, logits.length, scale);
  let left = uniform;
  let token = -1;
  for (let id = 0; id < logits.length && left >= 0; id++) {
    const probability = Math.exp(logits[id] * scale - norm);
    if (probability === 0) continue;
    token = id;
    left -= probability;
  }
  return { token, logProbability: logits[token] - logSumExp(logits) };
}

/** The probability of `token`. */
export const probabilityOf = (logits: Float32Array, token: number): number =>
  Math.exp(logits[token] - logSumExp(logits));

function checkedLargest(logits: Float32Array): number {
  const max = largest(logits);
  if (Number.isFinite(max)) return max;
  throw new LehrError('numeric-error', `The decoder's largest logit is ${max}, not a finite number.`);
}

/** Seeded uniform numbers in [0, 1) (mulberry32). */
export class SeededUniform {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
