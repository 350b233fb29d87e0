/** Two tenants on one API: tenant A has jobs in every state, a workflow and a file; tenant B has keys without and with `admin`. */
import { parseRegistry, SCOPES } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS } from './api-world.ts';
import { type KeyHolder, keyHolder } from './key-holder.ts';
import type { OpenApiDocument } from './openapi.ts';

/** A text in everything of tenant A that must not appear in any answer to tenant B. */
export const CANARY = 'canary-of-a';

const SPEECH = `${MODELS}
  - name: ears
    task: whisper
    versions: [{ version: "1", path: ears }]
`;

export interface TwoTenants {
  readonly world: ApiWorld;
  readonly document: OpenApiDocument;
  readonly a: KeyHolder;
  /** Tenant B's keys, without and with the scope `admin`. */
  readonly b: KeyHolder;
  readonly adminOfB: KeyHolder;
  /** Ids of A's jobs: one waits, one runs, one has succeeded, one is a workflow, one is its node. */
  readonly jobs: readonly string[];
  /** Id of A's uploaded file. */
  readonly file: string;
  /** Id of a batch of A, whose jobs are not made. */
  readonly batch: string;
  /** Id of a schedule of A. */
  readonly schedule: string;
  /** Id of a bulk action of A, which nothing works on. */
  readonly action: string;
}

const CIRCLE = { type: 'text-to-image', input: { prompt: `a circle ${CANARY}` }, metadata: { note: CANARY } };

export async function twoTenants(redisUrl: string): Promise<TwoTenants> {
  const world = await apiWorld(redisUrl, { registry: parseRegistry(SPEECH) });
  const document = (await (await world.app.request('/openapi.json')).json()) as OpenApiDocument;
  const a = await keyHolder(world, 'tenant-a', { name: CANARY });
  const b = await keyHolder(world, 'tenant-b');
  const adminOfB = await keyHolder(world, 'tenant-b', { scopes: [...SCOPES] });
  const post = async (body: object = CIRCLE): Promise<string> =>
    (await jobOf(await a.ask('POST', '/v1/jobs', body))).id;
  const done = await post();
  await world.worker.succeed(await world.worker.take(), Buffer.from(CANARY));
  const running = await post();
  await world.worker.progress(await world.worker.take(), 3);
  const waiting = await post();
  const nodes = [{ id: 'only', type: 'text-to-image', input: { prompt: CANARY, width: 128 } }];
  const workflow = await jobOf(await a.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const node = workflow.nodes?.[0]?.job;
  if (!node) throw new Error('the workflow shows no job of its node');
  return {
    world,
    document,
    a,
    b,
    adminOfB,
    jobs: [waiting, running, done, workflow.id, node],
    file: await fileOf(a),
    batch: await batchOf(a),
    schedule: await scheduleOf(a),
    action: await actionOf(a),
  };
}

/** Uploads a file and returns its id. */
export async function fileOf({ ask }: KeyHolder): Promise<string> {
  const body = new FormData();
  body.append('content', new Blob([CANARY]), CANARY);
  const uploaded = await ask('POST', '/v1/files', undefined, { body });
  return ((await uploaded.json()) as { id: string }).id;
}

async function batchOf({ ask }: KeyHolder): Promise<string> {
  const made = await ask('POST', '/v1/batches', { requests: [CIRCLE], metadata: { note: CANARY } });
  return ((await made.json()) as { id: string }).id;
}

async function scheduleOf({ ask }: KeyHolder): Promise<string> {
  const made = await ask('POST', '/v1/schedules', { name: CANARY, every_s: 3600, request: CIRCLE });
  return ((await made.json()) as { id: string }).id;
}

async function actionOf({ ask }: KeyHolder): Promise<string> {
  const made = await ask('POST', '/v1/job-actions', {
    action: 'cancel',
    filter: { metadata: { note: CANARY } },
  });
  return ((await made.json()) as { id: string }).id;
}

/** The id without its prefix, as predictions have it. */
export const bare = (job: string): string => job.slice('job_'.length);

/** The records of A's jobs and their stored objects. */
export async function stateOfA({ world, jobs }: TwoTenants): Promise<unknown> {
  const { redis, keys, records, store } = world.parts;
  return Promise.all(
    jobs.map(async (id) => {
      const record = await records.read(id as never);
      const images = record?.state === 'succeeded' ? record.output.images : [];
      const objects = await Promise.all(
        images.map(async ({ key }) => new Response((await store.get(key as never))?.body).text()),
      );
      return { hash: await redis.hgetall(keys.record(id as never)), objects };
    }),
  );
}

/** An answer without its request id. */
export async function shownOf(response: Response): Promise<{ status: number; text: string }> {
  const text = await response.text();
  return { status: response.status, text: text.replace(/"instance":"[^"]*"/, '') };
}
