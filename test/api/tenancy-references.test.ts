/**
 * What a tenant names in queries, headers and bodies leads only to what is its own: files, workflow inputs, cursors, idempotency
 * keys. Foreign names are answered like names that do not exist.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identify } from '../../apps/api/src/jobs/identity.ts';
import { type JobId, JobRequestSchema } from '../../packages/shared/src/index.ts';
import { jobOf, PUBLIC_URL } from '../support/api-world.ts';
import type { KeyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { CANARY, shownOf, stateOfA, twoTenants } from '../support/two-tenants.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const UNKNOWN_FILE = 'file_01jd3v9s6w0000000000000000';
const PROMPT = 'a circle';
const PICTURE = { type: 'text-to-image', input: { prompt: PROMPT } };

/** Requests that name a file, in every dialect that can. */
const WITH_FILE: readonly (readonly [what: string, path: string, body: (file: string) => unknown])[] = [
  ['a speech job', '/v1/jobs', (audio) => ({ type: 'speech-to-text', input: { audio } })],
  ['a picture job', '/v1/jobs', (image) => ({ type: 'text-to-image', input: { prompt: PROMPT, image } })],
  ['a speech-to-image job', '/v1/jobs', (audio) => ({ type: 'speech-to-image', input: { audio } })],
  [
    'a node of a workflow',
    '/v1/jobs',
    (audio) => ({ type: 'workflow', nodes: [{ id: 'a', type: 'speech-to-text', input: { audio } }] }),
  ],
  [
    'a prediction of a picture',
    '/v1/predictions',
    (image) => ({ version: 'lehr/tiny', input: { prompt: PROMPT, image } }),
  ],
  ['a prediction', '/v1/predictions', (audio) => ({ version: 'lehr/ears', input: { audio } })],
  ['a prediction of a model', '/v1/models/lehr/ears/predictions', (audio) => ({ input: { audio } })],
];

/** Requests that make a job at once, in every dialect. */
const CREATES: readonly (readonly [what: string, path: string, body: unknown])[] = [
  ['a job', '/v1/jobs', PICTURE],
  [
    'a workflow',
    '/v1/jobs',
    { type: 'workflow', nodes: [{ id: 'a', type: 'text-to-image', input: PICTURE.input }] },
  ],
  ['a prediction', '/v1/predictions', { version: 'lehr/tiny', input: PICTURE.input }],
  ['a prediction of a model', '/v1/models/lehr/tiny/predictions', { input: PICTURE.input }],
];

/** Predictions have the id of their job without its prefix. */
const bareId = (made: unknown): string => (made as { id: string }).id.replace(/^job_/, '');

const jobsOf = async ({ ask }: KeyHolder): Promise<readonly { readonly id: string }[]> =>
  ((await (await ask('GET', '/v1/jobs?limit=100')).json()) as { data: { id: string }[] }).data;

describe('files', () => {
  test.each(WITH_FILE)(
    '%s with the file of another tenant is refused like one with an unknown file',
    async (_, path, body) => {
      const scene = await twoTenants(server.url);
      const { a, b, adminOfB, file } = scene;
      const before = await stateOfA(scene);
      const names = (id: string): string[] => [id, `${PUBLIC_URL}/v1/files/${id}`];
      for (const who of [b, adminOfB]) {
        for (const [i, foreign] of names(file).entries()) {
          const shown = await shownOf(await who.ask('POST', path, body(foreign)));
          expect(shown.status).toBe(422);
          expect(shown).toEqual(await shownOf(await who.ask('POST', path, body(names(UNKNOWN_FILE)[i]))));
        }
      }
      expect(await jobsOf(b)).toEqual([]);
      expect(await stateOfA(scene)).toEqual(before);
      // The request itself is valid.
      expect((await a.ask('POST', path, body(file))).status).toBeLessThan(300);
    },
  );

  test('A batch of the file of another tenant is refused like one of an unknown file', async () => {
    const { a, b, adminOfB, file } = await twoTenants(server.url);
    for (const who of [b, adminOfB]) {
      const ask = async (input_file_id: string) =>
        shownOf(await who.ask('POST', '/v1/batches', { input_file_id, endpoint: '/v1/jobs' }));
      const shown = await ask(file);
      expect(shown.status).toBe(404);
      expect(shown).toEqual(await ask(UNKNOWN_FILE));
    }
    expect((await (await b.ask('GET', '/v1/batches')).json()) as object).toMatchObject({ data: [] });
    expect((await a.ask('POST', '/v1/batches', { input_file_id: file })).status).toBe(200);
  });

  test('A signed link to the output of another tenant is no input of a job', async () => {
    const { a, b, jobs } = await twoTenants(server.url);
    const [, , done] = jobs;
    const { output } = await jobOf(await a.ask('GET', `/v1/jobs/${done}`));
    const link = new URL(output?.images?.[0].url ?? '');
    for (const audio of [link.pathname.slice('/objects/'.length), `in/tenant-a/${done}`]) {
      const answer = await b.ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
      expect(answer.status).toBe(422);
      expect(await answer.text()).not.toContain(CANARY);
    }
  });
});

