/** The chart and each of its examples on a control plane: accepted, pods ready, policies and budgets select what they should. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ControlPlane } from './control-plane.ts';
import { nodes, volumes } from './nodes.ts';
import {
  allReady,
  applyDefinitions,
  chart,
  example,
  install,
  karpenterNodes,
  NAMESPACE,
  type Pod,
  pathOf,
  serves,
} from './objects.ts';
import { record, secondsSince } from './results.ts';
import { setting } from './settings.ts';
import { stages } from './stages.ts';

const CASES: Readonly<Record<string, () => string>> = {
  'the chart': () => chart(),
  'the chart with KEDA and Prometheus': () =>
    chart('--set', 'api.scaler=keda,pools.cpu.scaler=keda,monitoring.enabled=true'),
  'example trial': () => example('trial'),
  'example single-node': () => example('single-node'),
  'example aws': () => `${example('aws')}\n---\n${karpenterNodes()}`,
};

/** The label of the component by which Lehr's policies and budgets choose pods; undefined: all of Lehr. */
const COMPONENT = 'app.kubernetes.io/component';
const SELECTED: Readonly<Record<string, string | undefined>> = {
  'lehr-names': undefined,
  'lehr-api': 'api',
  'lehr-webhooks': 'webhooks',
  'lehr-worker': 'worker',
  'lehr-redis': 'redis',
  'lehr-s3': 's3',
};

interface Chooser {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly expectedPods?: number; readonly currentHealthy?: number };
}

interface Event {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

describe.each(Object.entries(CASES))('%s', (name, render) => {
  const plane = new ControlPlane();
  const figures: Record<string, unknown> = { case: name };

  beforeAll(async () => {
    await plane.start();
    await plane.startControllers(stages(setting('CLUSTER_STAGES'), { playsWorkers: true }));
    await applyDefinitions(plane);
    await plane.apply('volumes', volumes());
    await plane.apply('nodes', nodes({ gpus: 4 }));
  });
  afterAll(async () => {
    await plane.stop();
    record(name.replaceAll(' ', '-').toLowerCase(), figures);
  });

  test('The server accepts all objects, and all pods become ready', async () => {
    const from = performance.now();
    const { accepted, warnings } = await install(plane, render());
    expect(warnings).toEqual([]);
    const watches = await allReady(plane);
    const { items } = await plane.kube.get<{ items: Pod[] }>(pathOf('pods'));
    expect(items.length).toBeGreaterThan(2);
    expect(items.every(serves)).toBe(true);
    Object.assign(figures, {
      accepted,
      workloads: watches.flatMap((watch) => watch.items).length,
      pods: items.length,
      readyS: secondsSince(from),
    });
  });

  test('All pods are made, and the namespace refuses a pod with more rights', async () => {
    const { items } = await plane.kube.get<{ items: Event[] }>(`/api/v1/namespaces/${NAMESPACE}/events`);
    expect(items.filter(({ reason }) => reason === 'FailedCreate')).toEqual([]);
    const { status, text } = await plane.kube.send('POST', pathOf('pods'), {
      metadata: { name: 'more-rights' },
      spec: { containers: [{ name: 'a', image: 'busybox' }] },
    });
    expect(status).toBe(403);
    expect(text).toContain('violates PodSecurity');
  });

  test('Network policies and budgets select exactly the pods of their component', async () => {
    const { items: pods } = await plane.kube.get<{ items: Pod[] }>(pathOf('pods'));
    const of = (component: string | undefined): string[] =>
      pods
        .filter(({ metadata }) => component === undefined || metadata.labels?.[COMPONENT] === component)
        .map(({ metadata }) => metadata.name)
        .sort();
    const { items: policies } = await plane.kube.get<{ items: Chooser[] }>(pathOf('networkpolicies'));
    for (const { metadata, spec } of policies) {
      expect(Object.keys(SELECTED)).toContain(metadata.name);
      expect(await selected(spec.podSelector?.matchLabels), metadata.name).toEqual(
        of(SELECTED[metadata.name]),
      );
      expect(of(SELECTED[metadata.name]), metadata.name).not.toEqual([]);
    }
    const { items: budgets } = await plane.kube.get<{ items: Chooser[] }>(pathOf('poddisruptionbudgets'));
    for (const { metadata, spec, status } of budgets) {
      const names = await selected(spec.selector?.matchLabels);
      const owner = pods.filter((pod) => pod.metadata.name.startsWith(`${metadata.name}-`));
      expect(names, metadata.name).toEqual(owner.map((pod) => pod.metadata.name).sort());
      expect(status, metadata.name).toMatchObject({
        expectedPods: names.length,
        currentHealthy: names.length,
      });
    }
    Object.assign(figures, { policies: policies.length, budgets: budgets.length });
  });

  /** The API server evaluates the selector. */
  async function selected(labels: Readonly<Record<string, string>> = {}): Promise<string[]> {
    const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    const query = new URLSearchParams({ labelSelector: selector.join(',') });
    const { items } = await plane.kube.get<{ items: Pod[] }>(`${pathOf('pods')}?${query}`);
    return items.map(({ metadata }) => metadata.name).sort();
  }
});
