/** All of Lehr as real processes: API and workers on a real Redis, with an object folder and a tiny model. */
import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import { DEFAULT_TENANT, type Job, JobSchema, type TenantId } from '../../packages/shared/src/index.ts';
import { type LehrProcess, startLehr } from './lehr-process.ts';
import { freePort } from './ports.ts';
import type { TestRedis } from './redis.ts';
import { tempFolder, tinyModels } from './tiny-models.ts';

export interface Stack {
  readonly url: string;
  readonly key: string;
  /** Whose jobs `key` makes. */
  readonly tenant: TenantId;
  readonly api: LehrProcess;
  readonly namespace: string;
  /** Starts the API again, after `api` was killed; resolves when it is ready. */
  restartApi(): Promise<LehrProcess>;
  worker(env?: Record<string, string>): Promise<LehrProcess>;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Posts a text-to-image job. */
  post(input?: Record<string, unknown>, fields?: Record<string, unknown>): Promise<Job>;
  /** Returns the link of the uploaded file. */
  upload(name: string, bytes: Uint8Array): Promise<string>;
  /** Resolves with the job when it has ended. */
  over(id: string): Promise<Job>;
}

export async function startStack(redis: TestRedis, env: Record<string, string> = {}): Promise<Stack> {
  const port = env.LEHR_PORT ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const key = `lehr_test_${randomBytes(24).toString('hex')}`;
  const namespace = `stack-${randomBytes(4).toString('hex')}`;
  const shared = {
    LEHR_HOME: await tempFolder('home'),
    LEHR_REDIS_URL: redis.url,
    LEHR_NAMESPACE: namespace,
    LEHR_MODELS: await tinyModels(),
    LEHR_PORT: `${port}`,
    LEHR_API_KEY: key,
    ...env,
  };
  const api = startLehr('api', shared);
  const calls = callsOf(url, key);
  const isReady = () =>
    vi.waitFor(async () => {
      if ((await calls.ask('GET', '/readyz')).status !== 200) throw new Error('the API is not ready');
    }, 60_000);
  await isReady();
  return {
    url,
    key,
    tenant: DEFAULT_TENANT,
    api,
    namespace,
    restartApi: async () => {
      const next = startLehr('api', shared);
      await isReady();
      return next;
    },
    worker: async (more = {}) => {
      const worker = startLehr('worker', {
        ...shared,
        LEHR_WORKER_PORT: '0',
        LEHR_DEVICE: 'cpu',
        LEHR_ROW_CAP: '16',
        ...more,
      });
      await worker.logged('worker serves');
      return worker;
    },
    ...calls,
  };
}

/** A shared installation as a new tenant has it: with an own key, and without the jobs of others. */
export async function newTenant(stack: Stack, limits: object = {}): Promise<Stack> {
  const tenant = `tenant-${randomBytes(4).toString('hex')}` as TenantId;
  const response = await stack.ask('POST', '/v1/keys', { tenant, limits });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  const { key } = (await response.json()) as { key: string };
  return { ...stack, key, tenant, ...callsOf(stack.url, key) };
}

function callsOf(url: string, key: string): Pick<Stack, 'ask' | 'post' | 'upload' | 'over'> {
  const ask: Stack['ask'] = (method, path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    ask,
    post: async (input = {}, fields = {}) => {
      const body = { type: 'text-to-image', input: { prompt: 'a red circle', ...input }, ...fields };
      const response = await ask('POST', '/v1/jobs', body);
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      return JobSchema.parse(await response.json());
    },
    upload: async (name, bytes) => {
      const body = new FormData();
      body.append('content', new Blob([new Uint8Array(bytes)]), name);
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${url}/v1/files`, { method: 'POST', headers, body });
      const file = (await response.json()) as { urls: { get: string } };
      if (response.status !== 201) throw new Error(`${response.status} ${JSON.stringify(file)}`);
      return file.urls.get;
    },
    over: async (id) => {
      for (;;) {
        const response = await ask('GET', `/v1/jobs/${id}?wait=20`);
        if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
        const job = JobSchema.parse(await response.json());
        if (!['queued', 'running'].includes(job.status)) return job;
      }
    },
  };
}
