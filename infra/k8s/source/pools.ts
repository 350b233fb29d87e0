/** Pools: workers that are alike, by task, models and device. Each is a Deployment that is scaled by its own numbers. */
import { Setting } from './setting.ts';
import { TYPES, VERSION } from './settings.ts';

export interface Pool {
  readonly image: unknown;
  readonly user: unknown;
  /** LEHR_TASKS and LEHR_DEVICE. */
  readonly tasks: unknown;
  readonly device: unknown;
  /** Workers that KEDA keeps: fewest and most, and how many when it cannot ask Lehr. */
  readonly min: unknown;
  readonly max: unknown;
  readonly fallback: unknown;
  readonly resources: unknown;
  /** Size of LEHR_HOME, where a worker keeps fetched models. */
  readonly home: unknown;
  readonly nodeSelector: unknown;
  readonly tolerations: unknown;
}

/**
 * A g4dn.xlarge leaves 3920m of CPU and 14481Mi of memory to pods; those of the node itself (network, proxy, device plugin,
 * exporters) need about 0.5 CPU and 1 GiB of it.
 */
const T4 = {
  image: `lehr-worker-cuda:${VERSION}`,
  user: 10_001,
  device: 'cuda',
  max: 8,
  fallback: 1,
  resources: {
    requests: { cpu: '3', memory: '12Gi', 'ephemeral-storage': '20Gi', 'nvidia.com/gpu': 1 },
    limits: { memory: '13Gi', 'nvidia.com/gpu': 1 },
  },
  home: '80Gi',
  nodeSelector: { 'lehr.dev/node': 'gpu' },
  tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
} as const;

export const POOLS: Readonly<Record<string, Pool>> = {
  cpu: {
    image: `lehr-worker-cpu:${VERSION}`,
    user: 1000,
    tasks: 'diffusion,whisper,text',
    device: 'cpu',
    min: 1,
    max: 4,
    fallback: 1,
    resources: {
      requests: { cpu: '2', memory: '4Gi', 'ephemeral-storage': '2Gi' },
      limits: { memory: '8Gi' },
    },
    home: '20Gi',
    nodeSelector: undefined,
    tolerations: undefined,
  },
  't4-diffusion': { ...T4, tasks: 'diffusion', min: 0 },
  't4-speech': { ...T4, tasks: 'whisper,text', min: 0, max: 4 },
};

/** A pool of values.yaml, inside the template's loop over `.Values.pools`. */
export const TEMPLATE_POOL: Pool = {
  ...Object.fromEntries(
    ['image', 'user', 'tasks', 'device', 'min', 'max', 'fallback', 'resources', 'home'].map((field) => [
      field,
      new Setting(`$pool.${field}`, undefined),
    ]),
  ),
  nodeSelector: new Setting('$pool.nodeSelector | default dict', undefined),
  tolerations: new Setting('$pool.tolerations | default list', undefined),
} as unknown as Pool;

export const POOL_SCHEMA = {
  type: 'object',
  additionalProperties: {
    type: 'object',
    additionalProperties: false,
    required: ['image', 'user', 'tasks', 'device', 'min', 'max', 'fallback', 'resources', 'home'],
    properties: {
      image: TYPES.name,
      user: {
        ...TYPES.atLeastOne,
        description: 'The user of the image: 1000 for lehr-worker-cpu, 10001 for lehr-worker-cuda.',
      },
      tasks: { type: 'string', pattern: '^(diffusion|whisper|text)(,(diffusion|whisper|text))*$' },
      device: { enum: ['cuda', 'tensorrt', 'webgpu', 'cpu', 'auto'] },
      min: TYPES.count,
      max: TYPES.atLeastOne,
      fallback: TYPES.count,
      resources: TYPES.object,
      home: TYPES.quantity,
      nodeSelector: TYPES.texts,
      tolerations: { type: 'array', items: TYPES.object },
      scaling: {
        ...TYPES.object,
        description:
          'Further fields of the pool in pools.yaml, see docs/scaling.md: start_s, target_wait_s and so on.',
      },
    },
  },
  minProperties: 1,
  propertyNames: { pattern: '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$' },
} as const;
