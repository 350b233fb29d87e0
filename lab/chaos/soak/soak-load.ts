/** The load of a soak: callers that post all kinds of jobs, cancel some, wait for others, and now and then a burst. */
import type { Random } from '../../../test/support/random.ts';
import { inlineAudio } from '../inline-media.ts';
import type { JobFields, RecordedClient } from '../recorded-client.ts';

export interface SoakLoad {
  /** Resolves when the last caller has its answer. */
  stop(): Promise<void>;
}

export interface SoakLoadOptions {
  readonly client: RecordedClient;
  readonly random: Random;
  readonly webhook: { readonly url: string };
}

const CALLERS = 6;
const BURST = 60;
const BURST_EVERY_MS = 30_000;
const MAX_PAUSE_MS = 400;
const CANCELED = 0.15;
const WAITED_FOR = 0.5;
const HOOKED = 0.6;
const WAIT_MS = 120_000;
/** Longer than any job of a soak takes. */
const MAX_LIFE_MS = 900_000;

/** The sampler of the model draws nothing in one step, and the API refuses it. */
const MIN_STEPS = 2;
const MAX_STEPS = 40;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One job of each kind, for the state in which a soak begins. */
export const oneOfEachKind = async (webhook: { readonly url: string }): Promise<JobFields[]> =>
  [
    picture(4, webhook),
    speech(await inlineAudio(), webhook),
    workflow(await inlineAudio(), webhook),
  ] as JobFields[];

export async function startSoakLoad({ client, random, webhook }: SoakLoadOptions): Promise<SoakLoad> {
  const audio = await inlineAudio();
  const stop = new AbortController();
  const kind = (hook: Hook): JobFields => {
    const place = random.next();
    if (place < 0.1) return speech(audio, hook);
    if (place < 0.2) return workflow(audio, hook);
    return picture(MIN_STEPS + random.below(MAX_STEPS - MIN_STEPS + 1), hook);
  };
  const call = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const isHooked = random.chance(HOOKED);
      const id = await client.submitUntilAccepted(kind(isHooked ? webhook : undefined));
      const isCanceled = random.chance(CANCELED);
      if (isCanceled) {
        await pause(random.next() * MAX_PAUSE_MS);
        await client.cancel(id).catch(() => {});
      }
      // An ended job may be removed when Redis fills, so the end of every job is read, or delivered.
      if (!isHooked) await client.ended(id, MAX_LIFE_MS).catch(() => {});
      else if (!isCanceled && random.chance(WAITED_FOR)) await client.ended(id, WAIT_MS).catch(() => {});
      await pause(random.next() * MAX_PAUSE_MS);
    }
  };
  const burst = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // Every one has a webhook: an ended job that nobody reads may be removed once its webhook is delivered.
      await Promise.all(Array.from({ length: BURST }, () => client.submit(picture(2, webhook))));
      for (let waited = 0; waited < BURST_EVERY_MS && !stop.signal.aborted; waited += 500) await pause(500);
    }
  };
  const running = [...Array.from({ length: CALLERS }, call), burst()];
  return {
    stop: async () => {
      stop.abort();
      await Promise.all(running);
    },
  };
}

type Hook = { readonly url: string } | undefined;
const hooked = (webhook: Hook): object => (webhook ? { webhook } : {});

const picture = (steps: number, webhook: Hook): JobFields => ({ input: { steps }, ...hooked(webhook) });

export const speech = (audio: string, webhook: Hook): JobFields => ({
  type: 'speech-to-text',
  input: { audio },
  ...hooked(webhook),
});

export const workflow = (audio: string, webhook: Hook): JobFields => ({
  type: 'workflow',
  nodes: [
    { id: 'hear', type: 'speech-to-text', input: { audio } },
    { id: 'first', type: 'text-to-image', input: { prompt: 'a house', steps: 4 } },
    { id: 'draw', type: 'text-to-image', input: { prompt: '{{hear.text}}', steps: 4 } },
  ],
  ...hooked(webhook),
});
