/** The API: processes that answer requests, and processes that deliver webhooks. Both are the same image. */
import { JOB_LABEL, JOBS, PORTS, secretVariables, selectorOf } from './names.ts';
import {
  CONTAINER_SECURITY,
  httpProbe,
  MODELS_FOLDER,
  modelsMount,
  modelsVolume,
  POD_BASICS,
  POOLS_FOLDER,
  podSecurity,
  poolsChecksum,
  poolsMount,
  poolsVolume,
  settingsChecksum,
  spread,
  USERS,
  variable,
  WRITABLE,
  writableVolumes,
} from './pods.ts';
import type { KubeObject } from './setting.ts';
import { SETTINGS } from './settings.ts';

/** Load balancers need some seconds to learn that a pod ends; until then it still answers. */
const LEAVE_S = 10;
/** After that, the API closes within five seconds. */
const API_GRACE_S = 30;

type Role = 'api' | 'webhooks';

function container(role: Role): object {
  return {
    name: 'api',
    image: SETTINGS.apiImage.setting,
    env: [
      variable('LEHR_ROLES', role === 'api' ? 'http' : 'webhooks'),
      variable('LEHR_PORT', `${PORTS.http}`),
      // Probes and metrics do not share the listener of callers, which can be full.
      variable('LEHR_OPERATIONS_HOST', '0.0.0.0'),
      variable('LEHR_OPERATIONS_PORT', `${PORTS.operations}`),
      variable('LEHR_MODELS', `${MODELS_FOLDER}/models.yaml`),
      ...(role === 'api' ? [variable('LEHR_POOLS', `${POOLS_FOLDER}/pools.yaml`)] : []),
      ...secretVariables('api', 'store'),
    ],
    envFrom: [{ configMapRef: { name: 'lehr-settings' } }],
    ports: [
      { name: 'http', containerPort: PORTS.http },
      { name: 'operations', containerPort: PORTS.operations },
    ],
    resources: SETTINGS.apiResources.setting,
    securityContext: CONTAINER_SECURITY,
    startupProbe: httpProbe('/healthz', 'operations', { periodSeconds: 1, failureThreshold: 60 }),
    // Not /readyz: an outage of Redis or the store must not restart every process.
    livenessProbe: httpProbe('/healthz', 'operations', { periodSeconds: 10, failureThreshold: 3 }),
    readinessProbe: httpProbe('/readyz', 'operations', { periodSeconds: 5, failureThreshold: 2 }),
    lifecycle: role === 'api' ? { preStop: { sleep: { seconds: LEAVE_S } } } : undefined,
    volumeMounts: [...WRITABLE, modelsMount, ...(role === 'api' ? [poolsMount] : [])],
  };
}

function deployment(role: Role, replicas: unknown): KubeObject {
  const labels = selectorOf(role);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `lehr-${role}`, labels },
    spec: {
      // Of the API, the autoscaler sets them.
      replicas,
      revisionHistoryLimit: 5,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: { ...labels, [JOB_LABEL]: JOBS.api },
          annotations: { ...settingsChecksum, ...(role === 'api' && poolsChecksum) },
        },
        spec: {
          ...POD_BASICS,
          serviceAccountName: 'lehr-api',
          priorityClassName: 'lehr-api',
          terminationGracePeriodSeconds: API_GRACE_S,
          securityContext: podSecurity(USERS.node),
          topologySpreadConstraints: spread(labels),
          containers: [container(role)],
          volumes: [...writableVolumes('1Gi'), modelsVolume, ...(role === 'api' ? [poolsVolume] : [])],
        },
      },
    },
  };
}

const budget = (role: Role): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: `lehr-${role}`, labels: selectorOf(role) },
  spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(role) } },
});

export const apiObjects = (): readonly KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'lehr-api', labels: selectorOf('api') },
    spec: {
      selector: selectorOf('api'),
      ports: [{ name: 'http', port: PORTS.http, targetPort: 'http' }],
    },
  },
  deployment('api', undefined),
  budget('api'),
];

export const webhookObjects = (): readonly KubeObject[] => [
  deployment('webhooks', SETTINGS.webhooksMin.setting),
  budget('webhooks'),
];
