/** What all pods of Lehr have in common. */
import { Setting } from './setting.ts';

/** Users of the images. */
export const USERS = { node: 1000, cuda: 10_001, redis: 999 } as const;

/** As the Pod Security Standard "restricted" demands; the namespace enforces it. */
export const podSecurity = (user: unknown): object => ({
  runAsNonRoot: true,
  runAsUser: user,
  runAsGroup: user,
  fsGroup: user,
  seccompProfile: { type: 'RuntimeDefault' },
});

export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const;

/** Fields of every pod. No pod of Lehr calls the API server, and service links would only fill the environment. */
export const POD_BASICS = { automountServiceAccountToken: false, enableServiceLinks: false } as const;

/** Folders that a process writes to; the image itself is read-only. */
export const WRITABLE = [
  { name: 'tmp', mountPath: '/tmp' },
  { name: 'home', mountPath: '/var/lib/lehr' },
] as const;

/** `homeGi` is the limit of LEHR_HOME on the node's disk; models that a worker fetches are there too. */
export const writableVolumes = (homeSize: unknown): readonly object[] => [
  { name: 'tmp', emptyDir: { sizeLimit: '2Gi' } },
  { name: 'home', emptyDir: { sizeLimit: homeSize } },
];

export const MODELS_FOLDER = '/etc/lehr';
export const modelsVolume = { name: 'models', configMap: { name: 'lehr-models' } } as const;
/** A folder and no subPath: only then the kubelet updates the file, which Lehr reads again. */
export const modelsMount = { name: 'models', mountPath: MODELS_FOLDER, readOnly: true } as const;

export const POOLS_FOLDER = '/etc/lehr-pools';
/** pools.yaml, which only the API reads, at its start. */
export const poolsVolume = { name: 'pools', configMap: { name: 'lehr-pools' } } as const;
export const poolsMount = { name: 'pools', mountPath: POOLS_FOLDER, readOnly: true } as const;

/** Restarts pods when settings of the chart change. Kustomize renames the ConfigMap instead. */
export const settingsChecksum = {
  'lehr.dev/settings': new Setting('toJson .Values.settings | sha256sum', undefined),
} as const;
export const poolsChecksum = {
  'lehr.dev/pools': new Setting('toJson .Values.pools | sha256sum', undefined),
} as const;

export const httpProbe = (path: string, port: string, more: object = {}): object => ({
  httpGet: { path, port },
  timeoutSeconds: 5,
  ...more,
});

/** Pods of one selector on different zones and nodes, where there are several. */
export const spread = (labels: Readonly<Record<string, unknown>>): readonly object[] =>
  ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labels },
  }));

export const variable = (name: string, value: unknown): object => ({ name, value });
