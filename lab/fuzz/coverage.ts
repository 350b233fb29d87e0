/**
 * Coverage-guided generation for parsers of our own. An input that reaches a new block of the watched files, as V8 counts them, joins
 * the pool of inputs that are mutated further. Everything follows from the seed.
 */
import { Session } from 'node:inspector/promises';
import type { Random } from '../../test/support/random.ts';

export interface GuidedOptions {
  /** Ends of the paths of the files whose coverage guides. */
  readonly files: readonly string[];
  readonly seeds: readonly Buffer[];
  readonly random: Random;
  readonly inputs: number;
  /** Runs the parser on one input; throws when it misbehaves. */
  readonly run: (input: Buffer) => Promise<void> | void;
}

export interface GuidedReport {
  readonly inputs: number;
  /** Blocks reached, and inputs in the pool at the end. */
  readonly blocks: number;
  readonly pool: number;
}

/** Inputs between two readings of the counters: a reading costs as much as many inputs. */
const GROUP = 16;
const MAX_BYTES = 64 * 1024;

export async function guided({ files, seeds, random, inputs, run }: GuidedOptions): Promise<GuidedReport> {
  const session = new Session();
  session.connect();
  const seen = new Set<string>();
  const pool = [...seeds];
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    for (const seed of seeds) await tried(seed, run);
    await reachesNew(session, files, seen);
    for (let done = 0; done < inputs; done += GROUP) {
      const group = Array.from({ length: GROUP }, () => mutated(random.pick(pool), pool, random));
      for (const input of group) await tried(input, run);
      if (!(await reachesNew(session, files, seen))) continue;
      // One of the group reached something new; the whole group is small enough to keep.
      pool.push(...group);
    }
  } finally {
    session.disconnect();
  }
  return { inputs, blocks: seen.size, pool: pool.length };
}

async function tried(input: Buffer, run: GuidedOptions['run']): Promise<void> {
  try {
    await run(input);
  } catch (cause) {
    const shown = input.subarray(0, 2000).toString('base64');
    throw new Error(`misbehaves for an input of ${input.length} bytes, which starts with (base64) ${shown}`, {
      cause,
    });
  }
}

/** Reads and clears the counters. */
async function reachesNew(session: Session, files: readonly string[], seen: Set<string>): Promise<boolean> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const before = seen.size;
  for (const { url, functions } of result) {
    if (!files.some((file) => url.endsWith(file))) continue;
    for (const { ranges } of functions) {
      for (const { startOffset, endOffset, count } of ranges) {
        // By the power of two, so that more rounds of a loop are new as well.
        if (count > 0) seen.add(`${url} ${startOffset} ${endOffset} ${Math.floor(Math.log2(count))}`);
      }
    }
  }
  return seen.size > before;
}

const INTERESTING = [0, 1, 10, 13, 34, 44, 45, 58, 91, 92, 93, 123, 125, 127, 128, 255];

function mutated(input: Buffer, pool: readonly Buffer[], random: Random): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let times = 1 + random.below(4); times > 0; times--)
    bytes = random.pick(MUTATIONS)(bytes, pool, random);
  return bytes.subarray(0, MAX_BYTES);
}

type Mutation = (bytes: Buffer, pool: readonly Buffer[], random: Random) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  (bytes, _, random) => withByte(bytes, random.below(bytes.length + 1), random.below(256)),
  (bytes, _, random) => withByte(bytes, random.below(bytes.length + 1), random.pick(INTERESTING)),
  // A part is removed.
  (bytes, _, random) => {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.below(16))]);
  },
  // A part is repeated.
  (bytes, _, random) => {
    const at = random.below(bytes.length + 1);
    const part = bytes.subarray(at, at + random.below(64));
    const times = random.chance(0.1) ? 200 : 1 + random.below(4);
    return Buffer.concat([bytes.subarray(0, at), ...Array<Buffer>(times).fill(part), bytes.subarray(at)]);
  },
  (bytes, _, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  // The start of this input and the end of another one.
  (bytes, pool, random) => {
    const other = random.pick(pool);
    return Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]);
  },
  // A 32-bit number of a header.
  (bytes, _, random) => {
    if (bytes.length < 4) return bytes;
    const value = random.pick([0, 1, 0x7fffffff, 0x80000000, 0xffffffff, bytes.length, bytes.length - 8]);
    const at = random.below(bytes.length - 3);
    if (random.chance(0.5)) bytes.writeUInt32LE(value >>> 0, at);
    else bytes.writeUInt32BE(value >>> 0, at);
    return bytes;
  },
];

function withByte(bytes: Buffer, at: number, value: number): Buffer {
  if (at < bytes.length) bytes[at] = value;
  return at < bytes.length ? bytes : Buffer.concat([bytes, Buffer.of(value)]);
}
