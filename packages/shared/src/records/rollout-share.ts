/**
 * What the record of a job says when a rollout chose its version. When the job ends, count-outcome.lua reads it and counts the end in the
 * hash of the rollout: `<side> <state or code>`, and for a job that succeeded also `<side> ~<bucket>` of its device time.
 *
 * In a hash of the stage it counts the ends again, and compares jobs of both sides in pairs: `slower` and `faster`. A job that waits for
 * one of the other side is kept as `pair <class>`, at most one in each class of size and batch.
 */
import { BATCH_RATIO, type Pairs, TOLERANCE } from '../contracts/rollouts/evidence.ts';

export type RolloutSide = 'stable' | 'canary';

export interface RolloutShare {
  /** The id of the rollout. */
  readonly rollout: string;
  readonly side: RolloutSide;
  /** The stage of the rollout when the job was posted: a change of its share begins another one. */
  readonly stage: number;
  /** Device ms that a job of this size takes on any version: its real time is counted as a ratio to it. */
  readonly expectedMs: number;
}

/** How the jobs of one side ended. */
export interface SideOutcomes {
  /** Jobs by state, failed ones by the code of their error. */
  readonly ends: ReadonlyMap<string, number>;
  /** Jobs that succeeded, by the bucket of their device time; a bucket begins at BUCKET_RATIO to its power. */
  readonly buckets: ReadonlyMap<number, number>;
}

export type Outcomes = Readonly<Record<RolloutSide, SideOutcomes>>;

/** Buckets grow by this factor, so that a percentile is known to 10 %. */
export const BUCKET_RATIO = 1.1;
/** The first and the last bucket: from 1/300 to 90,000 times the expected time. */
const BUCKETS = { first: -60, last: 120 };

/** For count-outcome.lua. */
export const BUCKETS_LUA = [
  `local BUCKETS = { ratio = ${BUCKET_RATIO}, first = ${BUCKETS.first}, last = ${BUCKETS.last} }`,
  `local PAIRS = { tolerance = ${TOLERANCE}, batch_ratio = ${BATCH_RATIO} }`,
].join('\n');

/** The field `rollout` of a record. */
export const formatShare = ({ rollout, side, stage, expectedMs }: RolloutShare): string =>
  `${rollout} ${side} ${expectedMs} ${stage}`;

/** Names the hash of a stage, in place of the rollout's id. */
export const stageName = (rollout: string, stage: number): string => `${rollout}.${stage}`;

/** Reads the pairs in the hash of a stage. */
export const parsePairs = (hash: Readonly<Record<string, string>>): Pairs => ({
  slower: Number(hash.slower ?? 0),
  faster: Number(hash.faster ?? 0),
});

/** Reads the hash of a rollout. */
export function parseOutcomes(hash: Readonly<Record<string, string>>): Outcomes {
  const of = (side: RolloutSide): SideOutcomes => {
    const own = Object.entries(hash).flatMap(([field, value]): [string, number][] => {
      const [start, outcome] = field.split(' ');
      return start === side && outcome ? [[outcome, Number(value)]] : [];
    });
    const isBucket = ([outcome]: readonly [string, number]): boolean => outcome.startsWith('~');
    return {
      ends: new Map(own.filter((each) => !isBucket(each))),
      buckets: new Map(own.filter(isBucket).map(([outcome, jobs]) => [Number(outcome.slice(1)), jobs])),
    };
  };
  return { stable: of('stable'), canary: of('canary') };
}
