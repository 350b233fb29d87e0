/** The figures of lab/cluster.md that are read off a timeline. */
import type { Verdict } from '../chaos/invariants.ts';
import type { WorkerStory } from './bridge.ts';
import { firstTime, type Timeline } from './timeline.ts';

export interface ScalingFigures {
  readonly jobs: number;
  readonly succeeded: number;
  readonly lost: number;
  readonly repeatedAttempts: number;
  readonly workersStarted: number;
  /** Seconds from the first job until each of these. */
  readonly toFirstDesired?: number;
  readonly toFirstPod?: number;
  readonly toFirstNode?: number;
  readonly toFirstServing?: number;
  readonly toAllServing: number;
  /** Seconds of the interruption, from the notice. */
  readonly drainS: number;
  readonly nodeGoneS: number;
  readonly replacedS: number;
  /** Seconds from the end of the last job until each of these. */
  readonly noWorkersS: number;
  readonly noNodesS: number;
}

export interface Outcome {
  readonly verdict: Verdict;
  /** The pod of the interrupted node. */
  readonly interrupted: string;
}

export function figuresOf(
  timeline: Timeline,
  stories: readonly WorkerStory[],
  { verdict, interrupted }: Outcome,
): ScalingFigures {
  const at = (text: string): number => {
    const mark = timeline.marks.find((each) => each.text === text);
    if (!mark) throw new Error(`the timeline has no mark "${text}"`);
    return mark.t;
  };
  const story = stories.find(({ pod }) => pod === interrupted);
  return {
    jobs: verdict.accepted,
    succeeded: verdict.succeeded,
    lost: verdict.lost,
    repeatedAttempts: verdict.repeatedAttempts,
    workersStarted: stories.length,
    toFirstDesired: firstTime(timeline, ({ desired }) => desired > 0),
    toFirstPod: firstTime(timeline, ({ pods }) => pods > 0),
    toFirstNode: firstTime(timeline, ({ nodes }) => nodes > 0),
    toFirstServing: firstTime(timeline, ({ serving }) => serving > 0),
    toAllServing: at('four workers serve'),
    drainS: rounded(((story?.endedAt ?? 0) - (story?.drainedAt ?? 0)) / 1000),
    nodeGoneS: rounded(at('node gone') - at('spot interruption')),
    replacedS: rounded(at('worker replaced') - at('spot interruption')),
    noWorkersS: rounded(at('no workers') - at('last job ends')),
    noNodesS: rounded(at('no nodes') - at('last job ends')),
  };
}

const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;
