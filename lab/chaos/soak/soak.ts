/**
 * npm run lab -- soak: all of Lehr under load for a long time, with a random fault every 20 seconds. In the end every promise is checked
 * for every job, and that memory and keys are what they were after the first jobs.
 */
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { keysOf } from '../../../packages/shared/src/redis/index.ts';
import { Random } from '../../../test/support/random.ts';
import { operatorUrl, startRedis } from '../../../test/support/redis-server.ts';
import { speechModels } from '../../../test/support/speech-models.ts';
import { tcpProxy } from '../../../test/support/tcp-proxy.ts';
import { type ChaosWorld, chaosWorld } from '../chaos-world.ts';
import { expectKept, faultRow } from '../fault-row.ts';
import { History } from '../history.ts';
import { judge } from '../invariants.ts';
import { RecordedClient } from '../recorded-client.ts';
import { keysWith, testConnection } from '../redis-admin.ts';
import { scriptedS3 } from '../scripted-s3.ts';
import { FAULTS, type SoakParts } from './soak-faults.ts';
import { oneOfEachKind, startSoakLoad } from './soak-load.ts';

const minutes = Number(process.env.SOAK_MINUTES);
const seed = Number(process.env.SOAK_SEED);
if (!(minutes > 0) || !Number.isInteger(seed))
  throw new Error('Start a soak with: npm run lab -- soak --minutes 30 --seed 5');

const FAULT_EVERY_MS = 20_000;
/** Load without faults, until all processes have taken the memory that they need: a quarter of the time, at most so long. */
const MAX_WARM_UP_MS = 300_000;
const WARM_UP_MS = Math.min(MAX_WARM_UP_MS, minutes * 15_000);
/** The least of these, each after a garbage collection, is what a process holds besides the requests and jobs of the moment. */
const MEMORY_SAMPLES = 10;
/** For a garbage collection. */
const COLLECTS_MS = 1000;
const GROWTH = 1.05;
/** After two failed attempts the next one of a webhook is due after five minutes. */
const SETTLE_MS = 420_000;
/** The outputs of removed jobs are deleted after this. */
const LINK_TTL_S = 360;
const SPARE_MS = 1_800_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

faultRow(
  {
    row: 'Soak',
    injected: `pictures, speech, workflows, webhooks, cancels and bursts for ${minutes} minutes, and a random fault every 20 s (seed ${seed})`,
    promised: 'After any sequence of faults every job has one end, and memory and keys are what they were.',
    timeoutMs: minutes * 60_000 + SPARE_MS,
  },
  async () => {
    const parts = await openParts();
    const { world, workers } = parts;
    await firstJobs(world);
    const keysBefore = await lastingKeys(world);
    const load = await startSoakLoad({ ...world, random: new Random(seed + 1) });
    await pause(WARM_UP_MS);
    const before = await memoryOf(world, workers);
    const injected = await injectFaults(parts, minutes * 60_000 - WARM_UP_MS);
    // Before the load ends, as the first time: the checks that follow are other work.
    const after = await memoryOf(world, workers);
    await load.stop();
    say('the load is over; waiting for the rest of the jobs');
    const verdict = await judge(world, {
      drainMs: 900_000,
      settleMs: SETTLE_MS,
      fullPeriods: parts.fullPeriods,
      hasUnanswered: true,
    });
    const keysAfter = await lastingKeys(world);
    const violations = [...verdict.violations, ...grown(keysBefore, keysAfter, before, after)];
    const figures = {
      faults: injected,
      jobs: verdict.accepted,
      'repeated attempts': verdict.repeatedAttempts,
      lost: verdict.lost,
      'removed after their end, when Redis was full': verdict.removed,
      'lasting keys': `${keysBefore.length} to ${keysAfter.length}`,
      'memory of the API': `${before.api} to ${after.api} MB`,
      'memory of a worker': `${before.worker} to ${after.worker} MB`,
    };
    say(JSON.stringify({ ...figures, violations: violations.slice(0, 20) }, null, 2));
    expectKept({ ...verdict, violations });
    return { seen: `${verdict.accepted} jobs, each with one end; ${verdict.succeeded} succeeded`, figures };
  },
);

