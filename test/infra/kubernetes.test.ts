/** The objects of infra/k8s agree with each other, with the images and with the code. No cluster is needed. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubernetesFiles } from '../../infra/k8s/source/files.ts';
import { ROOT, readText } from '../house/readme.ts';
import { expectUsable } from '../house/variables.ts';
import { type KubeObject, kustomization, objectsOf } from './kustomizations.ts';
import { type Labels, matches, ofKind, quantity, type Workload, workloads } from './pod-facts.ts';

const OVERLAYS = ['dev', 'single-node', 'aws-g4dn'];
const rendered = OVERLAYS.map((name) => ({ name, ...kustomization(`infra/k8s/overlays/${name}`) }));
/** A Lehr container, and no server of another project. */
const isLehr = ({ pod }: Workload): boolean => pod.containers[0].image.startsWith('lehr-');
const secrets = objectsOf(
  execFileSync('sh', [join(ROOT, 'infra/k8s/secrets.sh')], { encoding: 'utf8' }),
) as unknown as (KubeObject & { readonly stringData: Readonly<Record<string, string>> })[];

test.each(kubernetesFiles())('%s is what npm run docs writes', (path, content) => {
  expect(readText(path)).toBe(content);
});

test.each(rendered)('Every patch of $name changes an object that is there', ({ objects, patches }) => {
  expect(patches.length).toBeGreaterThan(0);
  for (const { target } of patches) {
    const found = objects.filter(
      ({ kind, metadata }) => kind === target.kind && new RegExp(`^(?:${target.name})$`).test(metadata.name),
    );
    expect(found, `${target.kind} ${target.name}`).not.toEqual([]);
  }
});

test.each(rendered)('No two objects of $name have the same kind and name', ({ objects }) => {
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names.length).toBeGreaterThan(20);
  expect(new Set(names).size).toBe(names.length);
});

test.each(rendered)(
  'Containers of $name get only variables that exist, with valid values',
  ({ objects, generated }) => {
    for (const { pod } of workloads(objects).filter(isLehr)) {
      for (const { env = [], envFrom = [] } of pod.containers) {
        for (const { name } of env) expect(name).toMatch(/^(LEHR|HF|AWS)_/);
        const literal = env.flatMap(({ name, value }) =>
          value === undefined ? [] : [[name, value] as const],
        );
        expectUsable(Object.fromEntries(literal));
        for (const { configMapRef } of envFrom) {
          expect(Object.keys(generated)).toContain(configMapRef.name);
          expectUsable(generated[configMapRef.name]);
        }
        const twice = env.filter(({ name }) => env.filter((other) => other.name === name).length > 1);
        expect(twice).toEqual([]);
      }
    }
  },
);

test.each(rendered)(
  'Secrets that containers of $name read are those that secrets.sh makes',
  ({ objects }) => {
    for (const { pod } of workloads(objects)) {
      for (const { env = [] } of pod.containers) {
        for (const { valueFrom } of env) {
          if (!valueFrom || valueFrom.secretKeyRef.optional) continue;
          const { name, key } = valueFrom.secretKeyRef;
          const made = secrets.find(({ metadata }) => metadata.name === name);
          expect(Object.keys(made?.stringData ?? {}), name).toContain(key);
        }
      }
    }
  },
);

test('secrets.sh makes values that Lehr accepts, and passwords that are in the URLs', () => {
  const dataOf = (name: string) => secrets.find(({ metadata }) => metadata.name === name)?.stringData ?? {};
  expectUsable(dataOf('lehr-api'));
  expectUsable(dataOf('lehr-worker'));
  const { REDIS_API_PASSWORD, REDIS_WORKER_PASSWORD } = dataOf('lehr-redis');
  expect(dataOf('lehr-api').LEHR_REDIS_URL).toBe(`redis://api:${REDIS_API_PASSWORD}@lehr-redis:6379`);
  expect(dataOf('lehr-worker').LEHR_REDIS_URL).toBe(
    `redis://worker:${REDIS_WORKER_PASSWORD}@lehr-redis:6379`,
  );
  const values = secrets.flatMap(({ stringData }) => Object.values(stringData));
  expect(new Set(values).size).toBe(values.length);
});

