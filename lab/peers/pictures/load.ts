/** The same requests for every server: closed loops of users, and an open loop with Poisson arrivals. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The body of POST /t2i. */
export interface Drawing {
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly inference_steps: number;
  readonly guidance_scale: number;
  readonly seed: number;
}

export interface Ended {
  readonly drawing: Drawing;
  /** Ms from the request, or from the moment when it was due, to the last byte of the answer. */
  readonly ms: number;
  /** Ms from the start of the load to the end of the answer. */
  readonly at: number;
}

export type Draw = (drawing: Drawing) => Promise<Uint8Array>;

/** 30 % short, 50 % middle, 20 % long: mix M with half of its 4, 20 and 50 steps. */
export const SHORT_STEPS = 2;
const STEPS = [2, 10, 10, 25, 10, 2, 10, 25, 2, 10] as const;
const GUIDANCE = [3, 5, 7.5] as const;

/** The drawings of a load in their order. The same `from` gives the same drawings; every ten of them have the whole mix. */
export function* drawings(side: number, from: number): Generator<Drawing, never> {
  for (let i = 0; ; i++) {
    yield {
      prompt: `a red circle on a blue background, number ${i % 100}`,
      width: side,
      height: side,
      inference_steps: STEPS[i % STEPS.length],
      guidance_scale: GUIDANCE[Math.floor(i / STEPS.length) % GUIDANCE.length],
      seed: from + i,
    };
  }
}

/** `users` request one picture after the other until `seconds` have passed; then each waits for its last one. */
export async function closedLoop(
  draw: Draw,
  source: Generator<Drawing, never>,
  { users, seconds }: { users: number; seconds: number },
): Promise<Ended[]> {
  const ended: Ended[] = [];
  const startedAt = performance.now();
  const user = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1000) {
      const drawing = source.next().value;
      const requestedAt = performance.now();
      await draw(drawing);
      const now = performance.now();
      ended.push({ drawing, ms: now - requestedAt, at: now - startedAt });
    }
  };
  await Promise.all(Array.from({ length: users }, user));
  return ended;
}

/**
 * Requests arrive as a Poisson process of `perSecond`, drawn from `random`, for `seconds`. Latency counts from when a request was due,
 * so a generator that is late does not hide waiting. Resolves when all are answered.
 */
export async function openLoop(
  draw: Draw,
  source: Generator<Drawing, never>,
  { perSecond, seconds, random }: { perSecond: number; seconds: number; random: () => number },
): Promise<Ended[]> {
  const startedAt = performance.now();
  const ended: Promise<Ended>[] = [];
  for (let due = gap(random, perSecond); due < seconds * 1000; due += gap(random, perSecond)) {
    await sleep(Math.max(0, due - (performance.now() - startedAt)));
    const drawing = source.next().value;
    ended.push(
      draw(drawing).then(() => {
        const at = performance.now() - startedAt;
        return { drawing, ms: at - due, at };
      }),
    );
  }
  return Promise.all(ended);
}

/** Ms to the next arrival. */
const gap = (random: () => number, perSecond: number): number => (-Math.log(1 - random()) / perSecond) * 1000;
