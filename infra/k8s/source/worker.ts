/** The objects of one pool of workers. */
import {
  JOB_LABEL,
  JOBS,
  namespaceSetting,
  POOL_LABEL,
  PORTS,
  SECRETS,
  secretVariables,
  selectorOf,
} from './names.ts';
import {
  CONTAINER_SECURITY,
  httpProbe,
  MODELS_FOLDER,
  modelsMount,
  modelsVolume,
  POD_BASICS,
  podSecurity,
  settingsChecksum,
  spread,
  variable,
  WRITABLE,
  writableVolumes,
} from './pods.ts';
import type { Pool } from './pools.ts';
import { type KubeObject, Setting } from './setting.ts';

/** A notice of EC2 leaves two minutes. A worker first uses its drain, then hands back and stores states within the rest. */
export const WORKER_DRAIN_S = 90;
export const WORKER_GRACE_S = 110;

/** In the chart, the name of a pool is a variable of the template. */
const named = (format: string, pool: string | undefined): unknown =>
  pool === undefined ? new Setting(`printf "${format}" $name`, undefined) : format.replace('%s', pool);

export const workerName = (pool: string | undefined): unknown => named('lehr-worker-%s', pool);

const poolSelector = (pool: string | undefined): Readonly<Record<string, unknown>> => ({
  ...selectorOf('worker'),
  [POOL_LABEL]: named('%s', pool),
});

export function workerDeployment(name: string | undefined, pool: Pool): KubeObject {
  const labels = poolSelector(name);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: workerName(name), labels },
    spec: {
      // KEDA changes the replicas; without KEDA there is one, unless kubectl scale says more.
      revisionHistoryLimit: 5,
      selector: { matchLabels: labels },
      // No new card is free during an update, so an old worker ends first. Its waiting jobs wait for the new one.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      template: {
        metadata: { labels: { ...labels, [JOB_LABEL]: JOBS.worker }, annotations: settingsChecksum },
        spec: {
          ...POD_BASICS,
          serviceAccountName: 'lehr-worker',
          priorityClassName: 'lehr-worker',
          terminationGracePeriodSeconds: WORKER_GRACE_S,
          securityContext: podSecurity(pool.user),
          nodeSelector: pool.nodeSelector,
          tolerations: pool.tolerations,
          topologySpreadConstraints: spread(labels),
          containers: [workerContainer(pool)],
          volumes: [...writableVolumes(pool.home), modelsVolume],
        },
      },
    },
  };
}

function workerContainer(pool: Pool): object {
  return {
    name: 'worker',
    image: pool.image,
    env: [
      variable('LEHR_TASKS', pool.tasks),
      variable('LEHR_DEVICE', pool.device),
      variable('LEHR_MODELS', `${MODELS_FOLDER}/models.yaml`),
      variable('LEHR_DRAIN_S', `${WORKER_DRAIN_S}`),
      variable('LEHR_WORKER_PORT', `${PORTS.metrics}`),
      ...secretVariables('worker', 'store'),
    ],
    envFrom: [{ configMapRef: { name: 'lehr-settings' } }],
    ports: [{ name: 'metrics', containerPort: PORTS.metrics }],
    resources: pool.resources,
    securityContext: CONTAINER_SECURITY,
    // A worker that fetches models at its start is alive and not ready. Only a process that does not answer is restarted.
    startupProbe: httpProbe('/healthz', 'metrics', { periodSeconds: 2, failureThreshold: 60 }),
    livenessProbe: httpProbe('/healthz', 'metrics', { periodSeconds: 10, failureThreshold: 6 }),
    readinessProbe: httpProbe('/readyz', 'metrics', { periodSeconds: 5, failureThreshold: 2 }),
    volumeMounts: [...WRITABLE, modelsMount],
  };
}

export const workerBudget = (name: string | undefined): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: workerName(name), labels: poolSelector(name) },
  spec: { maxUnavailable: 1, selector: { matchLabels: poolSelector(name) } },
});

/** KEDA asks Lehr how many workers the pool needs, and the answer is the number of replicas. */
export function scaledObject(name: string | undefined, pool: Pool): KubeObject {
  const url = (host: string): string => `http://lehr-api.${host}.svc:${PORTS.http}/v1/scale/`;
  const address =
    name === undefined
      ? new Setting(`printf "${url('%s')}%s" $.Release.Namespace $name`, undefined)
      : namespaceSetting((namespace) => `${url(namespace)}${name}`, `${url('%s')}${name}`);
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: workerName(name), labels: poolSelector(name) },
    spec: {
      scaleTargetRef: { name: workerName(name) },
      minReplicaCount: pool.min,
      maxReplicaCount: pool.max,
      // From no worker to one. Between one and more, the autoscaler asks every 15 seconds.
      pollingInterval: 10,
      // Lehr's answer has its cooldown already; this one only delays the step from one worker to none.
      cooldownPeriod: 60,
      fallback: { failureThreshold: 6, replicas: pool.fallback, behavior: 'currentReplicasIfHigher' },
      advanced: {
        horizontalPodAutoscalerConfig: {
          behavior: {
            scaleUp: { stabilizationWindowSeconds: 0 },
            scaleDown: {
              stabilizationWindowSeconds: 0,
              policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }],
            },
          },
        },
      },
      triggers: [
        {
          type: 'metrics-api',
          metricType: 'AverageValue',
          metadata: {
            url: address,
            valueLocation: 'desired_workers',
            targetValue: '1',
            activationTargetValue: '0',
            authMode: 'bearer',
          },
          authenticationRef: { name: SECRETS.scale.name },
        },
      ],
    },
  };
}
