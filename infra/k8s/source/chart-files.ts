/** The Helm chart: the objects of the plain files as templates, and the values that they take. */
import { Document, isMap, isScalar, stringify } from 'yaml';
import { ruleFile } from '../../observe/rule-file.ts';
import { apiObjects, webhookObjects } from './api.ts';
import { cpuScaler, heldScaler } from './api-scaler.ts';
import { monitorObjects, ruleObject, scaleAuthentication } from './monitoring.ts';
import { networkObjects, redisPolicy } from './network.ts';
import { POOL_SCHEMA, POOLS, TEMPLATE_POOL } from './pools.ts';
import { redisObjects } from './redis.ts';
import { type ObjectFile, templateOf, templateYaml } from './setting.ts';
import { type Documented, SETTINGS, SWITCHES, VERSION } from './settings.ts';
import { accountObjects, modelsObject, priorityObjects, settingsObject } from './shared-objects.ts';
import { scaledObject, workerBudget, workerDeployment } from './worker.ts';

export const CHART = 'infra/helm/lehr';

const HEAD = '# Made by npm run docs from infra/k8s/source; do not edit';

type File = readonly [path: string, content: string];

const POOLS_ABOUT =
  'Workers, one Deployment for each name. fallback: how many KEDA keeps while Lehr does not answer.';

export const chartFiles = (): readonly File[] => [
  [`${CHART}/Chart.yaml`, chartYaml()],
  [`${CHART}/values.yaml`, valuesYaml()],
  [`${CHART}/values.schema.json`, `${JSON.stringify(valuesSchema(), undefined, 2)}\n`],
  [`${CHART}/files/alerts.yaml`, ruleFile()],
  ...templates().map(([name, text]) => [`${CHART}/templates/${name}.yaml`, text] as const),
];

function templates(): readonly File[] {
  const always: ObjectFile = {
    name: 'shared',
    about: 'Settings, models, service accounts and priorities.',
    objects: [settingsObject(), modelsObject(), ...accountObjects(), ...priorityObjects()],
  };
  const redis = { name: 'redis', about: 'One Redis with its log on a volume.', objects: redisObjects() };
  const network = { name: 'network', about: 'The connections that Lehr needs.', objects: networkObjects() };
  return [
    ['shared', templateYaml(always)],
    ['api', templateYaml({ name: 'api', about: 'Processes that answer requests.', objects: apiObjects() })],
    ['api-scaler', apiScalerTemplate()],
    [
      'webhooks',
      templateYaml({
        name: 'webhooks',
        about: 'Processes that deliver webhooks.',
        objects: webhookObjects(),
      }),
    ],
    ['redis', templateYaml(redis, '.Values.redis.enabled')],
    ['network', templateYaml(network, '.Values.networkPolicies.enabled')],
    [
      'redis-network',
      templateYaml(
        { name: 'redis-network', about: 'Who reaches Redis.', objects: [redisPolicy()] },
        'and .Values.redis.enabled .Values.networkPolicies.enabled',
      ),
    ],
    ['pools', poolsTemplate()],
    ['monitoring', monitoringTemplate()],
  ];
}

/** An HPA, or with KEDA a ScaledObject. */
function apiScalerTemplate(): string {
  const about = 'How many processes answer requests.';
  const cpu = templateYaml({ name: 'api-scaler', about, objects: cpuScaler() });
  const held = heldScaler().map(templateOf).join('---\n');
  const [head, object] = cpu.split(/(?=^apiVersion)/m);
  return `${head}{{- if .Values.keda.enabled }}\n${held}{{- else }}\n---\n${object}{{- end }}\n`;
}

/** pools.yaml of the API, made from the same values as the workers. */
const POOLS_CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata:
  name: lehr-pools
data:
  pools.yaml: |
    pools:
    {{- range $name, $pool := .Values.pools }}
    - {{ merge (dict "name" $name "tasks" (splitList "," $pool.tasks) "min" $pool.min "max" $pool.max) ($pool.scaling | default dict) | toJson }}
    {{- end }}
