import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const GRACE_MS = 10_000;
const SHORT = 4;
const LONG = 4;

faultRow(
  {
    row: 'F25',
    injected: `SIGTERM to a worker with ${SHORT} short and ${LONG} long jobs in its batch and ${GRACE_MS / 1000} s of grace`,
    promised:
      'A worker that is told to stop claims no more jobs, finishes those that fit into its grace, and hands the others back without counting an attempt.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const worker = await world.worker({ latency: SLOW_STEPS, drainMs: GRACE_MS });
    // The long ones first: they are surely running when the short ones are.
    const long = await client.submitMany(LONG, () => ({ webhook, input: { steps: 900 } }));
    await client.reached(long, 'running');
    const short = await client.submitMany(SHORT, () => ({ webhook, input: { steps: 20 } }));
    await Promise.all(short.map((id) => started(id, client.read.bind(client))));
    const from = performance.now();
    worker.signal('SIGTERM');
    await worker.logged('draining');
    const late = await client.submitMany(2, () => ({ webhook }));
    expect(await worker.exited()).toBe(0);
    const exitMs = performance.now() - from;
    const after = await Promise.all([...long, ...late].map((id) => client.read(id)));
    expect(after.map((job) => job?.status)).toEqual(after.map(() => 'queued'));
    expect(after.map((job) => job?.attempt)).toEqual(after.map(() => 0));
    await world.worker({ latency: QUICK_STEPS });
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `${SHORT} short jobs ended, ${LONG} long ones were handed back with no attempt spent, and ${late.length} posted in the drain were not claimed`,
      figures: { 'exit after': seconds(exitMs), 'repeated attempts': verdict.repeatedAttempts },
    };
  },
);

/** Resolves when the job has been claimed; a short one may have ended by then. */
async function started(
  id: string,
  read: (id: string) => Promise<{ status: string } | undefined>,
): Promise<void> {
  while ((await read(id))?.status === 'queued') await new Promise((resolve) => setTimeout(resolve, 20));
}