describe('idempotency', () => {
  test.each(CREATES)('The Idempotency-Key of another tenant gives a new job: %s', async (_, path, body) => {
    const { world, a, b } = await twoTenants(server.url);
    world.parts.waits.stop();
    const headers = { 'idempotency-key': 'order-81' };
    const [first, second] = [
      await a.ask('POST', path, body, { headers }),
      await b.ask('POST', path, body, { headers }),
    ];
    expect([first.status, second.status].every((status) => status < 300)).toBe(true);
    expect(second.headers.get('idempotency-replayed')).toBeNull();
    const ids = await Promise.all([first, second].map(async (answer) => bareId(await answer.json())));
    expect(ids[1]).not.toBe(ids[0]);
    expect((await jobsOf(b)).map(bareId)).toContain(ids[1]);
  });

  test.each(CREATES)(
    'Another body under the Idempotency-Key of another tenant is no mismatch: %s',
    async (_, path, body) => {
      const { world, a, b } = await twoTenants(server.url);
      world.parts.waits.stop();
      const headers = { 'idempotency-key': 'order-82' };
      expect((await a.ask('POST', '/v1/jobs', PICTURE, { headers })).status).toBe(202);
      expect((await b.ask('POST', path, body, { headers })).status).toBeLessThan(300);
    },
  );

  test('A request that is equal to the unanswered one of another tenant gets a new job', async () => {
    const { world, a, b } = await twoTenants(server.url);
    const { authenticator, unanswered } = world.parts;
    const caller = await authenticator.authenticate(a.key.key);
    const request = { ...JobRequestSchema.parse(PICTURE), priority: 'standard' };
    const { duplicate } = identify(caller!, 'POST /v1/jobs', request, {});
    const { id } = await jobOf(await a.ask('POST', '/v1/jobs', PICTURE));
    await unanswered.markUnanswered(duplicate!, id as JobId);
    expect((await jobOf(await b.ask('POST', '/v1/jobs', PICTURE))).id).not.toBe(id);
    // The tenant's own retry takes the job.
    expect((await jobOf(await a.ask('POST', '/v1/jobs', PICTURE))).id).toBe(id);
  });
});

describe('lists', () => {
  test('The cursor of another tenant shows a tenant only its own jobs and predictions', async () => {
    const { a, b } = await twoTenants(server.url);
    const own = await jobOf(await b.ask('POST', '/v1/jobs', PICTURE));
    const page = (await (await a.ask('GET', '/v1/jobs?limit=1')).json()) as { next_cursor: string };
    const seen = await (await b.ask('GET', `/v1/jobs?limit=100&cursor=${page.next_cursor}`)).text();
    expect(seen).not.toContain(CANARY);
    const predictions = (await (await a.ask('GET', '/v1/predictions')).json()) as { next: string | null };
    const query = predictions.next === null ? '' : new URL(predictions.next).search;
    const shown = await (await b.ask('GET', `/v1/predictions${query}`)).text();
    expect(shown).not.toContain(CANARY);
    expect((await jobsOf(b)).map(({ id }) => id)).toEqual([own.id]);
  });

  test('The audit log, with any filter, is refused to a key without the scope admin', async () => {
    const { a, b } = await twoTenants(server.url);
    for (const query of ['', '?tenant=tenant-b', '?tenant=tenant-a', `?cursor=1-0`]) {
      const answer = await b.ask('GET', `/v1/audit${query}`);
      expect(answer.status).toBe(403);
      expect(await answer.text()).not.toContain(a.key.id);
    }
  });
});
