import { expect } from 'vitest';
import { Random } from '../../test/support/random.ts';
import { tinyModels } from '../../test/support/tiny-models.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { inlinePicture } from './inline-media.ts';
import { judge } from './invariants.ts';
import type { JobFields } from './recorded-client.ts';

const JOBS = 1000;
const CALLERS = 20;
/** A cancel comes up to this long after the answer to the POST: before, in and after the run of a job. */
const MAX_DELAY_MS = 400;

const steps = 20;

faultRow(
  {
    row: 'F24',
    injected:
      `${JOBS} jobs are cancelled, each at a random moment of its life: waiting, claimed, running, storing its output, ended; a fifth ` +
      'of them are sent with a picture or are workflows with one; every job with a picture is repeated and then deleted',
    promised:
      'A job that is cancelled while it ends has one end, and its webhook tells the same one; a repetition keeps the picture that was sent.',
  },
  async () => {
    const modelsFile = await tinyModels({ vaeEncoder: true });
    const world = await chaosWorld({ env: { LEHR_MODELS: modelsFile } });
    const { client, history, webhook } = world;
    const image = await inlinePicture();
    const kinds: readonly JobFields[] = [
      { input: { steps }, webhook },
      { input: { steps, image } },
      { type: 'workflow', nodes: workflowOf(image) },
      ...Array(7).fill({ input: { steps } }),
    ];
    const random = new Random(24);
    await world.worker({ latency: QUICK_STEPS, modelsFile });
    let left = JOBS;
    let repeated = 0;
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        const fields = kinds[left % kinds.length];
        const id = await client.submitUntilAccepted(fields);
        await new Promise((resolve) => setTimeout(resolve, random.next() * MAX_DELAY_MS));
        await client.cancel(id);
        if (fields.input?.image === undefined) continue;
        await client.ended(id);
        if ((await client.retry(id)) !== undefined) repeated += 1;
        await client.remove(id);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const verdict = await judge(world, { drainMs: 300_000 });
    expectKept(verdict);
    expect(repeated).toBe(JOBS / kinds.length);
    const canceled = history.ends.filter(({ status }) => status === 'canceled').length;
    const succeeded = history.ends.filter(({ status }) => status === 'succeeded').length;
    expect(canceled + succeeded).toBe(verdict.accepted);
    return {
      seen:
        `of ${verdict.accepted} jobs, ${repeated} of them repetitions, ${canceled} were cancelled and ${succeeded} had ` +
        'succeeded before; in the end the store was empty',
      figures: { 'two ends': 0 },
    };
  },
);

/** Two pictures, the second of which begins at the first. */
const workflowOf = (image: string): object[] => [
  { id: 'first', type: 'text-to-image', input: { prompt: 'a red circle', steps, image } },
  { id: 'second', type: 'text-to-image', input: { prompt: 'a red circle', steps, image: '{{first.image}}' } },
];
