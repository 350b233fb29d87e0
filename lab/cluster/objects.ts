/** Lehr's objects as they are installed: the chart and its examples with their Secrets, and the definitions they need. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../test/repo/readme.ts';
import type { ControlPlane } from './control-plane.ts';
import type { KubeItem, Watch } from './kube.ts';
import { programPath, setting } from './settings.ts';

export const NAMESPACE = 'lehr';
const CHART = join(ROOT, 'infra/helm/lehr');
const VERSION = '1.36.3';
const OUTPUT_BYTES = 2 ** 26;

/** What `helm template` makes of the chart, as docs/kubernetes.md says for those who do not use Helm. */
export const chart = (...options: string[]): string => {
  const args = [
    'template',
    'lehr',
    CHART,
    '--namespace',
    NAMESPACE,
    '--kube-version',
    VERSION,
    '--skip-tests',
  ];
  return execFileSync(programPath('helm'), [...args, ...options], {
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES,
  });
};

/** The chart with the values of an example. */
export const example = (name: string, ...options: string[]): string =>
  chart('-f', join(CHART, 'examples', `${name}.yaml`), ...options);

/** The nodes of infra/aws, which are no part of the chart. */
export const karpenterNodes = (): string => readFileSync(join(ROOT, 'infra/aws/karpenter.yaml'), 'utf8');

/** The definitions of the custom resources of KEDA, Karpenter and the operator of Prometheus. */
export async function applyDefinitions(plane: ControlPlane): Promise<void> {
  for (const folder of JSON.parse(setting('CLUSTER_DEFINITIONS')) as string[]) {
    const made = await plane.kubectl('apply', '--server-side', '-f', folder);
    if (made.code !== 0) throw new Error(`definitions of ${folder}: ${made.errors}`);
    const args = ['wait', '--for=condition=Established', '--timeout=60s', '-f', folder];
    // kubectl ends with an error for a definition that has no conditions at all yet.
    await plane.until(`definitions of ${folder}`, async () => (await plane.kubectl(...args)).code === 0);
  }
}

/** The namespace of the page, which refuses pods with more rights than those of Lehr have. */
export async function makeNamespace(plane: ControlPlane): Promise<void> {
  await plane.kubectl('create', 'namespace', NAMESPACE);
  const label = 'pod-security.kubernetes.io/enforce=restricted';
  const { code, errors } = await plane.kubectl('label', '--overwrite', 'namespace', NAMESPACE, label);
  if (code !== 0) throw new Error(`the namespace: ${errors}`);
}

/** Resolves to how many objects were accepted, and to the warnings of the server. Throws when one is refused. */
export async function install(
  plane: ControlPlane,
  objects: string,
): Promise<{ readonly accepted: number; readonly warnings: readonly string[] }> {
  await makeNamespace(plane);
  const applied = await plane.apply('objects', objects, '-n', NAMESPACE);
  const secrets = execFileSync('sh', [join(ROOT, 'infra/helm/secrets.sh')], { encoding: 'utf8' });
  const made = await plane.apply('secrets', secrets, '-n', NAMESPACE);
  const lines = [...applied, ...made];
  const accepted = lines.filter((line) => line.endsWith('serverside-applied'));
  return { accepted: accepted.length, warnings: lines.filter((line) => !accepted.includes(line)) };
}

export interface Workload extends KubeItem {
  readonly spec: { readonly replicas?: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

export interface Pod extends KubeItem {
  readonly spec: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** It counts as a pod that serves: ready, and not about to end. */
export const serves = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;

/** All its pods are of its newest template and available. */
export function isReady({ metadata, spec, status }: Workload): boolean {
  const { replicas = 1 } = spec;
  const { observedGeneration = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (observedGeneration < (metadata.generation ?? 0)) return false;
  return (
    updatedReplicas === replicas && availableReplicas === replicas && (status.replicas ?? 0) === replicas
  );
}

export const pathOf = (kind: string): string => {
  const group = { pods: '/api/v1', networkpolicies: '/apis/networking.k8s.io/v1' }[kind];
  const apps = ['deployments', 'statefulsets'].includes(kind) ? '/apis/apps/v1' : '/apis/policy/v1';
  return `${group ?? apps}/namespaces/${NAMESPACE}/${kind}`;
};

/** Resolves when all Deployments and StatefulSets are ready. */
export async function allReady(plane: ControlPlane): Promise<Watch<Workload>[]> {
  const kinds = ['deployments', 'statefulsets'];
  const watches = await Promise.all(kinds.map((kind) => plane.kube.watch<Workload>(pathOf(kind))));
  await Promise.all(
    watches.map((watch, i) => watch.until(`${kinds[i]} are ready`, (all) => all.every(isReady))),
  );
  return watches;
}