test.each(rendered)('Every selector of $name selects pods, and workloads select their own', ({ objects }) => {
  const all = workloads(objects);
  const selected = (selector: Labels) =>
    all.filter(({ labels }) => matches(selector, labels)).map(({ name }) => name);
  for (const { name, selector, labels } of all) {
    expect(matches(selector, labels), name).toBe(true);
    expect(selected(selector)).toEqual([name]);
  }
  for (const { name, spec } of ofKind<{ selector: Labels }>(objects, 'Service'))
    expect(selected(spec.selector), name).toEqual([name.replace(/-operations$/, '')]);
  for (const { name, spec } of ofKind<{ selector: { matchLabels: Labels } }>(objects, 'PodDisruptionBudget'))
    expect(selected(spec.selector.matchLabels), name).toEqual([name]);
  for (const { name, spec } of ofKind<{ podSelector: { matchLabels: Labels } }>(objects, 'NetworkPolicy'))
    expect(selected(spec.podSelector.matchLabels), name).not.toEqual([]);
  for (const { name, spec } of ofKind<{ selector: { matchLabels: Labels } }>(objects, 'PodMonitor'))
    expect(selected(spec.selector.matchLabels), name).not.toEqual([]);
});

interface Peer {
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly namespaceSelector?: object;
}
interface Policy {
  readonly podSelector: { readonly matchLabels: Labels };
  readonly ingress?: readonly {
    readonly from?: readonly Peer[];
    readonly ports: readonly { port: number }[];
  }[];
  readonly egress?: readonly {
    readonly to?: readonly Peer[];
    readonly ports?: readonly { port: number }[];
  }[];
}

test.each(rendered)(
  'Network policies of $name open ports that are listened on, from both sides',
  ({ objects }) => {
    const all = workloads(objects);
    const policies = ofKind<Policy>(objects, 'NetworkPolicy');
    for (const workload of all) {
      const own = policies.filter(({ spec }) => matches(spec.podSelector.matchLabels, workload.labels));
      const ports = workload.pod.containers.flatMap((container) => container.ports ?? []);
      const open = own.flatMap(({ spec }) =>
        (spec.ingress ?? []).flatMap((rule) => rule.ports.map(({ port }) => port)),
      );
      for (const port of open)
        expect(
          ports.map((each) => each.containerPort),
          workload.name,
        ).toContain(port);
      // Whoever may send to a pod of Lehr is also let in there.
      for (const { to = [], ports: sent = [] } of own.flatMap(({ spec }) => spec.egress ?? [])) {
        for (const { podSelector, namespaceSelector } of to) {
          if (!podSelector || namespaceSelector) continue;
          for (const receiver of all.filter(({ labels }) => matches(podSelector.matchLabels, labels))) {
            const rules = policies
              .filter(({ spec }) => matches(spec.podSelector.matchLabels, receiver.labels))
              .flatMap(({ spec }) => spec.ingress ?? [])
              .filter(
                ({ from }) =>
                  !from || from.some((peer) => matches(peer.podSelector?.matchLabels ?? {}, workload.labels)),
              );
            const letIn = rules.flatMap((rule) => rule.ports.map(({ port }) => port));
            for (const { port } of sent)
              expect(letIn, `${workload.name} to ${receiver.name}`).toContain(port);
          }
        }
      }
    }
  },
);

test.each(rendered)(
  'Network policies of $name let Lehr read Prometheus and send traces, in namespaces that may read its metrics',
  ({ objects }) => {
    const policies = ofKind<Policy>(objects, 'NetworkPolicy');
    const observers = { namespaceSelector: { matchLabels: { 'lehr.dev/metrics': 'true' } } };
    for (const name of ['lehr-api', 'lehr-webhooks', 'lehr-worker']) {
      const { ingress = [], egress = [] } = policies.find((each) => each.name === name)?.spec ?? {};
      expect(ingress, name).toContainEqual(expect.objectContaining({ from: [observers] }));
      const ports = [9090, 4318].map((port) => ({ protocol: 'TCP', port }));
      expect(egress, name).toContainEqual({ to: [observers], ports });
    }
  },
);

