/**
 * What Whisper's decoder may write next: the published decoding rules (openai/whisper, decoding.py), applied to the logits
 * of one row. Forbidden tokens get minus infinity.
 */
import type { SpecialTokens } from './special-tokens.ts';

export interface RuleSettings {
  /** Never written. */
  readonly suppress: readonly number[];
  /** Not written first. */
  readonly beginSuppress: readonly number[];
  /** The latest first timestamp, in timestamp tokens; undefined for any. */
  readonly maxInitialTimestamp: number | undefined;
}

export class LogitRules {
  readonly #special: SpecialTokens;
  readonly #settings: RuleSettings;

  constructor(special: SpecialTokens, settings: RuleSettings) {
    this.#special = special;
    this.#settings = settings;
  }

  /** Changes `logits` `[vocabulary]` in place. `written` is what the row wrote after its prompt. */
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
      // A window begins with the time of its first words, which may be limited.
      forbid(logits, 0, timestampBegin);
      const { maxInitialTimestamp } = this.#settings;
      if (maxInitialTimestamp !== undefined) {
        forbid(logits, timestampBegin + maxInitialTimestamp + 1, logits.length);
      }
    } else {
      const isTime = (id: number | undefined): boolean => id === undefined || id >= timestampBegin;
      const endsInTime = isTime(written.at(-1));
      // Times come in pairs, the end of one segment and the start of the next, except before the end of the text.
      if (endsInTime && isTime(written.at(-2))) forbid(logits, timestampBegin, logits.length);
      else if (endsInTime) forbid(logits, 0, end);
      this.#forbidEarlierTimes(logits, written, endsInTime && !isTime(written.at(-2)));
    }
    this.#preferTimeToUnlikelyText(logits);
  }

  /** Times never go back, and no segment is shorter than a step of time: only the second of a pair may repeat the first. */
  #forbidEarlierTimes(logits: Float32Array, written: readonly number[], mayRepeat: boolean): void {
    const { timestampBegin } = this.#special;
    const last = written.findLast((id) => id >= timestampBegin);
    if (last !== undefined) forbid(logits, timestampBegin, mayRepeat ? last : last + 1);
  }

  /** When some time or other is more likely than any one text token, it is time for a timestamp. */
  #preferTimeToUnlikelyText(logits: Float32Array): void {
    const { timestampBegin } = this.#special;
    const likeliestText = largest(logits, 0, timestampBegin);
    if (logSumExp(logits, timestampBegin, logits.length) > likeliestText) forbid(logits, 0, timestampBegin);
  }
}

function forbid(logits: Float32Array, from: number, to: number): void {
  logits.fill(Number.NEGATIVE_INFINITY, from, to);
}

/** The largest logit of a range; minus infinity for none. NaN when there is one. */
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

/** What lies so far below the largest adds nothing that float32 could hold. */
const NEGLIGIBLE = 30;
/**
 * exp of 0, -1/64, -2/64 and so on: with three terms of the series in between, right to 1e-9 and four times as fast as
 * Math.exp, which would take a tenth of a small model's decoder call for a whole vocabulary.
 */
const GRID = 64;
const EXP_TABLE = Float64Array.from({ length: NEGLIGIBLE * GRID + 1 }, (_, i) => Math.exp(-i / GRID));

/** log of the sum of exp(logits) over a range, `scale` times each. `max` is their largest, where it is known already. */
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
