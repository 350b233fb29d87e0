/** The client's types and paths are those of the OpenAPI document that the API serves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../infra/local/openapi-document.ts';
import { readText } from '../repo/readme.ts';
import { apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const GENERATOR = new URL('../../packages/client-types/client-types.mjs', import.meta.url).href;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('The client has the types of the document that the API serves; npm run docs writes them', async () => {
  const world = await apiWorld(server.url);
  const served = (await (await world.app.request('/openapi.json')).json()) as object;
  const { clientTypes } = (await import(GENERATOR)) as { clientTypes(document: object): Promise<string> };
  expect(readText('packages/client/src/openapi.ts')).toBe(await clientTypes(served));
});

test('npm run docs reads the document that the API serves', async () => {
  const world = await apiWorld(server.url);
  const served = (await (await world.app.request('/openapi.json')).json()) as object;
  const { paths, components, webhooks } = (await openApiDocument()) as Record<string, unknown>;
  expect(served).toMatchObject({ paths, components, webhooks });
});
