import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import {
  JOB_REQUESTS,
  PROGRESS_EVENT,
  QUEUED_JOB,
  SUCCEEDED_JOB,
} from '../../apps/api/src/routes/examples.ts';
import { JobEventSchema, JobRequestSchema, JobSchema } from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, PUBLIC_URL } from '../support/api-world.ts';
import { chromiumPath, launchBrowser, openPage } from '../support/browser.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}
interface Document {
  readonly openapi: string;
  readonly servers: readonly { url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

let server: TestRedis;
let world: ApiWorld;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface Parameter {
  readonly name: string;
  readonly schema: { readonly pattern?: string };
}

async function documentOf(): Promise<Document> {
  world = await apiWorld(server.url);
  return (await (await world.app.request('/openapi.json')).json()) as Document;
}

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  );

describe('OpenAPI document', () => {
  test('The OpenAPI document has every route of the API and no other', async () => {
    const document = await documentOf();
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: PUBLIC_URL }] });
    const documented = operationsOf(document).map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    const served = world.app.routes
      .filter(
        ({ method, path }) =>
          method !== 'ALL' && !/^\/(?:$|docs|admin|openapi|mcp|metrics|studio)/.test(path),
      )
      .map(
        ({ method, path }) =>
          `${method} ${path.replace(/:(\w+)(?:\{[^}]+\})?/g, '{$1}').replace('/*', '/{key}')}`,
      );
    expect(documented.sort()).toEqual([...new Set(served)].sort());
  });

  test('Every operation that a body can be sent to documents the answer to one that is too large', async () => {
    const operations = operationsOf(await documentOf()).filter(
      ({ path, method }) => method !== 'get' && (path.startsWith('/v1/') || path === '/t2i'),
    );
    expect(operations.length).toBeGreaterThan(15);
    for (const { path, method, operation } of operations) {
      expect(Object.keys(operation.responses), `${method} ${path}`).toContain('413');
      const url = path.replace(/\{\w+\}/g, 'x');
      const body = 'a'.repeat(16 * 1024 * 1024);
      const headers = { 'content-length': String(body.length), 'content-type': 'application/json' };
      const isUpload = /^\/v1\/(?:files|audio\/.*|images\/(?:edits|variations))$/.test(path);
      const { status } = await world.ask(method.toUpperCase(), url, body, { headers });
      expect(status, `${method} ${path}`).toBe(isUpload ? 415 : 413);
    }
  });

  test('Every operation documents the answer to a body that is nested too deeply, also one that takes no body', async () => {
    const operations = operationsOf(await documentOf()).filter(({ path }) => path.startsWith('/v1/'));
    const app = await listen('127.0.0.1', 0);
    onTestFinished(() => app.close(0));
    app.serve(world.app.fetch);
    for (const { path, method, operation } of operations) {
      const body = `${'['.repeat(100)}${']'.repeat(100)}`;
      const headers = {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
      };
      // fetch sends no body with GET.
      const url = `http://127.0.0.1:${app.port}${path.replace(/\{\w+\}/g, 'x')}`;
      const sent = request(url, { method, headers }).end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.destroy();
      expect(Object.keys(operation.responses), `${method} ${path}`).toContain(String(answer.statusCode));
      expect(Object.keys(operation.responses), `${method} ${path}`).toContain('400');
    }
  });

  test('Every operation of the OpenAPI document has a name, a summary and its problems', async () => {
    const operations = operationsOf(await documentOf());
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
    for (const { path, operation } of operations) {
      expect(operation.summary, path).toBeTruthy();
      for (const [status, response] of Object.entries(operation.responses)) {
        const types = Object.keys(response.content ?? {});
        const wanted =
          /^\/(?:v1\/(?:images\/|audio\/|embeddings$)|models\/|hf-inference\/|fill-mask$|sdapi\/|controlnet\/)/.test(
            path,
          )
            ? 'application/json'
            : 'application/problem+json';
        if (Number(status) >= 400) expect(types, `${path} ${status}`).toEqual([wanted]);
      }
      if (!path.startsWith('/v1/')) continue;
      expect(operation.security, path).toEqual([{ bearer: [] }]);
      expect(Object.keys(operation.responses), path).toEqual(
        expect.arrayContaining(['401', '403', '500', '503']),
      );
    }
  });

  test('Every reference of the OpenAPI document has its schema', async () => {
    const document = await documentOf();
    const text = JSON.stringify(document);
    const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) expect(document.components.schemas, name).toHaveProperty(name);
    expect(document.components.schemas).toHaveProperty('TextToImageInput');
  });

  test('Fields that clients of other APIs may send as null are nullable in the OpenAPI document', async () => {
    const { schemas } = (await documentOf()).components;
    type Properties = Record<string, { type: unknown }>;
    const typeOf = (schema: string, field: string): unknown =>
      (schemas[schema] as { properties: Properties }).properties[field].type;
    expect(typeOf('ClassicRequest', 'n')).toEqual(['integer', 'null']);
    expect(typeOf('ClassicRequest', 'prompt')).toBe('string');
    expect(typeOf('OpenAiImageRequest', 'size')).toEqual(['string', 'null']);
    expect(typeOf('PredictionRequest', 'webhook_events_filter')).toEqual(['array', 'null']);
    expect(typeOf('TextToImageInput', 'n')).toBe('integer');
  });

  test('The OpenAPI document says which times of Cancel-After and which webhook URLs are refused', async () => {
    const { paths, components } = await documentOf();
    for (const path of ['/v1/predictions', '/v1/models/{owner}/{name}/predictions']) {
      const { parameters } = paths[path].post as unknown as { parameters: Parameter[] };
      const pattern = parameters.find(({ name }) => name === 'cancel-after')?.schema.pattern ?? '.*';
      for (const time of ['90s', '5m', '1h30m', '1h5s']) expect(time).toMatch(new RegExp(pattern));
      for (const time of ['', '90', '1.5m', '-5s', '5s1h', 'soon', '1d']) {
        expect(time).not.toMatch(new RegExp(pattern));
      }
    }
    for (const name of ['WebhookRequest', 'WebhookTestRequest']) {
      expect(components.schemas[name]).toMatchObject({
        properties: { url: { type: 'string', format: 'uri' } },
      });
    }
  });

  test('Every example in the OpenAPI document is valid by its schema', () => {
    for (const { value } of Object.values(JOB_REQUESTS)) JobRequestSchema.parse(value);
    for (const job of [QUEUED_JOB, SUCCEEDED_JOB]) expect(JobSchema.strict().parse(job)).toEqual(job);
    expect(JobEventSchema.parse(PROGRESS_EVENT)).toEqual(PROGRESS_EVENT);
    const { timings, total_ms } = SUCCEEDED_JOB.metrics!;
    expect(Object.values(timings).reduce((sum, part) => sum + part)).toBe(total_ms);
  });
});

describe.skipIf(!chromiumPath)('page at /docs', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test('The page at /docs shows every operation and loads nothing from other hosts', async () => {
    const document = await documentOf();
    const shown = [...operationsOf(document), ...Object.keys(document.webhooks)];
    const listener = await listen('127.0.0.1', 0);
    onTestFinished(() => listener.close(0));
    listener.serve(world.app.fetch);
    const { page, complaints } = await openPage(browser);
    const hosts = new Set<string>();
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:') hosts.add(host);
    });
    await page.goto(`http://127.0.0.1:${listener.port}/docs`);
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('.opblock').count()).toBe(shown.length);
    await page.locator('#operations-jobs-createJob').click();
    await page.getByText('Responds with 202 as soon as the job is stored').waitFor();
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([`127.0.0.1:${listener.port}`]);
  });
});
