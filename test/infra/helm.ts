/** The chart as Helm renders it. Helm is in no package of Debian, so a machine may not have it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../repo/readme.ts';

export const CHART = 'infra/helm/lehr';
export const EXAMPLES = readdirSync(join(ROOT, CHART, 'examples')).map((file) => file.replace('.yaml', ''));

/** Where `npm run lab -- cluster` keeps what it builds, and the PATH. */
const FOLDERS = [join(homedir(), '.cache/lehr-cluster/bin'), ...(process.env.PATH ?? '').split(delimiter)];
/** Undefined where there is none. */
export const helm = FOLDERS.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

/** A Helm that was built from its module knows of no newer Kubernetes. */
export const KUBERNETES = ['--kube-version', '1.36.3'];

/** The text of `helm template`. Throws with Helm's message when it refuses the values. */
export const template = (...options: string[]): string => templateOf(join(ROOT, CHART), ...options);

/** The same for a chart in another folder or file. */
export function templateOf(chart: string, ...options: string[]): string {
  if (helm === undefined) throw new Error('there is no helm');
  const args = ['template', 'lehr', chart, '--namespace', 'lehr', ...KUBERNETES, ...options];
  return execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export const exampleFile = (name: string): string => join(ROOT, CHART, 'examples', `${name}.yaml`);

export const objectsOf = (text: string): KubeObject[] =>
  parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return (document.toJS() as KubeObject | null) ?? [];
  });

/** Values for every scaler and for what no example uses. */
const OTHERS = [
  'api.scaler=keda,pools.cpu.scaler=keda,pools.cpu.fallback=2,monitoring.enabled=true,monitoring.labels.release=prometheus',
  'registry=registry.example.com/team/,imagePullSecrets={registry},storageClass=fast',
  'ingress.enabled=true,ingress.host=lehr.example.com,ingress.tlsSecret=lehr-tls,gateway.enabled=true',
  'gateway.parentRefs[0].name=public,gateway.hostnames={lehr.example.com}',
  'pools.cpu.models={demo-diffusion,demo-whisper,demo-text},pools.cpu.modelsFile=models: []',
  'pools.cpu.cacheClaim=cache,pools.cpu.modelsClaim=models,pools.cpu.runtimeClass=runc,pools.cpu.priorityClass=lehr-data',
];
/** What tests render: options of Helm by name. */
export const CASES: Readonly<Record<string, readonly string[]>> = {
  'the chart': [],
  'the chart with every option': OTHERS.flatMap((each) => ['--set', each]),
  ...Object.fromEntries(EXAMPLES.map((name) => [`the example ${name}`, ['-f', exampleFile(name)]])),
};

const rendered = new Map<string, readonly KubeObject[]>();

/** The objects of a case, without those of `helm test`. */
export function objectsIn(name: string): readonly KubeObject[] {
  const objects = rendered.get(name) ?? objectsOf(template(...CASES[name], '--skip-tests'));
  rendered.set(name, objects);
  return objects;
}
