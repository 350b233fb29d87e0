import { vi } from 'vitest';
import { chaosWorld, LONG_LEASE } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';
import { type S3Fault, type ScriptedS3, scriptedS3 } from './scripted-s3.ts';

const putsOf = ({ requests }: ScriptedS3): number =>
  requests.filter(({ method, key }) => method === 'PUT' && key.startsWith('out/')).length;

/** The fault of the first writes of outputs; later ones work. */
function faultOfFirst(s3: ScriptedS3, count: number, fault: S3Fault): void {
  let left = count;
  s3.faults(({ method, key }) => {
    if (method !== 'PUT' || !key.startsWith('out/') || left === 0) return undefined;
    left -= 1;
    return fault;
  });
}

faultRow(
  {
    row: 'F12a',
    injected:
      'the S3 server never answers the writes of the first four outputs (an attempt may take 3 s; 30 s by default)',
    promised: 'The next jobs are computed meanwhile, and the outputs are written in a second attempt.',
  },
  async () => {
    const s3 = await scriptedS3();
    const world = await chaosWorld({ s3 });
    const { client, webhook } = world;
    faultOfFirst(s3, 4, 'hang');
    await world.worker({ ...LONG_LEASE, times: { ...LONG_LEASE.times, storeAttemptMs: 3000 } });
    const first = await client.submitMany(4, () => ({ webhook, input: { steps: 4 } }));
    await vi.waitFor(() => {
      if (putsOf(s3) < 4) throw new Error('not all of the first outputs are being written');
    }, 120_000);
    // Their outputs are on their way and will not be answered.
    const next = await client.submitMany(4, () => ({ webhook, input: { steps: 4 } }));
    await client.ended(next[0]);
    const stillRunning = (await Promise.all(first.map((id) => client.read(id)))).filter(
      (job) => job?.status === 'running',
    ).length;
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== 8 || verdict.repeatedAttempts > 0) {
      throw new Error(
        `${verdict.succeeded} of 8 succeeded, ${verdict.repeatedAttempts} attempts were repeated`,
      );
    }
    return {
      seen: `8 of 8 jobs succeeded in their first attempt; a later job ended while ${stillRunning} of the first four waited`,
    };
  },
);

faultRow(
  {
    row: 'F12b',
    tags: ['long'],
    injected: 'the S3 server closes the connection in the middle of the first four writes of outputs',
    promised: 'The writes are repeated, and no torn output is visible.',
  },
  async () => {
    const s3 = await scriptedS3();
    const world = await chaosWorld({ s3 });
    const { client, webhook } = world;
    faultOfFirst(s3, 4, 'cut');
    await world.worker(LONG_LEASE);
    await client.submitMany(8, () => ({ webhook, input: { steps: 4 } }));
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== 8 || verdict.repeatedAttempts > 0) {
      throw new Error(
        `${verdict.succeeded} of 8 succeeded, ${verdict.repeatedAttempts} attempts were repeated`,
      );
    }
    return { seen: '8 of 8 jobs succeeded in their first attempt, each output is whole' };
  },
);
