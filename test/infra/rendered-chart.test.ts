/**
 * The objects that Helm makes of the chart agree with each other, with the images and with the code. Without Helm these tests are
 * skipped; `npm run lab -- cluster rendered` builds it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT, readText } from '../repo/readme.ts';
import { expectUsable } from '../repo/variables.ts';
import { CASES, CHART, helm, KUBERNETES, type KubeObject, objectsIn, objectsOf, template } from './helm.ts';
import { type Labels, matches, ofKind, quantity, type Workload, workloads } from './pod-facts.ts';

const NAMES = Object.keys(CASES);
/** A Lehr container, and no server of another project. */
const isLehr = ({ labels }: Workload): boolean => labels['lehr.dev/job'] !== undefined;
const lehrPods = () => NAMES.flatMap((name) => workloads(objectsIn(name)).filter(isLehr));
const secrets = objectsOf(
  execFileSync('sh', [join(ROOT, 'infra/helm/secrets.sh')], { encoding: 'utf8' }),
) as unknown as (KubeObject & { readonly stringData: Readonly<Record<string, string>> })[];

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

test.each([
  ['REDIS_API_URL', 'REDIS_WORKER_URL'],
  ['REDIS_WORKER_URL', 'REDIS_API_URL'],
  ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  ['AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID'],
])('secrets.sh prints nothing for %s without %s', (given, missing) => {
  const options = { encoding: 'utf8', env: { PATH: process.env.PATH, [given]: 'x' } } as const;
  const { status, stdout, stderr } = spawnSync('sh', [join(ROOT, 'infra/helm/secrets.sh')], options);
  expect([status === 0, stdout]).toEqual([false, '']);
  expect(stderr).toContain(missing);
});