async function openParts(): Promise<SoakParts> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const proxy = await tcpProxy(redis.port);
  const s3 = await scriptedS3();
  const env = {
    LEHR_MODELS: await speechModels(),
    LEHR_MAX_WAIT_S: '1e9',
    LEHR_LINK_TTL_S: `${LINK_TTL_S}`,
    NODE_OPTIONS: `--import=${new URL('./collect-garbage.mjs', import.meta.url).href}`,
  };
  const world = await chaosWorld({ redis, redisUrl: operatorUrl(`127.0.0.1:${proxy.port}`), s3, env });
  const workers = [await world.shippedWorker(), await world.shippedWorker()];
  return { world, proxy, s3, workers, random: new Random(seed), fullPeriods: [] };
}

/** One job of each kind, deleted after its end: what they leave behind is part of the baseline. */
async function firstJobs({ url, client, receiver, webhook }: ChaosWorld): Promise<void> {
  const first = new RecordedClient({ url: () => url, key: client.key, history: new History() });
  const ids = await Promise.all(
    (await oneOfEachKind(webhook)).map((fields) => first.submitUntilAccepted(fields)),
  );
  for (const id of ids) await first.ended(id);
  await receiver.until(ids.length, 60_000);
  for (const id of ids) await first.remove(id);
}

/** Injects until the time is over; returns how many faults it were. */
async function injectFaults(parts: SoakParts, forMs: number): Promise<number> {
  const { world, random } = parts;
  const endsAt = performance.now() + forMs;
  let count = 0;
  while (performance.now() < endsAt) {
    const from = performance.now();
    const name = random.pick(Object.keys(FAULTS));
    world.history.fault(name);
    await FAULTS[name](parts);
    count += 1;
    const { accepted, ends } = world.history;
    say(`fault ${count}: ${name}; ${accepted.length} jobs accepted, ${ends.length} seen ended`);
    await pause(Math.max(0, Math.min(endsAt, from + FAULT_EVERY_MS) - performance.now()));
  }
  return count;
}

/** Keys that do not expire: what expires is gone in the end, whatever its number. */
async function lastingKeys(world: ChaosWorld): Promise<string[]> {
  const redis = await testConnection(world.redis.url);
  const names = await keysWith(redis, keysOf(world.namespace).prefix);
  const pipeline = redis.pipeline();
  for (const name of names) pipeline.pttl(name);
  const times = (await pipeline.exec()) ?? [];
  redis.disconnect();
  return names.filter((_, i) => times[i][1] === -1);
}

interface Memory {
  /** MB of resident memory. */
  readonly api: number;
  readonly worker: number;
}

async function memoryOf({ api }: ChaosWorld, workers: readonly { readonly pid: number }[]): Promise<Memory> {
  const megabytes = (pid: number): number =>
    Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1000);
  const samples: Memory[] = [];
  while (samples.length < MEMORY_SAMPLES) {
    for (const { pid } of [api, ...workers]) process.kill(pid, 'SIGUSR2');
    await pause(COLLECTS_MS);
    samples.push({
      api: megabytes(api.pid),
      worker: Math.max(...workers.map(({ pid }) => megabytes(pid))),
    });
  }
  const least = (each: keyof Memory): number => Math.min(...samples.map((sample) => sample[each]));
  return { api: least('api'), worker: least('worker') };
}

/** I7 of the whole installation. */
function grown(keysBefore: string[], keysAfter: string[], before: Memory, after: Memory): string[] {
  const violations: string[] = [];
  if (keysAfter.length > keysBefore.length * GROWTH) {
    const added = keysAfter.filter((name) => !keysBefore.includes(name));
    violations.push(
      `I7: ${keysBefore.length} lasting keys became ${keysAfter.length}, such as ${added.slice(0, 10)}`,
    );
  }
  for (const each of ['api', 'worker'] as const) {
    if (after[each] > before[each] * GROWTH)
      violations.push(`I7: the memory of the ${each} grew from ${before[each]} to ${after[each]} MB`);
  }
  return violations;
}
