/**
 * Runs every route of the OpenAPI document with two tenants: neither may reach what belongs to the other. New routes are covered
 * without a change here, except for a new path parameter, which fails until RECIPES has it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseRegistry, SCOPES } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, PUBLIC_URL } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import {
  draftOf,
  type OpenApiDocument,
  type Operation,
  operationsOf,
  requestOf,
} from '../support/openapi.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A text in everything of tenant A that must not appear in any answer to tenant B. */
const CANARY = 'canary-of-a';

interface Scene {
  readonly world: ApiWorld;
  readonly a: KeyHolder;
  /** Tenant B's keys, without and with the scope `admin`. */
  readonly b: KeyHolder;
  readonly adminOfB: KeyHolder;
  /** Ids of A's jobs: one waits, one runs, one has succeeded. */
  readonly jobs: readonly string[];
  /** Id of A's uploaded file. */
  readonly file: string;
}

type Recipe =
  /** Belongs to one tenant: values of A, and an unknown value. */
  | { readonly kind: 'owned'; values(scene: Scene): readonly string[]; readonly unknown: string }
  /** Belongs to the installation: for administrators of any tenant. */
  | { readonly kind: 'administered'; values(scene: Scene): readonly string[] }
  /** For every key. */
  | { readonly kind: 'shared'; readonly given: Readonly<Record<string, string>> }
  /** Read through a signed link: a link of B with A's value in place of B's. */
  | { readonly kind: 'signed'; swapped(scene: Scene): Promise<readonly string[]> };

/** By the path up to its parameter. */
const RECIPES: Readonly<Record<string, Recipe>> = {
  '/v1/jobs/{id}': { kind: 'owned', values: ({ jobs }) => jobs, unknown: 'job_01jd3v9s6w0000000000000000' },
  '/v1/keys/{id}': { kind: 'administered', values: ({ a }) => [a.key.id] },
  '/v1/predictions/{id}': {
    kind: 'owned',
    values: ({ jobs }) => jobs.map(bare),
    unknown: '01jd3v9s6w0000000000000000',
  },
  '/v1/files/{id}': {
    kind: 'owned',
    values: ({ file }) => [file],
    unknown: 'file_01jd3v9s6w0000000000000000',
  },
  '/v1/models/{id}': { kind: 'shared', given: { id: 'tiny' } },
  '/v1/models/{owner}/{name}': { kind: 'shared', given: { owner: 'lehr', name: 'tiny' } },
  '/objects/{key}': { kind: 'signed', swapped: swappedObjects },
  '/events/{id}': { kind: 'signed', swapped: swappedEvents },
  '/streams/{id}': { kind: 'signed', swapped: swappedStreams },
};

/** The id without its prefix, as predictions have it. */
const bare = (job: string): string => job.slice('job_'.length);

const templateOf = (path: string): string => path.slice(0, path.lastIndexOf('}') + 1);

function recipeOf({ name, path }: Operation): Recipe {
  const template = templateOf(path);
  const recipe = RECIPES[template];
  if (recipe) return recipe;
  throw new Error(`${name}: tell in RECIPES whose the parameter of ${template} is.`);
}

const CIRCLE = { type: 'text-to-image', input: { prompt: `a circle ${CANARY}` }, metadata: { note: CANARY } };

async function sceneOf(): Promise<Scene & { document: OpenApiDocument }> {
  const world = await apiWorld(server.url);
  const document = (await (await world.app.request('/openapi.json')).json()) as OpenApiDocument;
  const a = await keyHolder(world, 'tenant-a', { name: CANARY });
  const b = await keyHolder(world, 'tenant-b');
  const adminOfB = await keyHolder(world, 'tenant-b', { scopes: [...SCOPES] });
  const post = async (): Promise<string> => (await jobOf(await a.ask('POST', '/v1/jobs', CIRCLE))).id;
  const done = await post();
  await world.worker.succeed(await world.worker.take(), Buffer.from(CANARY));
  const running = await post();
  await world.worker.progress(await world.worker.take(), 3);
  const waiting = await post();
  return { world, document, a, b, adminOfB, jobs: [waiting, running, done], file: await fileOf(a) };
}

/** Uploads a file and returns its id. */
async function fileOf({ ask }: KeyHolder): Promise<string> {
  const body = new FormData();
  body.append('content', new Blob([CANARY]), CANARY);
  const uploaded = await ask('POST', '/v1/files', undefined, { body });
  return ((await uploaded.json()) as { id: string }).id;
}

async function swappedObjects(scene: Scene): Promise<string[]> {
  const { world, a, jobs } = scene;
  const own = await finishedJobOfB(scene);
  const foreign = await jobOf(await a.ask('GET', `/v1/jobs/${jobs[2]}`));
  const [mine, theirs] = [own, foreign].map((job) => new URL(job.output?.images?.[0].url ?? ''));
  expect((await world.app.request(`${theirs.pathname}${theirs.search}`)).status).toBe(200);
  return [`${theirs.pathname}${mine.search}`, theirs.pathname];
}

async function swappedEvents(scene: Scene): Promise<string[]> {
  const own = await finishedJobOfB(scene);
  const link = own.links.events_signed.slice(PUBLIC_URL.length);
  return scene.jobs.flatMap((id) => [link.replace(own.id, id), `/events/${id}`]);
}