describe.skipIf(!helm)('With Helm', () => {
  test('helm lint finds no fault in the chart and in its examples', () => {
    for (const options of Object.values(CASES)) {
      const out = execFileSync(
        helm ?? '',
        ['lint', '--strict', join(ROOT, CHART), ...KUBERNETES, ...options],
        {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      expect(out).toContain('0 chart(s) failed');
    }
  });

  test.each([
    ['apis.min=3', 'additional properties'],
    ['env.LEHR_API_KEY=secret', 'LEHR_API_KEY'],
    ['pools.cpu.scaler=maybe', 'pools.cpu.scaler'],
    ['pools.cpu.scaler=hpa,pools.cpu.min=0', 'pools.cpu.min'],
    ['pools.cpu.models={demo-text}', 'pools.cpu.modelsFile'],
  ])('Helm refuses --set %s, and says which value is wrong', (option, part) => {
    expect(() => template('--set', option)).toThrow(part);
  });

  test.each(NAMES)('No two objects of %s have the same kind and name', (name) => {
    const names = objectsIn(name).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(NAMES)('Containers of %s get only variables that exist, with valid values, each once', (name) => {
    for (const { pod } of workloads(objectsIn(name)).filter(isLehr)) {
      for (const { env = [] } of pod.containers) {
        const literal = env.flatMap((each) =>
          each.value === undefined ? [] : [[each.name, each.value] as const],
        );
        expectUsable(Object.fromEntries(literal));
        expect(new Set(env.map((each) => each.name)).size).toBe(env.length);
      }
    }
  });

  test.each(NAMES)('Secrets that containers of %s read are those that secrets.sh makes', (name) => {
    for (const { pod } of workloads(objectsIn(name))) {
      for (const { env = [] } of pod.containers) {
        for (const { valueFrom } of env) {
          if (!valueFrom || valueFrom.secretKeyRef.optional) continue;
          const { secretKeyRef } = valueFrom;
          const made = secrets.find(({ metadata }) => metadata.name === secretKeyRef.name);
          expect(Object.keys(made?.stringData ?? {}), secretKeyRef.name).toContain(secretKeyRef.key);
        }
      }
    }
  });

  test.each(NAMES)('Whatever a pod of %s refers to is there', (name) => {
    const objects = objectsIn(name);
    const named = (kind: string) => ofKind(objects, kind).map((each) => each.name);
    for (const { name: pod, pod: spec, claims } of workloads(objects)) {
      if (spec.serviceAccountName) expect(named('ServiceAccount'), pod).toContain(spec.serviceAccountName);
      expect(named('PriorityClass'), pod).toContain(spec.priorityClassName);
      for (const { configMap } of spec.volumes)
        if (configMap) expect(named('ConfigMap')).toContain(configMap.name);
      const volumes = [...spec.volumes.map((volume) => volume.name), ...claims];
      const mounted = spec.containers.flatMap(({ volumeMounts }) => volumeMounts.map((mount) => mount.name));
      expect(mounted.sort(), pod).toEqual(volumes.sort());
    }
    type Scaler = { readonly scaleTargetRef: { readonly name: string } };
    for (const kind of ['ScaledObject', 'HorizontalPodAutoscaler'])
      for (const { name: scaler, spec } of ofKind<Scaler>(objects, kind))
        expect(named('Deployment'), scaler).toContain(spec.scaleTargetRef.name);
  });

  test.each(NAMES)('Services, probes and monitors of %s use ports that their pods have', (name) => {
    const objects = objectsIn(name);
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
  });

  test('A worker has longer to end than its drain takes, and an API longer than it waits and closes', () => {
    for (const { name, pod } of lehrPods()) {
      const [{ env = [], lifecycle }] = pod.containers;
      const drainS = Number(env.find((variable) => variable.name === 'LEHR_DRAIN_S')?.value ?? 0);
      const closeS = lifecycle?.preStop.sleep.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds, name).toBeGreaterThanOrEqual(Math.max(drainS, closeS) + 15);
      // EC2 takes a spot instance back two minutes after its notice.
      expect(pod.terminationGracePeriodSeconds, name).toBeLessThan(120);
    }
  });

  test('A process of Lehr has five minutes to start, because a kubelet on a busy node gave it too little', () => {
    for (const { pod, name } of lehrPods()) {
      const { periodSeconds = 10, failureThreshold = 3 } = pod.containers[0].startupProbe ?? {};
      expect(periodSeconds * failureThreshold, name).toBeGreaterThanOrEqual(300);
    }
  });

  test('The trial Redis keeps its name while a busy node answers its probe late', () => {
    const redis = ofKind(objectsIn('the example trial'), 'Service').find(({ name }) => name === 'lehr-redis');
    expect(redis?.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
  });

  test.each(NAMES)('Every pod of %s fits the Pod Security Standard "restricted"', (name) => {
    for (const { name: pod, pod: spec } of workloads(objectsIn(name))) {
      expect(spec.securityContext, pod).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.automountServiceAccountToken, pod).toBe(false);
      for (const { securityContext } of spec.containers)
        expect(securityContext, pod).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('Images, their users and their ports are those of the Dockerfiles', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    for (const { pod } of lehrPods()) {
      const [{ image, ports = [] }] = pod.containers;
      const [, name, tag] = /(?:^|\/)lehr-([a-z-]+):(.+)$/.exec(image) ?? [];
      expect(tag).toBe(version);
      const dockerfile = readText(`infra/docker/${name}.Dockerfile`);
      const [, user = ''] = /^USER (\d+):\d+$/m.exec(dockerfile) ?? [];
      expect(pod.securityContext.runAsUser).toBe(Number(user));
      if (user !== '1000') expect(dockerfile).toContain(`--uid ${user} `);
      const [, exposed] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? [];
      expect(ports.map(({ containerPort }) => `${containerPort}`)).toContain(exposed);
    }
  });

  test('workerTag holds the workers at another version while the API is upgraded', () => {
    const images = workloads(objectsOf(template('--set', 'tag=0.3.0,workerTag=0.2.0')))
      .filter(isLehr)
      .map(({ pod }) => pod.containers[0].image);
    expect(images).toEqual(['lehr-api:0.3.0', 'lehr-api:0.3.0', 'lehr-worker-cpu:0.2.0']);
  });

  test('The settings of the trial Redis and of the S3 server are those of compose.yaml', () => {
    const objects = objectsIn('the chart');
    const files = objects.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'lehr-redis',
    );
    expect(files?.data).toEqual({
      'redis.conf': readText('infra/redis.conf'),
      'users.acl': readText('infra/redis/users.acl'),
      'start.sh': readText('infra/redis/start.sh'),
    });
    const { services } = parse(readText('infra/compose.yaml'), { merge: true }) as {
      services: { s3: { image: string; command: string[] } };
    };
    const s3 = workloads(objects).find(({ name }) => name === 'lehr-s3')?.pod.containers[0];
    expect(services.s3.image).toContain(s3?.image);
    expect(s3?.args).toEqual(expect.arrayContaining(services.s3.command));
  });

  test('The alerts of the PrometheusRule are the file of infra/observe, and its jobs those of the PodMonitors', () => {
    const objects = objectsIn('the example aws');
    const [{ spec: rule }] = ofKind(objects, 'PrometheusRule');
    expect(rule).toEqual(parse(readText('infra/observe/alerts.yaml')));
    const { scrape_configs: scraped } = parse(readText('infra/observe/prometheus.yaml')) as {
      scrape_configs: { job_name: string }[];
    };
    const known = scraped.map(({ job_name }) => job_name);
    const monitors = ofKind<{ jobLabel: string }>(objects, 'PodMonitor');
    expect(monitors).toHaveLength(2);
    for (const { name, spec } of monitors) {
      expect(known).toContain(name);
      expect(workloads(objects).map(({ labels }) => labels[spec.jobLabel])).toContain(name);
    }
  });

  /** https://karpenter.sh/docs/reference/instance-types: what a node leaves to pods. */
  const G4DN_XLARGE = { cpu: '3920m', memory: '14481Mi' };
  /** Network, proxy, device plugin and exporters of the node. */
  const NODE_PODS = { cpu: '500m', memory: '1Gi' };

  test('A worker with a card fits a g4dn.xlarge beside the pods of the node, and asks for the nodes of karpenter.yaml', () => {
    const [, nodePool] = objectsOf(readText('infra/aws/karpenter.yaml'));
    const { template: node } = nodePool.spec as {
      template: { metadata: { labels: Labels }; spec: { taints: { key: string; effect: string }[] } };
    };
    const workers = workloads(objectsIn('the example aws')).filter(({ name }) =>
      name.startsWith('lehr-worker-'),
    );
    expect(workers.map(({ name }) => name)).toEqual(['lehr-worker-t4-diffusion', 'lehr-worker-t4-speech']);
    for (const { pod } of workers) {
      const { requests } = pod.containers[0].resources;
      for (const resource of ['cpu', 'memory'] as const) {
        const needed = quantity(requests[resource]) + quantity(NODE_PODS[resource]);
        expect(needed, resource).toBeLessThanOrEqual(quantity(G4DN_XLARGE[resource]));
      }
      expect(requests['nvidia.com/gpu']).toBe(1);
      expect(pod.nodeSelector).toEqual(node.metadata.labels);
      for (const { key, effect } of node.spec.taints)
        expect(pod.tolerations).toContainEqual({ key, operator: 'Exists', effect });
    }
  });
});
