import { setTimeout as delay } from 'node:timers/promises';
import { vi } from 'vitest';
import { startLehr } from '../../test/support/lehr-process.ts';
import { chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';
import { testConnection } from './redis-admin.ts';

const FULL_MS = 8000;

faultRow(
  {
    row: 'F9a',
    injected: 'Redis has no memory left for 8 s, under load: maxmemory is set below what is used (lease 3 s)',
    promised:
      'New jobs are refused with 503, no accepted job is lost, and the queue drains once there is memory.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, redis, webhook } = world;
    const workers = [
      await world.worker({ latency: SLOW_STEPS }),
      await world.worker({ latency: SLOW_STEPS }),
    ];
    const load = startLoad(client, 4, 100, () => ({ webhook, input: { steps: 30 } }));
    await client.ended(await client.submitUntilAccepted());
    const admin = await testConnection(redis.url);
    const fullAt = history.fault('full');
    await admin.config('SET', 'maxmemory', '1');
    const ready = await vi.waitFor(async () => {
      const { status } = await client.ask('GET', '/readyz');
      if (status !== 503) throw new Error(`/readyz answers ${status}`);
      return status;
    }, 30_000);
    await delay(FULL_MS);
    await admin.config('SET', 'maxmemory', '0');
    const roomAt = history.fault('there is memory again');
    await client.ended(await client.submitUntilAccepted());
    await load.stop();
    const verdict = await judge(world, { hasUnanswered: true });
    expectKept(verdict);
    const states = await Promise.all(workers.map((worker) => Promise.race([worker.exited(), 'alive'])));
    if (states.some((state) => state !== 'alive')) throw new Error(`a worker ended: ${states.join(', ')}`);
    const inTime = history.submissions.filter(({ at }) => at > fullAt + 2500 && at < roomAt - 2500);
    const statuses = [...new Set(inTime.map(({ status }) => status ?? 'no answer'))].join(', ');
    return {
      seen:
        `${verdict.accepted} accepted jobs, 0 lost, ${verdict.repeatedAttempts} attempts repeated; submissions meanwhile were ` +
        `answered ${statuses}, /readyz ${ready}; no worker ended`,
      figures: { 'first job done after': seconds(history.recoveryMs(roomAt)) },
    };
  },
);

faultRow(
  {
    row: 'F9b',
    injected: 'Redis evicts keys (maxmemory-policy allkeys-lru) when API and worker start',
    promised: 'Neither starts: both exit with code 69 and say why.',
  },
  async () => {
    const world = await chaosWorld();
    const admin = await testConnection(world.redis.url);
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const env = {
      LEHR_HOME: world.home,
      LEHR_REDIS_URL: world.redis.url,
      LEHR_PORT: '0',
      LEHR_WORKER_PORT: '0',
    };
    const codes: string[] = [];
    for (const program of ['api', 'worker'] as const) {
      const started = startLehr(program, { ...env, LEHR_DEVICE: 'cpu' });
      const code = await started.exited();
      const said = started.lines.map(({ msg }) => msg).join(' ');
      if (code !== 69 || !said.includes('evicts keys')) throw new Error(`${program}: ${code} ${said}`);
      codes.push(`${program} exited with ${code}`);
    }
    return { seen: codes.join(', ') };
  },
);
