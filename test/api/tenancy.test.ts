/**
 * Runs every route of the OpenAPI document, in every dialect, with two tenants: neither may reach what belongs to the other. A new
 * route fails until WITHOUT_PARAMETER or RECIPES has it. What requests name in queries, headers and bodies is in
 * tenancy-references.test.ts.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobOf, PUBLIC_URL } from '../support/api-world.ts';
import type { KeyHolder } from '../support/key-holder.ts';
import { draftOf, type Operation, operationsOf, requestOf } from '../support/openapi.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { bare, CANARY, shownOf, stateOfA, type TwoTenants, twoTenants } from '../support/two-tenants.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

type Recipe =
  /** Belongs to one tenant: values of A, and an unknown value. */
  | { readonly kind: 'owned'; values(scene: TwoTenants): readonly string[]; readonly unknown: string }
  /** Belongs to the installation: for administrators of any tenant. */
  | { readonly kind: 'administered'; values(scene: TwoTenants): readonly string[] }
  /** For every key. A call that holds is answered with the status `held`, because waits are stopped. */
  | { readonly kind: 'shared'; readonly given: Readonly<Record<string, string>>; readonly held?: 503 | 429 }
  /** Read through a signed link: a link of B with A's value in place of B's. */
  | { readonly kind: 'signed'; swapped(scene: TwoTenants): Promise<readonly string[]> };

/** By the path up to its parameter. */
const RECIPES: Readonly<Record<string, Recipe>> = {
  '/v1/jobs/{id}': { kind: 'owned', values: ({ jobs }) => jobs, unknown: 'job_01jd3v9s6w0000000000000000' },
  '/v1/rollouts/{model}': { kind: 'administered', values: () => ['tiny', 'split'] },
  '/v1/pauses/{target}': { kind: 'administered', values: () => ['tiny', '*'] },
  '/v1/keys/{id}': { kind: 'administered', values: ({ a }) => [a.key.id] },
  '/v1/scale/{pool}': { kind: 'administered', values: () => ['all'] },
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
  '/v1/batches/{id}': {
    kind: 'owned',
    values: ({ batch }) => [batch],
    unknown: 'batch_01jd3v9s6w0000000000000000',
  },
  '/v1/job-actions/{id}': {
    kind: 'owned',
    values: ({ action }) => [action],
    unknown: 'bulk_01jd3v9s6w0000000000000000',
  },
  '/v1/schedules/{id}': {
    kind: 'owned',
    values: ({ schedule }) => [schedule],
    unknown: 'schedule_01jd3v9s6w0000000000000000',
  },
  '/v1/models/{id}': { kind: 'shared', given: { id: 'tiny' } },
  '/v1/models/{owner}/{name}': { kind: 'shared', given: { owner: 'lehr', name: 'tiny' } },
  '/v1/models/{owner}/{name}/versions/{version}': {
    kind: 'shared',
    given: { owner: 'lehr', name: 'tiny', version: 'tiny@1' },
  },
  '/models/{model}': { kind: 'shared', given: { model: 'tiny' }, held: 429 },
  '/hf-inference/models/{model}': { kind: 'shared', given: { model: 'tiny' }, held: 429 },
  '/objects/{key}': { kind: 'signed', swapped: swappedObjects },
  '/events/{id}': { kind: 'signed', swapped: swappedEvents },
  '/streams/{id}': { kind: 'signed', swapped: swappedStreams },
};

/** Routes without a path parameter, by operation: what they show and change belongs to the caller's tenant, for administrators to all, or to the installation. */
const WITHOUT_PARAMETER: Readonly<Record<string, 'own' | 'own, or all' | 'administered' | 'public'>> = {
  createJob: 'own',
  listPauses: 'administered',
  listJobs: 'own',
  createFile: 'own',
  listFiles: 'own',
  createBatch: 'own',
  listBatches: 'own',
  createJobAction: 'own',
  listJobActions: 'own',
  createSchedule: 'own',
  listSchedules: 'own',
  createImage: 'own',
  createImageEdit: 'own',
  createImageVariation: 'own',
  createEmbedding: 'own',
  fillMask: 'own',
  createTranscription: 'own',
  createTranslation: 'own',
  createPrediction: 'own',
  listPredictions: 'own',
  drawPicture: 'own',
  drawRecording: 'own',
  webUiTxt2Img: 'own',
  webUiImg2Img: 'own',
  webUiProgress: 'own',
  webUiInterrupt: 'own',
  webUiSkip: 'own',
  webUiPngInfo: 'own',
  webUiUpscale: 'own',
  webUiOptions: 'own',
  webUiSetOptions: 'own',
  webUiSdModels: 'own',
  webUiRefreshCheckpoints: 'own',
  webUiSamplers: 'own',
  webUiSchedulers: 'own',
  webUiUpscalers: 'own',
  webUiLatentUpscaleModes: 'own',
  webUiLoras: 'own',
  webUiControlVersion: 'own',
  webUiControlModels: 'own',
  webUiControlModules: 'own',
  webUiEmbeddings: 'own',
  webUiSdVae: 'own',
  webUiHypernetworks: 'own',
  webUiFaceRestorers: 'own',
  webUiPromptStyles: 'own',
  webUiScripts: 'own',
  listModels: 'own',
  listQueues: 'own',
  getActivity: 'own',
  getCharts: 'administered',
  listWebhookSecrets: 'own',
  showWebhookSecret: 'own',
  rotateWebhookSecret: 'own',
  getDefaultWebhookSecret: 'own',
  testWebhook: 'own',
  createKey: 'administered',
  listKeys: 'administered',
  listRollouts: 'administered',
  listSettings: 'administered',
  getTraffic: 'administered',
  listDeadLetters: 'administered',
  getUsage: 'own, or all',
  listAuditEntries: 'administered',
  getHealth: 'public',
  getReadiness: 'public',
};

