/** Names, labels and ports that several objects share. A test holds the ports equal to those of the images. */
import { Setting } from './setting.ts';

export const NAMESPACE = 'lehr';

export const PORTS = {
  http: 8080,
  operations: 9465,
  metrics: 9464,
  redis: 6379,
  s3: 8333,
  /** Where Prometheus and a collector of traces (OTLP over HTTP) listen. */
  prometheus: 9090,
  traces: 4318,
} as const;

export type Component = 'api' | 'webhooks' | 'worker' | 'redis' | 's3';

/** Labels by which selectors find the pods of a component. They must never change: selectors are immutable. */
export const selectorOf = (component: Component): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'lehr',
  'app.kubernetes.io/component': component,
});

/** The value of Prometheus's label `job`, which the alerts use. */
export const JOB_LABEL = 'lehr.dev/job';
export const POOL_LABEL = 'lehr.dev/pool';
/** Pods of these jobs serve metrics. */
export const JOBS = { api: 'lehr-api', worker: 'lehr-worker' } as const;

/** The namespace of the release: in plain files Kustomize's own. */
export const namespaceSetting = (text: (namespace: string) => string, format: string): Setting =>
  new Setting(`printf "${format}" .Release.Namespace`, text(NAMESPACE));

/** The keys of the Secrets that pods read. infra/k8s/secrets.sh makes them. */
export const SECRETS = {
  api: {
    name: 'lehr-api',
    required: ['LEHR_API_KEY', 'LEHR_KEY_PEPPER', 'LEHR_SECRET_KEY', 'LEHR_STORE_SECRET', 'LEHR_REDIS_URL'],
    optional: ['LEHR_KEY_PEPPER_OTHER', 'LEHR_SECRET_KEY_OTHER', 'LEHR_REDIS_SENTINEL_PASSWORD'],
  },
  worker: {
    name: 'lehr-worker',
    required: ['LEHR_REDIS_URL'],
    optional: ['HF_TOKEN', 'LEHR_REDIS_SENTINEL_PASSWORD'],
  },
  store: { name: 'lehr-store', required: [], optional: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] },
  redis: {
    name: 'lehr-redis',
    required: ['REDIS_API_PASSWORD', 'REDIS_WORKER_PASSWORD', 'REDIS_OPERATOR_PASSWORD'],
    optional: [],
  },
  scale: { name: 'lehr-scale', required: ['token'], optional: [] },
} as const;

/** The variables of a container that come from a Secret, each by name, so that a missing one stops the pod with a clear event. */
export function secretVariables(...names: readonly (keyof typeof SECRETS)[]): readonly object[] {
  return names.flatMap((each) => {
    const { name, required, optional } = SECRETS[each];
    const reference = (key: string, isOptional: boolean) => ({
      name: key,
      valueFrom: { secretKeyRef: { name, key, ...(isOptional && { optional: true }) } },
    });
    return [...required.map((key) => reference(key, false)), ...optional.map((key) => reference(key, true))];
  });
}
