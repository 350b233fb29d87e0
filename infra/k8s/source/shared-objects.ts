/** What pods refer to: settings, models, service accounts and priorities. */
import { selectorOf } from './names.ts';
import type { KubeObject } from './setting.ts';
import { SETTINGS } from './settings.ts';

export const modelsObject = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'lehr-models' },
  data: { 'models.yaml': SETTINGS.models.setting },
});

/** Only in the chart: Kustomize generates it, with a name that changes with its content. */
export const settingsObject = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'lehr-settings' },
  data: SETTINGS.settings.setting,
});

const account = (component: 'api' | 'worker', annotations: unknown): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: `lehr-${component}`, labels: selectorOf(component), annotations },
  automountServiceAccountToken: false,
});

export const accountObjects = (): readonly KubeObject[] => [
  account('api', SETTINGS.apiAccount.setting),
  account('worker', SETTINGS.workerAccount.setting),
];

const priority = (name: string, value: number, description: string): KubeObject => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  globalDefault: false,
  description,
});

export const priorityObjects = (): readonly KubeObject[] => [
  priority('lehr-data', 300_000, 'Redis of Lehr: everything else waits for it.'),
  priority('lehr-api', 200_000, 'Lehr accepts jobs even when there is no room for workers.'),
  priority('lehr-worker', 100_000, 'Workers of Lehr: above batch work and pods that only hold room.'),
];
