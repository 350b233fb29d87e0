/**
 * How strongly the ended jobs of a rollout speak against the canary, and what follows from it. Pure; all values are natural logarithms.
 *
 * Both tests are e-processes: if the canary is not worse, the expected evidence is at most 1 at every moment that is chosen without
 * knowing the future. By Ville's inequality it then ever reaches 1/alpha with a probability of at most alpha, however often and
 * whenever it is looked at, and however many jobs follow. So it may be judged after every job, and needs no planned end.
 *
 * - Failures: universal inference (Wasserman, Ramdas and Balakrishnan 2020) for two proportions. The numerator is the probability of
 *   the counts under fixed Beta priors of both rates; the denominator is their highest likelihood under any pair of rates with
 *   canary <= stable. Only counts are needed, so it does not matter in which order or in which shares the jobs ended.
 * - Slowness: the same for one proportion, the share of pairs in which the canary's job was slower. If the canary is at most TOLERANCE
 *   times as slow, this share is at most one half, whatever the distribution of device times. Device time has no waits in it, so it
 *   does not matter whether both versions share a device.
 *
 * What is assumed: which version a job gets says nothing of how hard the job is. With few callers that differ this can be wrong; a
 * rollout that is sticky by job makes it true.
 */

/** Jobs of one version that ended, without those that say nothing of it. */
export interface EndedJobs {
  readonly jobs: number;
  readonly failed: number;
}

/** Comparisons of one job of the canary with one of the stable version, of about the same size and batch size. */
export interface Pairs {
  /** The canary's took more than TOLERANCE times as long in proportion to its size. */
  readonly slower: number;
  readonly faster: number;
}

export interface Samples {
  readonly stable: EndedJobs;
  readonly canary: EndedJobs;
  readonly pairs: Pairs;
}

export interface LogEvidence {
  readonly failures: number;
  readonly slowness: number;
}

export const NO_EVIDENCE: LogEvidence = { failures: 0, slowness: 0 };

/** A canary that takes up to this many times as long is accepted. */
export const TOLERANCE = 1.25;

/**
 * Jobs are compared when the sizes of their batches are in one class; the next class begins at this multiple. The version with more
 * callers has larger batches, in which a row takes less of the device's time, at most in proportion: so a difference within a class
 * is less than this, and TOLERANCE covers it.
 */
export const BATCH_RATIO = 1.1;

/** Beta distributions. They decide how fast a difference is found, and never how often a good canary is suspected. */
const PRIORS = {
  // A stable version seldom fails; of a bad canary little is known.
  stable: { bad: 0.5, good: 20 },
  canary: { bad: 0.5, good: 2 },
  // A canary worth suspecting loses most pairs.
  pair: { bad: 3, good: 1 },
} as const;

export const weighJobs = (samples: Samples): LogEvidence => ({
  failures: failureEvidence(samples),
  slowness: slownessEvidence(samples.pairs),
});

function failureEvidence({ stable, canary }: Pick<Samples, 'stable' | 'canary'>): number {
  const chosen =
    logMarginal(PRIORS.stable, stable.failed, stable.jobs) +
    logMarginal(PRIORS.canary, canary.failed, canary.jobs);
  const isWorse = canary.failed * stable.jobs > stable.failed * canary.jobs;
  // With canary <= stable, the likeliest rates are those that were seen, or one common rate if the canary's is the higher one.
  const best = isWorse
    ? logBest(stable.failed + canary.failed, stable.jobs + canary.jobs)
    : logBest(stable.failed, stable.jobs) + logBest(canary.failed, canary.jobs);
  return chosen - best;
}

function slownessEvidence({ slower, faster }: Pairs): number {
  const all = slower + faster;
  const best = slower > faster ? all * Math.log(0.5) : logBest(slower, all);
  return logMarginal(PRIORS.pair, slower, all) - best;
}

/** The logarithm of the mean of two numbers, from their logarithms. */
const logMean = (a: number, b: number): number =>
  Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))) - Math.log(2);

/** Log probability of one sequence with so many bad outcomes, if the rate is drawn from the prior. */
const logMarginal = ({ bad, good }: { bad: number; good: number }, failed: number, all: number): number =>
  logBeta(bad + failed, good + all - failed) - logBeta(bad, good);

/** The same for the rate under which it is highest. */
const logBest = (failed: number, all: number): number => part(failed, all) + part(all - failed, all);

const part = (count: number, all: number): number => (count === 0 ? 0 : count * Math.log(count / all));

const logBeta = (a: number, b: number): number => logGamma(a) + logGamma(b) - logGamma(a + b);

/** From here on Stirling's series below is exact to 1e-12. */
const STIRLING_FROM = 16;

/** The logarithm of the gamma function of x > 0. */
export function logGamma(x: number): number {
  let product = 1;
  let at = x;
  for (; at < STIRLING_FROM; at += 1) product *= at;
  const square = 1 / (at * at);
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / at;
  return (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/** Of both tests together: the highest probability that a canary which is not worse is ever rolled back. */
export const FALSE_ALARM_RATE = 0.005;
/** Each test gets half of it. */
export const EVIDENCE_LIMIT = 2 / FALSE_ALARM_RATE;
/** From this evidence on, a canary is not promoted: more jobs decide. */
export const DOUBT_LIMIT = 10;
/** Least jobs of each version in a stage, and least pairs to promote, before anything is decided. */
export const LEAST_SAMPLES = 10;

export const EVIDENCE_KINDS = ['failures', 'slowness'] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/**
 * A change of the share and a pause begin a new stage with counts from zero, so that jobs of a quiet hour at 10 % are not
 * compared with those of a busy hour at 50 %. A stage stakes half of the evidence that the stages before it left: what is carried over
 * is halved at worst, and a product of e-processes, each begun after the one before it, is one again.
 * The evidence with that of the stages before.
 */
export function totalEvidence(samples: Samples, carried: LogEvidence = NO_EVIDENCE): LogEvidence {
  const stage = weighJobs(samples);
  const total = (kind: EvidenceKind): number => carried[kind] + logMean(stage[kind], 0);
  return { failures: total('failures'), slowness: total('slowness') };
}

export interface JudgedBy {
  readonly carried: LogEvidence;
  readonly autoRollback: boolean;
  /** Jobs of the canary in each step; null: it is never promoted by itself. */
  readonly promoteAfter: number | null;
}

export type Verdict =
  | { readonly action: 'roll-back'; readonly kind: EvidenceKind; readonly evidence: LogEvidence }
  | { readonly action: 'advance' | 'wait'; readonly evidence: LogEvidence };

export function verdictOf(samples: Samples, { carried, autoRollback, promoteAfter }: JudgedBy): Verdict {
  const evidence = totalEvidence(samples, carried);
  const { stable, canary, pairs } = samples;
  if (Math.min(stable.jobs, canary.jobs) < LEAST_SAMPLES) return { action: 'wait', evidence };
  const against = EVIDENCE_KINDS.find((kind) => evidence[kind] >= Math.log(EVIDENCE_LIMIT));
  if (against)
    return autoRollback ? { action: 'roll-back', kind: against, evidence } : { action: 'wait', evidence };
  const isDoubtful = EVIDENCE_KINDS.some((kind) => evidence[kind] >= Math.log(DOUBT_LIMIT));
  const isDone = promoteAfter !== null && canary.jobs >= promoteAfter;
  const isCompared = pairs.slower + pairs.faster >= LEAST_SAMPLES;
  return { action: isDone && isCompared && !isDoubtful ? 'advance' : 'wait', evidence };
}
