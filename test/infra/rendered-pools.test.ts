/** Pools, scalers and probes of the chart are those that the programs know. Skipped without Helm. */
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { serveHealth } from '../../apps/worker/src/parent/health.ts';
import { openApiDocument } from '../../infra/local/openapi-document.ts';
import { parseModels } from '../../packages/shared/src/config/models-watch.ts';
import { covers, parsePools } from '../../packages/shared/src/fleet/scaling/pools.ts';
import { readText } from '../repo/readme.ts';
import { CASES, helm, objectsIn, objectsOf, template } from './helm.ts';
import { ofKind, workloads } from './pod-facts.ts';

const NAMES = Object.keys(CASES);

function poolsOf(name: string) {
  const dataOf = (configMap: string) =>
    objectsIn(name).find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap)?.data ??
    {};
  const registry = parseModels('/etc/lehr/models.yaml', dataOf('lehr-models')['models.yaml'], 0);
  return { registry, pools: parsePools(dataOf('lehr-pools')['pools.yaml'], registry) };
}
const deploymentOf = (name: string, deployment: string) =>
  workloads(objectsIn(name)).filter((each) => each.name === deployment)[0];

describe.skipIf(!helm)('With Helm', () => {
  test.each(NAMES)('The pools of %s are those of its worker Deployments', (name) => {
    const labels = workloads(objectsIn(name)).flatMap(({ labels: all }) => all['lehr.dev/pool'] ?? []);
    const { pools } = poolsOf(name);
    expect(pools.map((pool) => pool.name).sort()).toEqual(labels.sort());
  });

  test.each(NAMES)('Every model of %s belongs to one pool', (name) => {
    const { pools, registry } = poolsOf(name);
    const served = registry.models.flatMap(({ name: model, task, versions }) =>
      versions.map(({ version }) => ({ task, model: { name: model, version } })),
    );
    expect(served.length).toBeGreaterThan(2);
    for (const each of served) expect(pools.filter((pool) => covers(pool, each))).toHaveLength(1);
  });

  test.each(NAMES)('A pool of %s has the tasks of its workers, if it does not name models', (name) => {
    for (const pool of poolsOf(name).pools) {
      const [{ env = [] }] = deploymentOf(name, `lehr-worker-${pool.name}`).pod.containers;
      const tasks = env.find((each) => each.name === 'LEHR_TASKS')?.value;
      if (pool.models === undefined) expect(pool.tasks?.join(',')).toBe(tasks);
    }
  });

  test.each(NAMES)(
    'The API of %s reads pools.yaml, and each process models.yaml, where they are mounted',
    (name) => {
      for (const { pod } of workloads(objectsIn(name))) {
        const [{ env = [], volumeMounts }] = pod.containers;
        for (const [variable, volume, configMap] of [
          ['LEHR_POOLS', 'pools', 'lehr-pools'],
          ['LEHR_MODELS', 'models', 'lehr-models'],
        ]) {
          const path = env.find((each) => each.name === variable)?.value;
          if (path === undefined) continue;
          const mount = volumeMounts.find((each) => each.name === volume);
          const [, folder, file] = /^(.+)\/([^/]+)$/.exec(path) ?? [];
          expect(folder).toBe(mount?.mountPath);
          expect(pod.volumes.find((each) => each.name === volume)?.configMap?.name).toBe(configMap);
          const objects = objectsIn(name).filter(({ kind }) => kind === 'ConfigMap');
          expect(objects.find(({ metadata }) => metadata.name === configMap)?.data).toHaveProperty([file]);
        }
      }
    },
  );

  test.each(['the example aws', 'the chart with every option'])(
    'A ScaledObject of %s asks for a pool of pools.yaml, allows what its policy allows, and shows the key of the scope scale',
    (name) => {
      interface Scaled {
        readonly minReplicaCount: number;
        readonly maxReplicaCount: number;
        readonly fallback: { readonly replicas: number };
        readonly triggers: readonly {
          readonly metadata: { readonly url: string };
          readonly authenticationRef?: { readonly name: string };
        }[];
      }
      const { pools } = poolsOf(name);
      const scaled = ofKind<Scaled>(objectsIn(name), 'ScaledObject').filter(
        (each) => each.name !== 'lehr-api',
      );
      expect(scaled).toHaveLength(pools.length);
      for (const { spec } of scaled) {
        const [trigger] = spec.triggers;
        const [, asked] =
          /^http:\/\/lehr-api\.lehr\.svc:8080\/v1\/scale\/([^/]+)$/.exec(trigger.metadata.url) ?? [];
        const pool = pools.find((each) => each.name === asked);
        expect(pool?.policy, asked).toMatchObject({ min: spec.minReplicaCount, max: spec.maxReplicaCount });
        expect(spec.fallback.replicas).toBe(name === 'the example aws' ? 1 : 2);
        const authentication = ofKind<object>(objectsIn(name), 'TriggerAuthentication').find(
          (each) => each.name === trigger.authenticationRef?.name,
        );
        expect(authentication?.spec).toEqual({
          secretTargetRef: [{ parameter: 'token', name: 'lehr-scale', key: 'token' }],
        });
      }
    },
  );

  test('A Deployment has replicas only where no scaler sets them', () => {
    for (const name of NAMES) {
      const targets = ['ScaledObject', 'HorizontalPodAutoscaler'].flatMap((kind) =>
        ofKind<{ scaleTargetRef: { name: string } }>(objectsIn(name), kind).map(
          ({ spec }) => spec.scaleTargetRef.name,
        ),
      );
      for (const { name: deployment, spec } of ofKind<{ replicas?: number }>(objectsIn(name), 'Deployment'))
        expect(spec.replicas === undefined, `${name}: ${deployment}`).toBe(targets.includes(deployment));
    }
  });

  test('A pool with the scaler hpa gets an HPA with its limits', () => {
    const objects = objectsOf(template('--set', 'pools.cpu.scaler=hpa'));
    const hpas = ofKind<{ minReplicas: number; maxReplicas: number }>(objects, 'HorizontalPodAutoscaler');
    expect(hpas.map(({ name, spec }) => [name, spec.minReplicas, spec.maxReplicas])).toEqual([
      ['lehr-api', 2, 10],
      ['lehr-worker-cpu', 1, 4],
    ]);
  });

  interface ApiScaler {
    readonly scaleTargetRef: { readonly name: string };
    readonly triggers: readonly {
      readonly type: string;
      readonly metadata: Readonly<Record<string, string>>;
    }[];
    readonly advanced: { readonly horizontalPodAutoscalerConfig: { readonly name: string } };
  }

  test('With KEDA the HPA of the API is gone, and KEDA reads a number that the API has, from every process', () => {
    const objects = objectsIn('the chart with every option');
    expect(ofKind(objects, 'HorizontalPodAutoscaler')).toEqual([]);
    const [{ spec }] = ofKind<ApiScaler>(objects, 'ScaledObject').filter(({ name }) => name === 'lehr-api');
    // It takes over an HPA that is there already.
    const [hpa] = ofKind(objectsIn('the chart'), 'HorizontalPodAutoscaler');
    expect(spec.advanced.horizontalPodAutoscalerConfig.name).toBe(hpa.name);
    expect(spec.triggers.map(({ type }) => type)).toEqual(['cpu', 'metrics-api']);
    const [, { metadata }] = spec.triggers;
    expect(readText('docs/metrics.md')).toContain(`| \`${metadata.valueLocation}\` | gauge |  | api |`);
    const [, service, port] = /^http:\/\/([\w-]+)\.lehr\.svc:(\d+)\/metrics$/.exec(metadata.url) ?? [];
    const found = ofKind<{ ports: { port: number; targetPort: string }[] }>(objects, 'Service').find(
      ({ name }) => name === service,
    );
    expect(found?.spec.ports.map((each) => `${each.port} ${each.targetPort}`)).toEqual([
      `${port} operations`,
    ]);
    // KEDA computes the share of CPU from what the pods request.
    const [container] = deploymentOf('the chart with every option', 'lehr-api').pod.containers;
    expect(container.resources.requests).toHaveProperty('cpu');
    expect(container.ports).toContainEqual({ name: 'operations', containerPort: Number(port) });
  });

  function pathsOf(component: string): string[] {
    const found = workloads(objectsIn('the example aws')).filter(
      ({ labels }) => labels['app.kubernetes.io/component'] === component,
    );
    const probes = found.flatMap(({ pod }) =>
      pod.containers.flatMap((each) => [each.startupProbe, each.livenessProbe, each.readinessProbe]),
    );
    return [...new Set(probes.flatMap((probe) => probe?.httpGet?.path ?? []))];
  }

  test('The API has the routes of its probes', async () => {
    const { paths = {} } = (await openApiDocument()) as { paths?: object };
    expect(pathsOf('api')).toEqual(['/healthz', '/readyz']);
    for (const path of [...pathsOf('api'), ...pathsOf('webhooks')])
      expect(Object.keys(paths)).toContain(path);
  });

  test('A worker answers its probes and Prometheus', async () => {
    const server = await serveHealth(0, '127.0.0.1', {
      unreadyReason: async () => undefined,
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
    });
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const monitors = ofKind<{ podMetricsEndpoints: { path: string }[] }>(
      objectsIn('the example aws'),
      'PodMonitor',
    );
    const metrics = monitors.map(({ spec }) => spec.podMetricsEndpoints[0].path);
    expect(metrics).toHaveLength(2);
    expect(pathsOf('worker')).toEqual(['/healthz', '/readyz']);
    for (const path of [...pathsOf('worker'), ...metrics])
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(200);
  });
});
