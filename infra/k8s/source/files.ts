/** The generated files of Kustomize: npm run docs writes them, and a test holds them equal to the code. */
import { stringify } from 'yaml';
import { apiObjects, webhookObjects } from './api.ts';
import { cpuScaler, heldScaler, WITHOUT_CPU_SCALER } from './api-scaler.ts';
import { monitorObjects, ruleObject, scaleAuthentication } from './monitoring.ts';
import { NAMESPACE } from './names.ts';
import { networkObjects, redisPolicy, s3Policy } from './network.ts';
import { POOLS } from './pools.ts';
import { redisObjects } from './redis.ts';
import { s3Objects } from './s3.ts';
import { type KubeObject, plainYaml } from './setting.ts';
import { BASE_SETTINGS } from './settings.ts';
import { accountObjects, modelsObject, priorityObjects } from './shared-objects.ts';
import { scaledObject, workerBudget, workerDeployment } from './worker.ts';

type File = readonly [path: string, content: string];

const FOLDER = 'infra/k8s';
const HEAD = '# Made by npm run docs from infra/k8s/source; do not edit.\n';

/** Path from the root of the repository, and content. */
export const kubernetesFiles = (): readonly File[] => [
  ...base(),
  ...component(
    'redis',
    'One Redis beside Lehr; without it, LEHR_REDIS_URL of the Secrets names another one.',
    [...redisObjects(), redisPolicy()],
  ),
  ...component('s3', 'An S3 server beside Lehr.', [...s3Objects(), s3Policy()], {
    settings: { LEHR_S3_ENDPOINT: 'http://lehr-s3:8333' },
  }),
  ...component(
    'keda',
    'What KEDA shows to the API, and how many API processes it keeps. The ScaledObjects of workers are in the folder scaled-pools.',
    [scaleAuthentication(), ...heldScaler()],
    { patches: [WITHOUT_CPU_SCALER] },
  ),
  ...component('monitoring', 'For the operator of Prometheus.', [...monitorObjects(), ruleObject()]),
  ...Object.keys(POOLS).flatMap(poolFiles),
];

function base(): readonly File[] {
  const files: readonly (readonly [name: string, about: string, objects: readonly KubeObject[]])[] = [
    ['namespace', 'It refuses pods with more rights than the ones of Lehr have.', [namespace]],
    ['models', 'models.yaml; it is read again when it changes.', [modelsObject()]],
    ['accounts', 'Service accounts, for roles of AWS. No pod gets a token of the cluster.', accountObjects()],
    ['priorities', 'Who is placed first, and may displace whom.', priorityObjects()],
    ['api', 'Processes that answer requests.', [...apiObjects(), ...cpuScaler()]],
    ['webhooks', 'Processes that deliver webhooks.', webhookObjects()],
    ['network', 'The connections that Lehr needs.', networkObjects()],
  ];
  const kustomization = {
    kind: 'Kustomization',
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    namespace: NAMESPACE,
    resources: files.map(([name]) => `${name}.yaml`),
    configMapGenerator: [{ name: 'lehr-settings', literals: literals(BASE_SETTINGS) }],
  };
  return [
    [`${FOLDER}/base/kustomization.yaml`, HEAD + stringify(kustomization)],
    ...files.map(([name, about, objects]) => {
      return [`${FOLDER}/base/${name}.yaml`, plainYaml({ name, about, objects })] as const;
    }),
  ];
}

const namespace: KubeObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

const literals = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).map(([name, value]) => `${name}=${value}`);

function component(
  name: string,
  about: string,
  objects: readonly KubeObject[],
  more: { readonly settings?: Readonly<Record<string, string>>; readonly patches?: readonly object[] } = {},
): readonly File[] {
  const { settings, patches } = more;
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    resources: [`${name}.yaml`],
    ...(patches && { patches }),
    ...(settings && {
      configMapGenerator: [{ name: 'lehr-settings', behavior: 'merge', literals: literals(settings) }],
    }),
  };
  const folder = `${FOLDER}/components/${name}`;
  return [
    [`${folder}/kustomization.yaml`, HEAD + stringify(kustomization)],
    [`${folder}/${name}.yaml`, plainYaml({ name, about, objects })],
  ];
}

function poolFiles(name: string): readonly File[] {
  const pool = POOLS[name];
  const folder = `${FOLDER}/pools/${name}`;
  const scaledFolder = `${FOLDER}/scaled-pools/${name}`;
  const kustomization = (resources: string[]): string =>
    HEAD + stringify({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources });
  const worker = {
    name: 'worker',
    about: `Workers for ${String(pool.tasks)} on ${String(pool.device)}.`,
    objects: [workerDeployment(name, pool), workerBudget(name)],
  };
  const scaled = {
    name: 'scaled-object',
    about: 'KEDA asks Lehr how many workers this pool needs.',
    objects: [scaledObject(name, pool)],
  };
  return [
    [`${folder}/kustomization.yaml`, kustomization(['worker.yaml'])],
    [`${folder}/worker.yaml`, plainYaml(worker)],
    [`${scaledFolder}/kustomization.yaml`, kustomization([`../../pools/${name}`, 'scaled-object.yaml'])],
    [`${scaledFolder}/scaled-object.yaml`, plainYaml(scaled)],
  ];
}
