import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const HOUR_MS = 3_600_000;
const JOBS = 8;

/** Options of Node with which a process's clock is wrong by `ms`. */
function clockOff(ms: number): { readonly NODE_OPTIONS: string } {
  const module = `const Right = Date;
globalThis.Date = class extends Right {
  constructor(...values) { super(...(values.length > 0 ? values : [Right.now() + ${ms}])); }
  static now() { return Right.now() + ${ms}; }
};`;
  return { NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(module).toString('base64')}` };
}

faultRow(
  {
    row: 'F28',
    injected:
      'the clock of one worker is an hour ahead, that of the API an hour behind; another worker is right',
    promised:
      'Leases, deadlines, the order of groups and the time in webhooks follow the clock of Redis, whatever the clocks of the processes.',
  },
  async () => {
    const world = await chaosWorld({ env: clockOff(-HOUR_MS) });
    const { client, receiver, webhook } = world;
    const late = await client.submitMany(2, () => ({ webhook, deadline_s: 2 }));
    await Promise.all(late.map((id) => client.ended(id)));
    const ahead = await world.worker({ latency: QUICK_STEPS, env: clockOff(HOUR_MS) });
    const first = await client.submitMany(JOBS, () => ({ webhook, deadline_s: 1800 }));
    await Promise.all(first.map((id) => client.ended(id)));
    await world.worker({ latency: QUICK_STEPS });
    const both = await client.submitMany(JOBS, () => ({ webhook, deadline_s: 1800 }));
    await Promise.all(both.map((id) => client.ended(id)));
    ahead.signal('SIGKILL');
    const verdict = await judge(world);
    expectKept(verdict);
    expect(verdict.succeeded).toBe(2 * JOBS);
    const offS = receiver.received.map(({ timestamp }) => Math.abs(Date.now() / 1000 - timestamp));
    expect(Math.max(...offS)).toBeLessThan(HOUR_MS / 2 / 1000);
    return {
      seen: `${verdict.succeeded} of ${2 * JOBS} jobs with a deadline in half an hour succeeded, and the ${late.length} with two seconds expired`,
      figures: { 'repeated attempts': verdict.repeatedAttempts },
    };
  },
);
