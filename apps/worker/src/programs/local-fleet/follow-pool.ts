/** Asks the API again and again how many workers the pool should have. While it does not answer, the number stays as it is. */
import type { Clock, Log } from '@lehr/shared';
import { z } from 'zod';

const AnswerSchema = z.object({
  desired_workers: z.int().nonnegative(),
  explanation: z.string(),
  members: z.array(z.object({ id: z.string(), jobs: z.int().nonnegative() })),
});

export interface FollowPoolOptions {
  readonly url: string;
  readonly pool: string;
  readonly apiKey: string;
  readonly clock: Clock;
  readonly log: Log;
  /** `jobs`: what each worker has in hand, by its id. */
  onWanted(wanted: number, jobs: ReadonlyMap<string, number>): void;
}

/** The API decides at most once a second. */
const EVERY_MS = 1_000;
const DEADLINE_MS = 5_000;

/** Ends when the signal aborts. Never rejects. */
export async function followPool(options: FollowPoolOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, onWanted } = options;
  let isFailing = false;
  let last = '';
  while (!signal.aborted) {
    try {
      const { desired_workers, explanation, members } = await ask(options, signal);
      if (isFailing) log.info({}, 'the API answers again');
      isFailing = false;
      const sentence = explanation.replace(/\d+(\.\d+)?/g, '#');
      if (sentence !== last) log.info({ explanation }, 'fleet size');
      last = sentence;
      onWanted(desired_workers, new Map(members.map(({ id, jobs }) => [id, jobs])));
    } catch (error) {
      if (signal.aborted) return;
      if (!isFailing)
        log.warn({ error }, 'the API does not say how many workers there should be; asking again');
      isFailing = true;
    }
    await clock.sleep(EVERY_MS, signal);
  }
}

async function ask(
  { url, pool, apiKey }: FollowPoolOptions,
  signal: AbortSignal,
): Promise<z.output<typeof AnswerSchema>> {
  const response = await fetch(new URL(`/v1/scale/${encodeURIComponent(pool)}`, url), {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
  });
  if (!response.ok) throw new Error(`${response.status} ${(await response.text()).slice(0, 300)}`);
  return AnswerSchema.parse(await response.json());
}
