import { Random } from '../support/random.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS = 1000;
const CALLERS = 20;
/** A cancel comes up to this long after the answer to the POST: before, in and after the run of a job. */
const MAX_DELAY_MS = 400;
const HOOKED_EVERY = 5;

faultRow(
  {
    row: 'F24',
    injected: `${JOBS} jobs are cancelled, each at a random moment of its life: waiting, claimed, running, storing its output, ended`,
    promised: 'A job that is cancelled while it ends has one end, and its webhook tells the same one.',
    timeoutMs: 900_000,
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const random = new Random(24);
    await world.worker({ latency: QUICK_STEPS });
    let left = JOBS;
    const caller = async (): Promise<void> => {
      while (left-- > 0) {
        const id = await client.submitUntilAccepted({
          input: { steps: 20 },
          ...(left % HOOKED_EVERY === 0 && { webhook }),
        });
        await new Promise((resolve) => setTimeout(resolve, random.next() * MAX_DELAY_MS));
        await client.cancel(id);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const verdict = await judge(world, { drainMs: 300_000 });
    expectKept(verdict);
    const canceled = verdict.accepted - verdict.succeeded;
    return {
      seen: `of ${verdict.accepted} jobs ${canceled} were cancelled and ${verdict.succeeded} had succeeded before`,
      figures: { 'two ends': 0 },
    };
  },
);