test.each(rendered)('Whatever a pod of $name refers to is there', ({ objects, generated }) => {
  const names = (kind: string) => ofKind(objects, kind).map(({ name }) => name);
  for (const { name, pod, claims } of workloads(objects)) {
    if (pod.serviceAccountName) expect(names('ServiceAccount'), name).toContain(pod.serviceAccountName);
    expect(names('PriorityClass'), name).toContain(pod.priorityClassName);
    const volumes = [...pod.volumes.map((volume) => volume.name), ...claims];
    for (const { configMap } of pod.volumes)
      if (configMap) expect([...names('ConfigMap'), ...Object.keys(generated)]).toContain(configMap.name);
    const mounted = pod.containers.flatMap(({ volumeMounts }) => volumeMounts.map((mount) => mount.name));
    expect(mounted.sort(), name).toEqual(volumes.sort());
  }
  for (const { name, spec } of ofKind<{ scaleTargetRef: { kind?: string; name: string } }>(
    objects,
    'ScaledObject',
  ))
    expect(names('Deployment'), name).toContain(spec.scaleTargetRef.name);
  for (const { name, spec } of ofKind<{ scaleTargetRef: { name: string } }>(
    objects,
    'HorizontalPodAutoscaler',
  ))
    expect(names('Deployment'), name).toContain(spec.scaleTargetRef.name);
});

test.each(rendered)(
  'Services, probes and monitors of $name use ports that their pods have',
  ({ objects }) => {
    const all = workloads(objects);
    const portsOf = ({ pod }: Workload) =>
      pod.containers.flatMap(({ ports = [] }) => ports.map((port) => port.name));
    for (const { spec } of ofKind<{ selector: Labels; ports: { targetPort: string }[] }>(objects, 'Service'))
      for (const workload of all.filter(({ labels }) => matches(spec.selector, labels)))
        for (const { targetPort } of spec.ports) expect(portsOf(workload)).toContain(targetPort);
    for (const workload of all)
      for (const { startupProbe, livenessProbe, readinessProbe } of workload.pod.containers)
        for (const probe of [startupProbe, livenessProbe, readinessProbe])
          if (probe?.httpGet) expect(portsOf(workload)).toContain(probe.httpGet.port);
    type Monitor = { selector: { matchLabels: Labels }; podMetricsEndpoints: { port: string }[] };
    for (const { spec } of ofKind<Monitor>(objects, 'PodMonitor'))
      for (const workload of all.filter(({ labels }) => matches(spec.selector.matchLabels, labels)))
        expect(portsOf(workload)).toContain(spec.podMetricsEndpoints[0].port);
  },
);

interface ApiScaler {
  readonly scaleTargetRef: { readonly name: string };
  readonly triggers: readonly {
    readonly type: string;
    readonly metadata: Readonly<Record<string, string>>;
  }[];
  readonly advanced: { readonly horizontalPodAutoscalerConfig: { readonly name: string } };
}

test('With KEDA the HPA of the API is gone, and KEDA reads a number that the API has, from every process', () => {
  const { objects, patches } = rendered.filter(({ name }) => name === 'aws-g4dn')[0];
  const [hpa] = objects.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
  const removed = patches.filter(({ patch }) => patch.startsWith('$patch: delete\n'));
  expect(removed.map(({ target }) => target)).toEqual([{ kind: hpa.kind, name: hpa.metadata.name }]);
  const scaled = ofKind<ApiScaler>(objects, 'ScaledObject').filter(({ name }) => name === 'lehr-api');
  expect(scaled).toHaveLength(1);
  const [{ spec }] = scaled;
  // It takes over an HPA that is there already.
  expect(spec.advanced.horizontalPodAutoscalerConfig.name).toBe(hpa.metadata.name);
  expect(spec.triggers.map(({ type }) => type)).toEqual(['cpu', 'metrics-api']);
  const [, { metadata }] = spec.triggers;
  expect(readText('docs/metrics.md')).toContain(`| \`${metadata.valueLocation}\` | gauge |  | api |`);
  const [, service, port] = /^http:\/\/([\w-]+)\.lehr\.svc:(\d+)\/metrics$/.exec(metadata.url) ?? [];
  const found = ofKind<{ ports: { port: number; targetPort: string }[] }>(objects, 'Service').find(
    ({ name }) => name === service,
  );
  expect(found?.spec.ports.map((each) => `${each.port} ${each.targetPort}`)).toEqual([`${port} operations`]);
  const api = workloads(objects).find(({ name }) => name === 'lehr-api');
  // KEDA computes the share of CPU from what the pods request.
  expect(api?.pod.containers[0].resources.requests).toHaveProperty('cpu');
  expect(api?.pod.containers[0].ports).toContainEqual({ name: 'operations', containerPort: Number(port) });
});

