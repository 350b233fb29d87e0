import { vi } from 'vitest';
import { chaosWorld } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const BLOCK_MS = 10_000;

faultRow(
  {
    row: 'F4',
    injected: 'the event loop of a worker is blocked for 10 s while it runs a job (lease 30 s)',
    promised: 'The job keeps its lease, and the metric of event loop delay shows the pause.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const blocker = new URL('./block-loop.mjs', import.meta.url).href;
    const worker = await world.shippedWorker({ BLOCK_LOOP_MS: `${BLOCK_MS}` }, ['--import', blocker]);
    const { port } = await worker.logged('worker starts');
    const ids = await client.submitMany(1, () => ({ webhook, input: { steps: 999 } }));
    await client.reached(ids, 'running');
    history.fault('blocked');
    worker.signal('SIGHUP');
    // The scrape is answered when the loop runs again.
    const shownMs = await vi.waitFor(
      async () => {
        const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        const longest =
          Number(/^lehr_\w*event_loop_delay\w*\{[^}]*quantile="1"[^}]*\} (\S+)/m.exec(page)?.[1]) * 1000;
        if (!(longest > BLOCK_MS * 0.9)) throw new Error(`the metric shows ${longest} ms`);
        return longest;
      },
      { timeout: 120_000, interval: 500 },
    );
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.repeatedAttempts > 0) throw new Error('the lease was lost');
    return {
      seen: 'the job succeeded in its first attempt',
      figures: { 'delay shown by the metric': seconds(shownMs) },
    };
  },
);
