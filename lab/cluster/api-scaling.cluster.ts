/**
 * KEDA scales the processes of the API by the requests that they hold, on the objects of the chart: callers who wait for jobs cost
 * no CPU. Every pod of the API is a real API process.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { NewApiKeySchema } from '../../packages/shared/src/index.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { tempFolder, tinyModels } from '../../test/support/tiny-models.ts';
import { ApiPods } from './api-pods.ts';
import { clusterProxy } from './cluster-proxy.ts';
import { ControlPlane } from './control-plane.ts';
import { startKeda } from './keda.ts';
import { documents, nodes, volumes } from './nodes.ts';
import {
  allReady,
  applyDefinitions,
  chart,
  install,
  makeNamespace,
  NAMESPACE,
  type Pod,
  pathOf,
  serves,
} from './objects.ts';
import { record, secondsSince } from './results.ts';
import { setting } from './settings.ts';
import { stages } from './stages.ts';

const LEAST = 2;
const MOST = 5;
const TARGET = 20;
const HELD = 90;
const MINUTES_6 = 360_000;
const KEY = `lehr_test_${randomBytes(24).toString('hex')}`;
const POD_METRICS = /^([\d.]+):9465$/;

const plane = new ControlPlane();
beforeAll(async () => {
  await plane.start();
  await plane.startControllers(stages(setting('CLUSTER_STAGES'), { playsWorkers: true }));
  await applyDefinitions(plane);
  await plane.apply('volumes', volumes());
  await plane.apply('nodes', nodes({ gpus: 0 }));
});
afterAll(() => plane.stop());

test('More API processes start while callers wait for jobs, and go when the callers have left; no request fails', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await makeNamespace(plane);
  const query = new URLSearchParams({ labelSelector: 'app.kubernetes.io/component=api' });
  const pods = await plane.kube.watch<Pod>(`${pathOf('pods')}?${query}`);
  const api = new ApiPods(pods, await shared(redis.url));
  const proxy = await clusterProxy((host) => {
    const [, address] = POD_METRICS.exec(host) ?? [];
    return address === undefined ? api.serving[0] : api.operationsOf(address);
  });
  onTestFinished(() => proxy.close());
  await startKeda(plane, proxy.url);
  const options = {
    'api.scaler': 'keda',
    'api.min': LEAST,
    'api.max': MOST + 1,
    'api.heldRequests': TARGET,
    'pools.cpu.scaler': 'keda',
  };
  const values = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  await install(plane, withoutCpu(chart('--set', values.join())));
  await allReady(plane);
  await secretOfKeda(await until(() => api.serving[0]));
  await pods.until('the fewest API pods', (all) => all.filter(serves).length === LEAST, MINUTES_6);

  const callers = await startCallers(api);
  const begun = performance.now();
  await pods.until('pods for all held requests', (all) => all.filter(serves).length === MOST, MINUTES_6);
  await until(() => (api.serving.length === MOST ? true : undefined));
  const toMostS = secondsSince(begun);
  const { answered, failed } = await callers.stop();
  const ended = performance.now();
  await pods.until('the fewest API pods again', (all) => all.length === LEAST, MINUTES_6);
  const toLeastS = secondsSince(ended);
  plane.check();
  expect(api.faults).toEqual([]);
  expect(failed).toBe(0);
  const counts = { held: HELD, target: TARGET, least: LEAST, most: MOST, answered, failed };
  record('api-scaling', { ...counts, toMostS, toLeastS });
});

async function shared(redisUrl: string): Promise<Readonly<Record<string, string>>> {
  return {
    LEHR_HOME: await tempFolder('home'),
    LEHR_REDIS_URL: redisUrl,
    LEHR_MODELS: await tinyModels(),
    LEHR_API_KEY: KEY,
    LEHR_STORE_SECRET: 'x'.repeat(32),
    // Callers ask again, and so reach the processes that have come.
    LEHR_HOLD_S: '10',
  };
}

interface Scaled {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    triggers: { readonly type: string }[];
    advanced: { horizontalPodAutoscalerConfig: { behavior: object } };
  };
}

/** There is no metrics-server here, so the trigger that reads the CPU goes. The API shrinks after 15 s and not after five minutes. */
function withoutCpu(objects: string): string {
  // Templates that a condition leaves out are empty documents.
  const all = parseAllDocuments(objects).flatMap((each) => (each.toJS() as Scaled | null) ?? []);
  for (const { kind, metadata, spec } of all) {
    if (kind !== 'ScaledObject' || metadata.name !== 'lehr-api') continue;
    spec.triggers = spec.triggers.filter(({ type }) => type !== 'cpu');
    spec.advanced.horizontalPodAutoscalerConfig.behavior = { scaleDown: { stabilizationWindowSeconds: 15 } };
  }
  return documents(all);
}

async function secretOfKeda(url: string): Promise<void> {
  const answer = await asked(url, 'POST', '/v1/keys', { tenant: 'keda', name: 'KEDA', scopes: ['scale'] });
  const { key } = NewApiKeySchema.parse(await answer.json());
  const args = ['create', 'secret', 'generic', 'lehr-scale', `--from-literal=token=${key}`];
  expect(await plane.kubectl('-n', NAMESPACE, ...args)).toMatchObject({ code: 0 });
}

const asked = (url: string, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

interface Callers {
  stop(): Promise<{ readonly answered: number; readonly failed: number }>;
}

/** Callers who wait for a job that no worker takes, each at another process in turn. */
async function startCallers(api: ApiPods): Promise<Callers> {
  const job = { type: 'text-to-image', input: { prompt: 'a circle' } };
  const made = await asked(api.serving[0], 'POST', '/v1/jobs', job);
  expect(made.status).toBe(202);
  const { id } = (await made.json()) as { id: string };
  const counts = { answered: 0, failed: 0 };
  let isOver = false;
  let turn = 0;
  const call = async (): Promise<void> => {
    while (!isOver) {
      turn += 1;
      const response = await asked(api.serving[turn % api.serving.length], 'GET', `/v1/jobs/${id}?wait=10`);
      const { status } = (await response.json()) as { status: string };
      counts.answered += 1;
      if (response.status !== 200 || status !== 'queued') counts.failed += 1;
    }
  };
  const callers = Promise.all(Array.from({ length: HELD }, call));
  callers.catch(() => {});
  return {
    stop: async () => {
      isOver = true;
      await callers;
      return counts;
    },
  };
}

/** Resolves when `look` has something. */
async function until<T>(look: () => T | undefined): Promise<T> {
  let found: T | undefined;
  await plane.until('an API process', async () => {
    found = look();
    return found !== undefined;
  });
  return found as T;
}