test('A worker has longer to end than its drain takes, and an API longer than it waits and closes', () => {
  for (const { name, pod } of rendered.flatMap(({ objects }) => workloads(objects).filter(isLehr))) {
    const [{ env = [], lifecycle }] = pod.containers;
    const drainS = Number(env.find((variable) => variable.name === 'LEHR_DRAIN_S')?.value ?? 0);
    const closeS = lifecycle?.preStop.sleep.seconds ?? 0;
    expect(pod.terminationGracePeriodSeconds, name).toBeGreaterThanOrEqual(Math.max(drainS, closeS) + 15);
    // EC2 takes a spot instance back two minutes after its notice.
    expect(pod.terminationGracePeriodSeconds, name).toBeLessThan(120);
  }
});

test('Every pod fits the Pod Security Standard that its namespace enforces', () => {
  const [namespace] = rendered[0].objects.filter(({ kind }) => kind === 'Namespace');
  expect(namespace.metadata.labels).toEqual({ 'pod-security.kubernetes.io/enforce': 'restricted' });
  for (const { name, pod } of rendered.flatMap(({ objects }) => workloads(objects))) {
    expect(pod.securityContext, name).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.automountServiceAccountToken, name).toBe(false);
    for (const { securityContext } of pod.containers) {
      expect(securityContext, name).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  }
});

test('Images, their users and their ports are those of the Dockerfiles', () => {
  const version = (JSON.parse(readText('package.json')) as { version: string }).version;
  for (const { pod } of rendered.flatMap(({ objects }) => workloads(objects).filter(isLehr))) {
    const [{ image, ports = [] }] = pod.containers;
    const [, name, tag] = /^lehr-([a-z-]+):(.+)$/.exec(image) ?? [];
    expect(tag).toBe(version);
    const dockerfile = readText(`infra/docker/${name}.Dockerfile`);
    const [, user = ''] = /^USER (\d+):\d+$/m.exec(dockerfile) ?? [];
    expect(pod.securityContext.runAsUser).toBe(Number(user));
    if (user !== '1000') expect(dockerfile).toContain(`--uid ${user} `);
    const [, exposed] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? [];
    expect(ports.map(({ containerPort }) => `${containerPort}`)).toContain(exposed);
  }
});

test('The jobs of the PodMonitors are those that the alerts know', () => {
  const { scrape_configs: scraped } = parse(readText('infra/observe/prometheus.yaml')) as {
    scrape_configs: { job_name: string }[];
  };
  const aws = rendered.find(({ name }) => name === 'aws-g4dn')?.objects ?? [];
  const known = scraped.map(({ job_name }) => job_name);
  for (const { name, spec } of ofKind<{ jobLabel: string }>(aws, 'PodMonitor')) {
    expect(known).toContain(name);
    const jobs = workloads(aws).map(({ labels }) => labels[spec.jobLabel]);
    expect(jobs).toContain(name);
  }
});

/** https://karpenter.sh/docs/reference/instance-types: what a node leaves to pods. */
const G4DN_XLARGE = { cpu: '3920m', memory: '14481Mi' };
/** Network, proxy, device plugin and exporters of the node. */
const NODE_PODS = { cpu: '500m', memory: '1Gi' };

test('A worker with a card fits a g4dn.xlarge beside the pods of the node', () => {
  const aws = rendered.find(({ name }) => name === 'aws-g4dn')?.objects ?? [];
  const workers = workloads(aws).filter(({ name }) => name.startsWith('lehr-worker-'));
  expect(workers.map(({ name }) => name)).toEqual(['lehr-worker-t4-diffusion', 'lehr-worker-t4-speech']);
  for (const { pod } of workers) {
    const { requests } = pod.containers[0].resources;
    for (const resource of ['cpu', 'memory'] as const) {
      const needed = quantity(requests[resource]) + quantity(NODE_PODS[resource]);
      expect(needed, resource).toBeLessThanOrEqual(quantity(G4DN_XLARGE[resource]));
    }
    expect(requests['nvidia.com/gpu']).toBe(1);
  }
});
