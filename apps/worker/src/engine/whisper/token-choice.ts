/** Picks the next token of a row from its logits, with its log-probability. */
import { LehrError } from '@lehr/shared';
import { largest, logSumExp } from './logit-rules.ts';

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
