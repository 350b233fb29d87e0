import { setTimeout as delay } from 'node:timers/promises';
import type { LehrProcess } from '../../test/support/lehr-process.ts';
import { speechModels } from '../../test/support/speech-models.ts';
import { type ChaosWorld, chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { inlineAudio } from './inline-media.ts';
import { judge } from './invariants.ts';
import { type JobFields, startLoad } from './recorded-client.ts';
import { scriptedS3 } from './scripted-s3.ts';
import { speech, workflow } from './soak/soak-load.ts';

const OUTAGE_MS = 45_000;
const UNAVAILABLE = { status: 500, code: 'InternalError' } as const;
const SLOW_DOWN = { status: 503, code: 'SlowDown' } as const;
/** Files that the store never takes; the request that sent one fails and is posted again. */
const REFUSED_FILES = 10;

/** Runs that were not needed: jobs, or nodes of workflows, that were started more than once. */
const repeatedRuns = (worker: LehrProcess, { history }: ChaosWorld): number =>
  worker.lines.filter(({ msg }) => msg === 'job started').length -
  history.ends.reduce((sum, { nodes }) => sum + (nodes?.length ?? 1), 0);

faultRow(
  {
    row: 'F11a',
    injected:
      'one in five requests to the S3 server fails with 500 or 503 SlowDown, for 60 jobs, 20 of them with audio; ' +
      `the first ${REFUSED_FILES} files of audio are never taken`,
    promised:
      'Every output is stored, no picture is computed again, and nothing stays of a request that failed.',
  },
  async () => {
    const s3 = await scriptedS3();
    const world = await chaosWorld({ s3, env: { LEHR_MODELS: await speechModels() } });
    const { client, history, webhook } = world;
    const audio = await inlineAudio();
    const picture: JobFields = { webhook, input: { steps: 4 } };
    const kinds = [speech(audio, webhook), workflow(audio, webhook), picture, picture, picture, picture];
    const refused = new Set<string>();
    let count = 0;
    s3.faults(({ method, key }) => {
      if (method === 'PUT' && key.startsWith('in/') && refused.size < REFUSED_FILES) refused.add(key);
      if (method === 'PUT' && refused.has(key)) return UNAVAILABLE;
      count += 1;
      if (method === 'GET' || count % 5 !== 0) return undefined;
      return count % 2 === 0 ? UNAVAILABLE : SLOW_DOWN;
    });
    const worker = await world.shippedWorker();
    await client.submitMany(60, (index) => kinds[index % kinds.length]);
    const verdict = await judge(world);
    expectKept(verdict);
    const repeated = repeatedRuns(worker, world);
    if (verdict.succeeded !== 60 || repeated > 0) {
      throw new Error(`${verdict.succeeded} of 60 succeeded, ${repeated} runs were repeated`);
    }
    const failed = history.submissions.filter(({ result }) => result === 'refused').length;
    return {
      seen: `60 of 60 jobs succeeded, ${repeated} runs repeated; ${failed} requests failed and were posted again; in the end the store was empty`,
    };
  },
);

faultRow(
  {
    row: 'F11b',
    injected: 'every request to the S3 server fails with 500 for 45 s, under load',
    promised:
      'Finished pictures wait in memory and are stored afterwards; no picture is computed again and no job fails.',
  },
  async () => {
    const s3 = await scriptedS3();
    const world = await chaosWorld({ s3 });
    const { client, history, webhook } = world;
    const worker = await world.worker({ latency: SLOW_STEPS });
    await client.ended(await client.submitUntilAccepted({ webhook }));
    const load = startLoad(client, 2, 200, () => ({ webhook, input: { steps: 10 } }));
    history.fault('the store fails');
    s3.faults(() => UNAVAILABLE);
    await delay(OUTAGE_MS);
    s3.faults(() => undefined);
    const backAt = history.fault('the store is back');
    await client.ended(await client.submitUntilAccepted());
    await load.stop();
    const verdict = await judge(world);
    expectKept(verdict);
    const repeated = repeatedRuns(worker, world);
    if (verdict.succeeded !== verdict.accepted || repeated > 0) {
      throw new Error(
        `${verdict.succeeded} of ${verdict.accepted} succeeded, ${repeated} runs were repeated`,
      );
    }
    return {
      seen: `${verdict.succeeded} of ${verdict.accepted} jobs succeeded, ${repeated} runs repeated`,
      figures: { 'first job done after the store was back': seconds(history.recoveryMs(backAt)) },
    };
  },
);
