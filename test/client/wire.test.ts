/** The client speaks what the API serves: its types and paths are those of the OpenAPI document. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiWorld } from '../support/api-world.ts';
import type { OpenApiDocument } from '../support/openapi.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { wireSource } from './wire-source.ts';

/** What the client and the CLI call. */
const OPERATIONS = [
  'createJob',
  'listJobs',
  'getJob',
  'deleteJob',
  'cancelJob',
  'followJob',
  'createFile',
  'listModels',
  'listQueues',
  'createKey',
  'listKeys',
  'revokeKey',
];
const ROOTS = ['Problem', 'WebhookBody'];

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('its types are those of the document that the API serves', async () => {
  const world = await apiWorld(server.url);
  const document = (await (await world.app.request('/openapi.json')).json()) as OpenApiDocument;
  await expect(wireSource(document, OPERATIONS, ROOTS)).toMatchFileSnapshot(
    '../../packages/client/src/wire.ts',
  );
});
