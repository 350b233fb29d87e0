/** What tests ask of the workloads in a list of objects. */
import type { KubeObject } from './helm.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: {
      readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional?: boolean };
    };
  }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: {
    readonly requests: Readonly<Record<string, string | number>>;
    readonly limits: object;
  };
  readonly securityContext: object;
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly priorityClassName: string;
  readonly nodeSelector?: Labels;
  readonly tolerations?: readonly object[];
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: { readonly runAsUser: number };
  readonly automountServiceAccountToken: boolean;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}

export interface Workload {
  readonly kind: string;
  readonly name: string;
  readonly selector: Labels;
  readonly labels: Labels;
  readonly pod: PodSpec;
  readonly claims: readonly string[];
}

interface WorkloadSpec {
  readonly selector: { readonly matchLabels: Labels };
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

export const workloads = (objects: readonly KubeObject[]): Workload[] =>
  objects
    .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
    .map(({ kind, metadata, spec }) => {
      const { selector, template, volumeClaimTemplates = [] } = spec as WorkloadSpec;
      return {
        kind,
        name: metadata.name,
        selector: selector.matchLabels,
        labels: template.metadata.labels,
        pod: template.spec,
        claims: volumeClaimTemplates.map((claim) => claim.metadata.name),
      };
    });

export const ofKind = <Spec>(objects: readonly KubeObject[], kind: string): { name: string; spec: Spec }[] =>
  objects
    .filter((object) => object.kind === kind)
    .map(({ metadata, spec }) => ({ name: metadata.name, spec: spec as Spec }));

export const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);

/** Bytes, or cores, of a quantity such as 512Mi or 500m. */
export function quantity(text: string | number): number {
  const [, value, unit] = /^([\d.]+)(m|[KMGT]i)?$/.exec(`${text}`) ?? [];
  if (value === undefined) throw new Error(`${text} is no quantity`);
  if (unit === 'm') return Number(value) / 1000;
  return Number(value) * 1024 ** (unit === undefined ? 0 : ['Ki', 'Mi', 'Gi', 'Ti'].indexOf(unit) + 1);
}
