/**
 * What the belt shows, made from one reading after the other. Pure. A sample keeps its track while it runs; the next one takes the
 * first track that is free, as it takes the rows in the batch.
 */
import type { Activity } from '@lehr/client';

type Lane = Activity['lanes'][number];
type Sample = Lane['samples'][number];
export type Queue = Activity['waiting']['queues'][number];

export interface Tile {
  readonly id: string;
  readonly track: number;
  readonly step: number;
  readonly steps: number;
  /** Null for a sample of another tenant. */
  readonly job: string | null;
  /** `done` and `gone` tiles have left since the reading before: at the end of their steps, or before it. */
  readonly state: 'riding' | 'done' | 'gone';
  /** Steps since the reading before; undefined at the first. */
  readonly pace: number | undefined;
}

export interface BeltLane extends Omit<Lane, 'samples'> {
  readonly tiles: readonly Tile[];
  readonly tracks: number;
  /** Rows per call at each reading, oldest first; 0 where nothing ran. */
  readonly history: readonly number[];
}

/** One queue with its waiting jobs and the lanes that run it. */
export interface Belt extends Pick<Queue, 'queue' | 'task' | 'model' | 'size'> {
  readonly lanes: readonly BeltLane[];
  /** Undefined when none waits. */
  readonly waiting: Queue | undefined;
}

export const HISTORY = 60;
const MIN_TRACKS = 4;
/** A sample that needed more readings than this for the rest of its steps did not reach their end. */
const FAR_READINGS = 4;

export function advance(before: readonly Belt[], { lanes, waiting }: Activity): Belt[] {
  const known = new Map(before.flatMap((belt) => belt.lanes.map((lane) => [keyOf(lane), lane])));
  const belts = new Map<string, Belt>();
  const beltOf = ({ queue, task, model, size }: Lane | Queue): Belt =>
    belts.get(queue) ?? { queue, task, model, size, lanes: [], waiting: undefined };
  for (const lane of lanes) {
    const belt = beltOf(lane);
    belts.set(lane.queue, { ...belt, lanes: [...belt.lanes, advanceLane(known.get(keyOf(lane)), lane)] });
  }
  for (const queue of waiting.queues) belts.set(queue.queue, { ...beltOf(queue), waiting: queue });
  return [...belts.values()].sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

const keyOf = ({ worker, queue }: Pick<Lane, 'worker' | 'queue'>): string => `${worker} ${queue}`;

function advanceLane(before: BeltLane | undefined, { samples, ...lane }: Lane): BeltLane {
  const riding = new Map(
    (before?.tiles ?? []).filter(({ state }) => state === 'riding').map((tile) => [tile.id, tile]),
  );
  const ids = new Set(samples.map(({ id }) => id));
  const taken = new Set([...riding.values()].filter(({ id }) => ids.has(id)).map(({ track }) => track));
  const now = samples.map((sample) => rideOn(riding.get(sample.id), sample, taken));
  const left = [...riding.values()].filter(({ id }) => !ids.has(id)).map(leave);
  const tracks = Math.max(MIN_TRACKS, before?.tracks ?? 0, ...now.map(({ track }) => track + 1));
  // A call may take longer than the time between two readings.
  const held = now.length > 0 ? (before?.history.at(-1) ?? 0) : 0;
  const history = [...(before?.history ?? []), lane.rows_per_call ?? held].slice(-HISTORY);
  return { ...lane, tiles: [...now, ...left], tracks: now.length === 0 ? MIN_TRACKS : tracks, history };
}

function rideOn(before: Tile | undefined, sample: Sample, taken: Set<number>): Tile {
  const track = before?.track ?? firstFree(taken);
  taken.add(track);
  // A job that another worker resumes starts at an earlier step.
  const pace = before && Math.max(0, sample.step - before.step);
  return { ...sample, track, state: 'riding', pace };
}

function leave(tile: Tile): Tile {
  const isFar = tile.pace !== undefined && tile.steps - tile.step > FAR_READINGS * Math.max(tile.pace, 1);
  return isFar ? { ...tile, state: 'gone' } : { ...tile, state: 'done', step: tile.steps };
}

function firstFree(taken: ReadonlySet<number>): number {
  let track = 0;
  while (taken.has(track)) track += 1;
  return track;
}