`;

/** pools.yaml; then for each pool one Deployment, one budget, and with KEDA a ScaledObject. */
function poolsTemplate(): string {
  const text = [workerDeployment(undefined, TEMPLATE_POOL), workerBudget(undefined)]
    .map(templateOf)
    .join('---\n');
  const scaled = templateOf(scaledObject(undefined, TEMPLATE_POOL));
  const loop = text.replaceAll('.Values.settings', '$.Values.settings');
  return `${HEAD}.
${POOLS_CONFIG_MAP}{{- range $name, $pool := .Values.pools }}
---
${loop}{{- if $.Values.keda.enabled }}
---
${scaled}{{- end }}
{{- end }}
{{- if .Values.keda.enabled }}
---
${templateOf(scaleAuthentication())}{{- end }}
`;
}

/** The alerts have templates of Prometheus in them, so they are a file that Helm does not interpret. */
function monitoringTemplate(): string {
  const { spec: _, ...rule } = ruleObject();
  const text = [...monitorObjects().map(templateOf), stringify(rule)].join('---\n');
  return `${HEAD}.
{{- if .Values.monitoring.enabled }}
${text}spec:
{{ .Files.Get "files/alerts.yaml" | indent 2 }}
{{- end }}
`;
}

const chartYaml = (): string =>
  `${HEAD}.\n${stringify({
    apiVersion: 'v2',
    name: 'lehr',
    description: 'A durable job queue with a GPU worker fleet for Stable Diffusion, Whisper and text models.',
    type: 'application',
    version: VERSION,
    appVersion: VERSION,
    // The field preStop.sleep.
    kubeVersion: '>=1.30.0-0',
    license: 'MIT',
  })}`;

const documentedValues = (): readonly Documented[] => [...Object.values(SETTINGS), ...SWITCHES];

/** values.yaml with what each value means above it. */
function valuesYaml(): string {
  const document = new Document({});
  for (const { path, setting, about } of documentedValues()) {
    document.setIn(path.split('.'), document.createNode(setting.preset));
    setComment(document, path.split('.'), about);
  }
  document.setIn(['pools'], document.createNode(POOLS_OF_CHART));
  setComment(document, ['pools'], POOLS_ABOUT);
  return `${HEAD}: give your own file with -f.\n\n${document.toString({ lineWidth: 0 })}`;
}

/** The chart starts one worker on the CPU. docs/kubernetes.md has the values for cards. */
const POOLS_OF_CHART = { cpu: JSON.parse(JSON.stringify(POOLS.cpu)) as object };

function setComment(document: Document, path: readonly string[], about: string): void {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1));
  if (!isMap(parent)) throw new Error(`${path.join('.')} is in no map of values.yaml`);
  const pair = parent.items.find(({ key }) => (isScalar(key) ? key.value : key) === path.at(-1));
  if (!pair) return;
  const key = document.createNode(path.at(-1));
  key.commentBefore = ` ${about}`;
  pair.key = key;
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | object;
  [key: string]: unknown;
}

/** No other value is allowed, so that a misspelt one is refused. */
function valuesSchema(): Schema {
  const root: Schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...emptyObject() };
  for (const { path, schema, about } of documentedValues()) {
    const names = path.split('.');
    const last = names.pop() ?? path;
    let place = root;
    for (const name of names) {
      place.properties ??= {};
      place.properties[name] ??= emptyObject();
      place = place.properties[name];
    }
    place.properties = { ...place.properties, [last]: { ...schema, description: about } };
  }
  // Helm adds it to the values of every chart.
  root.properties = {
    ...root.properties,
    pools: { ...POOL_SCHEMA, description: POOLS_ABOUT },
    global: { type: 'object' },
  };
  return root;
}

const emptyObject = (): Schema => ({ type: 'object', additionalProperties: false, properties: {} });
