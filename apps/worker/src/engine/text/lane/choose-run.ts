/**
 * Chooses the texts of the next run of a text model, from all jobs that wait. A pure function.
 *
 * The first text is the shortest one of the job that has got the least so far, so that a text never waits for a long one, nor for a job
 * of two thousand; waiting lowers a job's rank, so that none starves. Then texts of similar length join it, from any job, until the
 * budget of tokens is full or padding would be more than MAX_PADDING of the run.
 */

export interface RunCandidate {
  /** Tokens. */
  readonly length: number;
}

export interface RunSample<Text extends RunCandidate> {
  /** By increasing length. */
  readonly waiting: readonly Text[];
  /** Tokens of its texts that have run. */
  readonly tokensRun: number;
  /** On the clock of `RunState.now`, in ms. */
  readonly arrivedAt: number;
  /** The most samples of a run with texts of this one, itself included. */
  readonly maxBatchMates: number;
}

export interface RunState<Text extends RunCandidate> {
  readonly samples: readonly RunSample<Text>[];
  /** Tokens of a run, padding included. */
  readonly budget: number;
  /** A run of so many tokens takes no longer with padding than without. */
  readonly freeTokens: number;
  readonly maxTexts: number;
  readonly tokensPerS: number;
  readonly now: number;
}

export const MAX_PADDING = 0.1;
/** A job that has waited for a time is ranked as if it had this share of the tokens that run in that time fewer. */
const AGEING = 0.5;

/** Empty when no text waits. */
export function chooseRun<Text extends RunCandidate>(state: RunState<Text>): Text[] {
  const { samples, budget, freeTokens, maxTexts } = state;
  const ranked = samples
    .filter(({ waiting }) => waiting.length > 0)
    .map((sample) => ({ sample, rank: rankOf(sample, state) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ sample }) => sample);
  const [first] = ranked;
  if (!first) return [];
  const seed = first.waiting[0];
  const run = new GrowingRun(seed, first);
  const limit = Math.max(budget, seed.length);
  const fits = (text: Text): boolean => {
    const { real, padded } = run.with(text);
    return padded <= limit && (padded <= freeTokens || padded - real <= MAX_PADDING * padded);
  };
  const { shorter, longer } = neighbours(ranked, seed, Math.ceil(limit / seed.length));
  while (run.texts.length < maxTexts) {
    const options = [longer[0], shorter[0]].filter((next) => next !== undefined && fits(next.text));
    const [next] = options.sort((a, b) => run.paddingWith(a.text) - run.paddingWith(b.text));
    if (!next) break;
    (next === longer[0] ? longer : shorter).shift();
    if (run.accepts(next.sample)) run.add(next.text, next.sample);
  }
  return run.texts;
}

interface Neighbour<Text extends RunCandidate> {
  readonly text: Text;
  readonly sample: RunSample<Text>;
}

const rankOf = <Text extends RunCandidate>(
  { waiting, tokensRun, arrivedAt }: RunSample<Text>,
  { now, tokensPerS }: RunState<Text>,
): number => tokensRun + waiting[0].length - ((now - arrivedAt) / 1000) * tokensPerS * AGEING;

/** The texts next to the seed by length, nearest first; of equal ones those of the better rank first. At most `count` a side and sample. */
function neighbours<Text extends RunCandidate>(
  ranked: readonly RunSample<Text>[],
  seed: Text,
  count: number,
): { shorter: Neighbour<Text>[]; longer: Neighbour<Text>[] } {
  const shorter: Neighbour<Text>[] = [];
  const longer: Neighbour<Text>[] = [];
  for (const sample of ranked) {
    const { waiting } = sample;
    const at = firstOfLength(waiting, seed.length);
    for (const text of waiting.slice(Math.max(0, at - count), at)) shorter.push({ text, sample });
    for (const text of waiting.slice(at, at + count + 1)) if (text !== seed) longer.push({ text, sample });
  }
  shorter.sort((a, b) => b.text.length - a.text.length);
  longer.sort((a, b) => a.text.length - b.text.length);
  return { shorter, longer };
}

/** Index of the first text that is not shorter. */
export function firstOfLength(waiting: readonly RunCandidate[], length: number): number {
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waiting[middle].length < length) low = middle + 1;
    else high = middle;
  }
  return low;
}

class GrowingRun<Text extends RunCandidate> {
  readonly texts: Text[];
  readonly #samples: Set<RunSample<Text>>;
  #real: number;
  #longest: number;
  #maxBatchMates: number;

  constructor(seed: Text, sample: RunSample<Text>) {
    this.texts = [seed];
    this.#samples = new Set([sample]);
    this.#real = seed.length;
    this.#longest = seed.length;
    this.#maxBatchMates = sample.maxBatchMates;
  }

  with({ length }: Text): { real: number; padded: number } {
    const padded = (this.texts.length + 1) * Math.max(this.#longest, length);
    return { real: this.#real + length, padded };
  }

  paddingWith(text: Text): number {
    const { real, padded } = this.with(text);
    return padded - real;
  }

  accepts(sample: RunSample<Text>): boolean {
    if (this.#samples.has(sample)) return true;
    return this.#samples.size + 1 <= Math.min(this.#maxBatchMates, sample.maxBatchMates);
  }

  add(text: Text, sample: RunSample<Text>): void {
    this.texts.push(text);
    this.#samples.add(sample);
    this.#real += text.length;
    this.#longest = Math.max(this.#longest, text.length);
    this.#maxBatchMates = Math.min(this.#maxBatchMates, sample.maxBatchMates);
  }
}