const templateOf = (path: string): string => path.slice(0, path.lastIndexOf('}') + 1);

function recipeOf({ name, path }: Operation): Recipe {
  const template = templateOf(path);
  const recipe = RECIPES[template];
  if (recipe) return recipe;
  throw new Error(`${name}: RECIPES must say whose the parameter of ${template} is.`);
}

async function swappedObjects(scene: TwoTenants): Promise<string[]> {
  const { world, a, jobs } = scene;
  const own = await finishedJobOfB(scene);
  const foreign = await jobOf(await a.ask('GET', `/v1/jobs/${jobs[2]}`));
  const [mine, theirs] = [own, foreign].map((job) => new URL(job.output?.images?.[0].url ?? ''));
  const allowed = await world.app.request(`${theirs.pathname}${theirs.search}`);
  // An unread body keeps its file open.
  await allowed.body?.cancel();
  expect(allowed.status).toBe(200);
  return [`${theirs.pathname}${mine.search}`, theirs.pathname];
}

async function swappedEvents(scene: TwoTenants): Promise<string[]> {
  const own = await finishedJobOfB(scene);
  const link = own.links.events_signed.slice(PUBLIC_URL.length);
  return scene.jobs.flatMap((id) => [link.replace(own.id, id), `/events/${id}`]);
}

async function swappedStreams(scene: TwoTenants): Promise<string[]> {
  const own = bare((await finishedJobOfB(scene)).id);
  const prediction = await (await scene.b.ask('GET', `/v1/predictions/${own}`)).json();
  const link = (prediction as { urls: { stream: string } }).urls.stream.slice(PUBLIC_URL.length);
  return scene.jobs.map(bare).flatMap((id) => [link.replace(own, id), `/streams/${id}`]);
}

async function finishedJobOfB({ world, b }: TwoTenants) {
  const body = { type: 'text-to-image', input: { prompt: 'a square', width: 96 } };
  const { id } = await jobOf(await b.ask('POST', '/v1/jobs', body));
  await world.worker.succeed(await world.worker.take('diffusion.tiny@1.96x64'));
  return jobOf(await b.ask('GET', `/v1/jobs/${id}`));
}

test('No route lets a tenant see, change, end or list what belongs to another tenant', async () => {
  const scene = await twoTenants(server.url);
  const { world, document, a, b, adminOfB, jobs, file, batch, schedule, action } = scene;
  const canaries = [CANARY, 'tenant-a', file, batch, schedule, action, ...jobs.map(bare)];
  const before = await stateOfA(scene);
  // Waits end at once from here on.
  world.parts.waits.stop();
  const asked = async (who: KeyHolder, operation: Operation, given: Record<string, string> = {}) => {
    // The same request for every value.
    const [url, init] = requestOf(draftOf(document, operation, new Random(6), given, 0));
    return who.ask(operation.method, url, undefined, init);
  };
  const leaks: string[] = [];

  for (const operation of operationsOf(document)) {
    const { name, parameters } = operation;
    const parameter = parameters.find((each) => each.in === 'path')?.name;
    if (parameter === undefined) {
      const owner = WITHOUT_PARAMETER[name];
      expect(owner, `${name}: WITHOUT_PARAMETER must say what it shows`).toBeDefined();
      // An administrator manages the keys of all tenants, also those of A.
      for (const who of owner === 'own' || owner === 'public' ? [b, adminOfB] : [b]) {
        const { status, text } = await shownOf(await asked(who, operation));
        if (owner === 'administered') expect(status, name).toBe(403);
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
        if (recipe.held) expect(status, `${name}: ${text}`).toBe(recipe.held);
        else expect(Math.floor(status / 100), `${name}: ${text}`).toBe(2);
        if (canaries.some((canary) => text.includes(canary))) leaks.push(name);
      }
    }
  }

  expect(leaks).toEqual([]);
  expect(await stateOfA(scene)).toEqual(before);
  // Guards the recipes: the owner can read every value.
  for (const id of jobs) {
    expect((await a.ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
  }
  for (const id of jobs.slice(0, 3)) {
    expect((await a.ask('GET', `/v1/predictions/${bare(id)}`)).status).toBe(200);
  }
  expect((await a.ask('GET', `/v1/files/${file}`)).status).toBe(200);
  expect((await world.ask('GET', `/v1/jobs/${jobs[0]}`)).status, 'the configured key').toBe(404);
});

test('A route with a path parameter that RECIPES does not have fails', () => {
  const operation = { name: 'getThing', method: 'GET', path: '/v1/things/{id}/parts' } as Operation;
  expect(() => recipeOf(operation)).toThrow('must say whose the parameter of /v1/things/{id} is');
});
