/** What the chart makes of unusual values. Skipped without Helm. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { helm, type KubeObject, objectsOf, template } from './helm.ts';
import { ofKind, workloads } from './pod-facts.ts';

/** The objects for values in a file: unlike --set, Helm reads its whole numbers as floating-point ones. */
async function objectsFor(values: object): Promise<KubeObject[]> {
  const file = join(await tempFolder('values'), 'values.yaml');
  writeFileSync(file, JSON.stringify(values));
  return objectsOf(template('-f', file));
}

/** Every value inside an object, with its path. */
function leavesOf(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, `${path}.${name}`));
}

const variablesOf = (objects: KubeObject[], name: string) =>
  Object.fromEntries(
    workloads(objects)
      .find((workload) => workload.name === name)
      ?.pod.containers[0].env?.map((each) => [each.name, each.value]) ?? [],
  );

const POOL = { device: 'cpu', tasks: ['text'], min: 0, max: 2, drainS: 60, resources: {}, home: '1Gi' };

describe.skipIf(!helm)('With Helm', () => {
  test('Text that looks like a number, a boolean or an alias stays text', async () => {
    const names = { className: 'on', host: '*.example.com', tlsSecret: '4090' };
    const objects = await objectsFor({
      imagePullSecrets: ['4090'],
      storageClass: '4090',
      secrets: { api: '4090', worker: '4090', store: '4090', redis: '4090', scale: '4090' },
      pools: {
        cpu: null,
        '4090': {
          ...POOL,
          scaler: 'keda',
          image: '4090',
          cacheClaim: '4090',
          modelsClaim: '4090',
          runtimeClass: '4090',
          priorityClass: '4090',
        },
      },
      api: { image: '4090' },
      redis: { image: '4090', maxMemory: '4090' },
      s3: { image: '4090' },
      ingress: { enabled: true, ...names },
    });
    const numbers = objects.flatMap((object) =>
      leavesOf(object, object.kind).filter(([, value]) => value === 4090 || value === true),
    );
    const booleans = /(?:optional|readOnly|readOnlyRootFilesystem|runAsNonRoot|publishNotReadyAddresses)$/;
    expect(numbers.filter(([path]) => !booleans.test(path))).toEqual([]);
    const [{ spec }] = ofKind<{ ingressClassName: string; rules: { host: string }[] }>(objects, 'Ingress');
    expect([spec.ingressClassName, spec.rules[0].host]).toEqual([names.className, names.host]);
  });

  test('Large whole numbers stay whole', async () => {
    const text = template(...['--set', 'pools.cpu.user=1000660000,api.scaler=keda,api.heldRequests=2000000']);
    const file = await objectsFor({
      pools: { cpu: { user: 1_000_660_000 } },
      api: { scaler: 'keda', heldRequests: 2_000_000 },
    });
    expect(file).toEqual(objectsOf(text));
    expect(text).not.toMatch(/[0-9]e\+/);
    expect(JSON.stringify(file)).toContain('"targetValue":"2000000"');
  });

  test('A pool may have no worker while Lehr does not answer KEDA', async () => {
    const objects = await objectsFor({ pools: { cpu: { scaler: 'keda', fallback: 0 } } });
    const [{ spec }] = ofKind<{ fallback: { replicas: number } }>(objects, 'ScaledObject');
    expect(spec.fallback.replicas).toBe(0);
  });

  test('A variable of a pool replaces the one of all processes, also with an empty text', async () => {
    const objects = await objectsFor({
      env: { LEHR_LOG_LEVEL: 'debug', LEHR_S3_PUBLIC_ENDPOINT: 'http://127.0.0.1:8333' },
      pools: { cpu: { env: { LEHR_LOG_LEVEL: 'warn', LEHR_S3_PUBLIC_ENDPOINT: '' } } },
    });
    expect(variablesOf(objects, 'lehr-worker-cpu')).toMatchObject({
      LEHR_LOG_LEVEL: 'warn',
      LEHR_S3_PUBLIC_ENDPOINT: '',
    });
    expect(variablesOf(objects, 'lehr-api').LEHR_LOG_LEVEL).toBe('debug');
  });

  test('The models of a pool of any name are beside those of all', async () => {
    const objects = await objectsFor({
      models: 'models: []',
      pools: { models: { ...POOL, scaler: 'none', models: ['one'], modelsFile: 'models: [one]' } },
    });
    const { data = {} } = objects.find(({ metadata }) => metadata.name === 'lehr-models') ?? {};
    expect(Object.values(data).map((each) => each.trim())).toEqual(
      expect.arrayContaining(['models: []', 'models: [one]']),
    );
  });
});