async function swappedStreams(scene: Scene): Promise<string[]> {
  const own = bare((await finishedJobOfB(scene)).id);
  const prediction = await (await scene.b.ask('GET', `/v1/predictions/${own}`)).json();
  const link = (prediction as { urls: { stream: string } }).urls.stream.slice(PUBLIC_URL.length);
  return scene.jobs.map(bare).flatMap((id) => [link.replace(own, id), `/streams/${id}`]);
}

async function finishedJobOfB({ world, b }: Scene) {
  const body = { type: 'text-to-image', input: { prompt: 'a square', width: 96 } };
  const { id } = await jobOf(await b.ask('POST', '/v1/jobs', body));
  await world.worker.succeed(await world.worker.take('diffusion.tiny@1.96x64'));
  return jobOf(await b.ask('GET', `/v1/jobs/${id}`));
}

/** The records of A's jobs and their stored objects. */
async function stateOfA({ world, jobs }: Scene): Promise<unknown> {
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
async function shownOf(response: Response): Promise<{ status: number; text: string }> {
  const text = await response.text();
  return { status: response.status, text: text.replace(/"instance":"[^"]*"/, '') };
}

test('No route lets a tenant see, change, end or list what belongs to another tenant', async () => {
  const scene = await sceneOf();
  const { world, document, a, b, adminOfB, jobs, file } = scene;
  const canaries = [CANARY, 'tenant-a', file, ...jobs.map(bare)];
  const before = await stateOfA(scene);
  // Waits end at once from here on.
  world.parts.waits.stop();
  const asked = async (who: KeyHolder, operation: Operation, given: Record<string, string> = {}) => {
    // The same request for every value.
    const [url, init] = requestOf(draftOf(document, operation, new Random(5), given, 0));
    return who.ask(operation.method, url, undefined, init);
  };
  const leaks: string[] = [];

  for (const operation of operationsOf(document)) {
    const { name, path, parameters } = operation;
    const parameter = parameters.find((each) => each.in === 'path')?.name;
    if (parameter === undefined) {
      for (const who of [b, adminOfB]) {
        if (who === adminOfB && path.startsWith('/v1/keys')) continue;
        const { text } = await shownOf(await asked(who, operation));
        if (canaries.some((canary) => text.includes(canary))) leaks.push(name);
      }
      continue;
    }
    const recipe = recipeOf(operation);
    switch (recipe.kind) {
      case 'owned':
        for (const who of [b, adminOfB]) {
          const unknown = await shownOf(await asked(who, operation, { [parameter]: recipe.unknown }));
          for (const value of recipe.values(scene)) {
            const shown = await shownOf(await asked(who, operation, { [parameter]: value }));
            expect(shown.status, `${name} of another tenant`).toBe(404);
            expect(shown, `${name} tells another tenant's from none`).toEqual(unknown);
          }
        }
        break;
      case 'administered':
        for (const value of recipe.values(scene)) {
          expect((await asked(b, operation, { [parameter]: value })).status, name).toBe(403);
        }
        break;
      case 'signed':
        for (const url of await recipe.swapped(scene)) {
          const response = await b.ask(operation.method, url);
          expect([400, 403], `${name}: ${url}`).toContain(response.status);
          if ((await response.text()).includes(CANARY)) leaks.push(name);
        }
        break;
      case 'shared': {
        const { status, text } = await shownOf(await asked(b, operation, recipe.given));
        expect(Math.floor(status / 100), `${name}: ${text}`).toBe(2);
        if (canaries.some((canary) => text.includes(canary))) leaks.push(name);
      }
    }
  }

  expect(leaks).toEqual([]);
  expect(await stateOfA(scene)).toEqual(before);
  // Guards the recipes: the owner can read every value.
  for (const id of jobs) {
    expect((await a.ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
    expect((await a.ask('GET', `/v1/predictions/${bare(id)}`)).status).toBe(200);
  }
  expect((await a.ask('GET', `/v1/files/${file}`)).status).toBe(200);
  expect((await world.ask('GET', `/v1/jobs/${jobs[0]}`)).status, 'the configured key').toBe(404);
});

test('A job with the file of another tenant is refused exactly like one with an unknown file', async () => {
  const registry = parseRegistry(
    'models: [{ name: listener, task: whisper, versions: [{ version: "1", path: listener }] }]',
  );
  const world = await apiWorld(server.url, { registry });
  const [a, b] = [await keyHolder(world, 'tenant-a'), await keyHolder(world, 'tenant-b')];
  const file = await fileOf(a);
  const post = ({ ask }: KeyHolder, id: string) => {
    const audio = `${PUBLIC_URL}/v1/files/${id}`;
    return ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
  };
  const foreign = await shownOf(await post(b, file));
  expect(foreign.status).toBe(422);
  expect(foreign).toEqual(await shownOf(await post(b, 'file_01jd3v9s6w0000000000000000')));
  expect((await post(a, file)).status).toBe(202);
  expect(await world.parts.redis.zcard(world.parts.keys.liveOf('tenant-b' as never))).toBe(0);
});

test('A route with a path parameter that RECIPES does not have fails', () => {
  const operation = { name: 'getThing', method: 'GET', path: '/v1/things/{id}/parts' } as Operation;
  expect(() => recipeOf(operation)).toThrow('tell in RECIPES whose the parameter of /v1/things/{id} is');
});
