/** Rolling updates and evictions on a control plane: the budgets hold all the time. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ControlPlane } from './control-plane.ts';
import type { KubeItem } from './kube.ts';
import { nodes, volumes } from './nodes.ts';
import {
  allReady,
  applyDefinitions,
  example,
  install,
  isReady,
  type Pod,
  pathOf,
  serves,
  type Workload,
} from './objects.ts';
import { record, secondsSince } from './results.ts';
import { setting } from './settings.ts';
import { stages } from './stages.ts';

const REPLICAS = 3;
const plane = new ControlPlane();
const figures: Record<string, unknown> = {};

beforeAll(async () => {
  await plane.start();
  await plane.startControllers(stages(setting('CLUSTER_STAGES'), { playsWorkers: true }));
  await applyDefinitions(plane);
  await plane.apply('volumes', volumes());
  await plane.apply('nodes', nodes({ gpus: 0 }));
  await install(plane, example('trial'));
  for (const name of ['lehr-api', 'lehr-worker-cpu'])
    await plane.kube.patch(`${pathOf('deployments')}/${name}`, { spec: { replicas: REPLICAS } });
  await allReady(plane);
});
afterAll(async () => {
  await plane.stop();
  record('budgets', figures);
});

const podsOf = (component: string): string =>
  `${pathOf('pods')}?${new URLSearchParams({ labelSelector: `app.kubernetes.io/component=${component}` })}`;

test.each([
  ['lehr-api', 'api', REPLICAS, REPLICAS + 1],
  ['lehr-worker-cpu', 'worker', REPLICAS - 1, REPLICAS],
])(
  'A rolling update of %s never has fewer pods ready than its budget, and no more than its surge',
  async (name, component, least, most) => {
    const pods = await plane.kube.watch<Pod>(podsOf(component));
    const seen: { readonly ready: number; readonly kept: number }[] = [];
    const before = new Set(pods.items.map(({ metadata }) => metadata.uid));
    const end = pods.onChange(() => {
      const kept = pods.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      seen.push({ ready: pods.items.filter(serves).length, kept: kept.length });
    });
    const from = performance.now();
    const annotations = { 'lehr.dev/release': 'next' };
    const path = `${pathOf('deployments')}/${name}`;
    await plane.kube.patch(path, { spec: { template: { metadata: { annotations } } } });
    const deployments = await plane.kube.watch<Workload>(pathOf('deployments'));
    await deployments.until(`${name} is rolled`, (all) =>
      all.some((each) => each.metadata.name === name && isReady(each)),
    );
    await pods.until('all pods are new', (all) => all.every(({ metadata }) => !before.has(metadata.uid)));
    end();
    const ready = seen.map((each) => each.ready);
    figures[name] = {
      seconds: secondsSince(from),
      changes: seen.length,
      leastReady: Math.min(...ready),
      mostPods: Math.max(...seen.map(({ kept }) => kept)),
    };
    expect(Math.min(...ready)).toBeGreaterThanOrEqual(least);
    // The watch must have seen the middle of the update.
    expect(seen.length).toBeGreaterThan(REPLICAS);
    // A pod of a Deployment may be ready before the old one is asked to end, so the controller's limit counts pods.
    expect(Math.max(...seen.map(({ kept }) => kept))).toBeLessThanOrEqual(most);
  },
);

test.each(['api', 'worker'])(
  'An eviction beyond the budget of %s is refused until the first pod is replaced',
  async (component) => {
    const pods = await plane.kube.watch<Pod>(podsOf(component));
    const all = await plane.kube.get<{ items: KubeItem[] }>('/api/v1/nodes');
    const setUnschedulable = async (unschedulable: boolean): Promise<void> => {
      for (const { metadata } of all.items)
        await plane.kube.patch(`/api/v1/nodes/${metadata.name}`, { spec: { unschedulable } });
    };
    await pods.until('all serve', (items) => items.filter(serves).length === REPLICAS);
    await plane.until('the budget allows one', async () => (await allowed(component)) === 1);
    // Without room, the replacement is not ready until the nodes are open again.
    await setUnschedulable(true);
    const [first, second] = pods.items;
    expect(await evict(first)).toMatchObject({ status: 201 });
    const refused = await evict(second);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain("violate the pod's disruption budget");
    await setUnschedulable(false);
    await pods.until('the first is replaced', (items) => items.filter(serves).length === REPLICAS);
    await plane.until('the budget allows one', async () => (await allowed(component)) === 1);
    expect(await evict(second)).toMatchObject({ status: 201 });
    figures[`evictions of ${component}`] = { accepted: 2, refused: 1 };
  },
);

async function allowed(component: string): Promise<number> {
  const name = component === 'worker' ? 'lehr-worker-cpu' : `lehr-${component}`;
  const path = `${pathOf('poddisruptionbudgets')}/${name}`;
  return (await plane.kube.get<{ status: { disruptionsAllowed: number } }>(path)).status.disruptionsAllowed;
}

function evict({ metadata }: Pod): Promise<{ status: number; text: string }> {
  const { name } = metadata;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
  return plane.kube.send('POST', `${pathOf('pods')}/${name}/eviction`, body);
}
