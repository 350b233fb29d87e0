/** For the operator of Prometheus: what it scrapes, and the alerts of infra/observe. */
import { parse } from 'yaml';
import { ruleFile } from '../../observe/rule-file.ts';
import { JOB_LABEL, JOBS, SECRETS } from './names.ts';
import type { KubeObject } from './setting.ts';

const podMonitor = (job: string, port: string): KubeObject => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PodMonitor',
  metadata: { name: job },
  spec: {
    // The alerts know their processes by the label `job`.
    jobLabel: JOB_LABEL,
    selector: { matchLabels: { [JOB_LABEL]: job } },
    podMetricsEndpoints: [{ port, path: '/metrics', interval: '15s' }],
  },
});

export const monitorObjects = (): readonly KubeObject[] => [
  podMonitor(JOBS.api, 'operations'),
  podMonitor(JOBS.worker, 'metrics'),
];

export const ruleObject = (): KubeObject => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: 'lehr' },
  spec: parse(ruleFile()) as object,
});

/** What KEDA shows to the API. */
export const scaleAuthentication = (): KubeObject => ({
  apiVersion: 'keda.sh/v1alpha1',
  kind: 'TriggerAuthentication',
  metadata: { name: SECRETS.scale.name },
  spec: {
    secretTargetRef: [{ parameter: 'token', name: SECRETS.scale.name, key: SECRETS.scale.required[0] }],
  },
});
