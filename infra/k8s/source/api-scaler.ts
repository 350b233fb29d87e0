/**
 * How many API processes there are. Without KEDA an HPA looks at their CPU. With KEDA they also follow the requests that they hold:
 * callers who wait for a job cost memory and connections, and no CPU.
 */
import { namespaceSetting, PORTS, selectorOf } from './names.ts';
import type { KubeObject } from './setting.ts';
import { SETTINGS } from './settings.ts';

const CPU_PERCENT = 70;
const NAME = 'lehr-api';
const OPERATIONS = 'lehr-api-operations';
const behavior = { scaleDown: { stabilizationWindowSeconds: 300 } };

export const cpuScaler = (): readonly KubeObject[] => [
  {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: NAME, labels: selectorOf('api') },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: NAME },
      minReplicas: SETTINGS.apiMin.setting,
      maxReplicas: SETTINGS.apiMax.setting,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: CPU_PERCENT } },
        },
      ],
      behavior,
    },
  },
];

/** KEDA makes an HPA of both numbers; the larger count of pods wins. */
export const heldScaler = (): readonly KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: OPERATIONS, labels: selectorOf('api') },
    spec: {
      // KEDA asks each pod behind it, so it needs no address.
      clusterIP: 'None',
      selector: selectorOf('api'),
      ports: [{ name: 'operations', port: PORTS.operations, targetPort: 'operations' }],
    },
  },
  {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: {
      name: NAME,
      labels: selectorOf('api'),
      // An HPA of this name, from before KEDA, is taken over: two of them for one Deployment would both stop.
      annotations: { 'scaledobject.keda.sh/transfer-hpa-ownership': 'true' },
    },
    spec: {
      scaleTargetRef: { name: NAME },
      minReplicaCount: SETTINGS.apiMin.setting,
      maxReplicaCount: SETTINGS.apiMax.setting,
      pollingInterval: 15,
      advanced: { horizontalPodAutoscalerConfig: { name: NAME, behavior } },
      triggers: [
        { type: 'cpu', metricType: 'Utilization', metadata: { value: `${CPU_PERCENT}` } },
        {
          type: 'metrics-api',
          metricType: 'AverageValue',
          metadata: {
            url: namespaceSetting(metricsOf, metricsOf('%s')),
            format: 'prometheus',
            valueLocation: 'lehr_held_requests',
            aggregateFromKubeServiceEndpoints: 'true',
            aggregationType: 'sum',
            targetValue: SETTINGS.apiHeld.setting,
          },
        },
      ],
    },
  },
];

const metricsOf = (namespace: string): string =>
  `http://${OPERATIONS}.${namespace}.svc:${PORTS.operations}/metrics`;

/** For Kustomize, which has the HPA in its base. */
export const WITHOUT_CPU_SCALER = {
  target: { kind: 'HorizontalPodAutoscaler', name: NAME },
  patch: `$patch: delete\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: ${NAME} }\n`,
} as const;
