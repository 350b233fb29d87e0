/** The pools for which KEDA asks Lehr are those that the API reads from pools.yaml. */
import { expect, test } from 'vitest';
import { parseModels } from '../../packages/shared/src/config/models-file.ts';
import { covers, parsePools } from '../../packages/shared/src/scaling/index.ts';
import { kustomization } from './kustomizations.ts';
import { ofKind, workloads } from './pod-facts.ts';

const rendered = ['dev', 'single-node', 'aws-g4dn'].map((name) => {
  const { objects, generated, patches } = kustomization(`infra/k8s/overlays/${name}`);
  const models = objects.find(({ metadata }) => metadata.name === 'lehr-models')?.data?.['models.yaml'] ?? '';
  const registry = parseModels('/etc/lehr/models.yaml', models, 0);
  const text = generated['lehr-pools']['pools.yaml'];
  return { name, objects, patches, registry, pools: parsePools(text, registry) };
});

const variablesOf = (objects: Parameters<typeof workloads>[0], name: string) =>
  workloads(objects).find((workload) => workload.name === name)?.pod.containers[0].env ?? [];

test.each(rendered)('The pools of $name are those of its worker Deployments', ({ objects, pools }) => {
  const labels = workloads(objects).flatMap((workload) => workload.labels['lehr.dev/pool'] ?? []);
  expect(pools.map((pool) => pool.name).sort()).toEqual(labels.sort());
});

test.each(rendered)('Every model of $name belongs to one pool', ({ pools, registry }) => {
  const served = registry.models.flatMap(({ name, task, versions }) =>
    versions.map(({ version }) => ({ task, model: { name, version } })),
  );
  expect(served.length).toBeGreaterThan(2);
  for (const each of served) expect(pools.filter((pool) => covers(pool, each))).toHaveLength(1);
});

test.each(rendered)('A pool of $name has the tasks of its workers', ({ objects, patches, pools }) => {
  for (const pool of pools) {
    const name = `lehr-worker-${pool.name}`;
    const patch = patches.find(
      ({ target, patch: text }) => target.name === name && text.includes('env/0/value'),
    );
    const [, patched] = /env\/0\/value, value: "([^"]+)"/.exec(patch?.patch ?? '') ?? [];
    const [first] = variablesOf(objects, name);
    expect(first.name).toBe('LEHR_TASKS');
    expect(pool.tasks?.join(',')).toBe(patched ?? first.value);
  }
});

test('A ScaledObject asks for a pool of pools.yaml, and allows what its policy allows', () => {
  interface Scaled {
    readonly minReplicaCount: number;
    readonly maxReplicaCount: number;
    readonly triggers: readonly { readonly metadata: { readonly url: string } }[];
  }
  const { objects, pools } = rendered.filter(({ name }) => name === 'aws-g4dn')[0];
  const scaled = ofKind<Scaled>(objects, 'ScaledObject').filter(({ name }) => name !== 'lehr-api');
  expect(scaled).toHaveLength(pools.length);
  for (const { spec } of scaled) {
    const [, asked] = /\/v1\/scale\/([^/]+)$/.exec(spec.triggers[0].metadata.url) ?? [];
    const pool = pools.find((each) => each.name === asked);
    expect(pool?.policy, asked).toMatchObject({ min: spec.minReplicaCount, max: spec.maxReplicaCount });
  }
});

test.each(rendered)(
  'The API of $name reads pools.yaml from the folder where it is mounted',
  ({ objects }) => {
    const [{ pod }] = workloads(objects).filter(({ name }) => name === 'lehr-api');
    const [{ env = [], volumeMounts }] = pod.containers;
    const { mountPath } = volumeMounts.filter(({ name }) => name === 'pools')[0];
    expect(env.find(({ name }) => name === 'LEHR_POOLS')?.value).toBe(`${mountPath}/pools.yaml`);
    expect(pod.volumes.find(({ name }) => name === 'pools')?.configMap?.name).toBe('lehr-pools');
  },
);
