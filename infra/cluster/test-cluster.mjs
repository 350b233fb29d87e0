/**
 * npm run test:cluster [-- --cache FOLDER]: applies every overlay and the chart to a real API server, which checks each object
 * against its schema and stores it. Every case has a separate control plane. docs/cluster.md says what was seen.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ControlPlane } from './control-plane.mjs';
import { Programs } from './programs.mjs';

const ROOT = join(import.meta.dirname, '../..');
const OVERLAYS = ['dev', 'single-node', 'aws-g4dn'];
const CHART = [
  'template',
  'lehr',
  join(ROOT, 'infra/helm/lehr'),
  '--namespace',
  'lehr',
  '--kube-version',
  '1.36.3',
];

const { values } = parseArgs({ options: { cache: { type: 'string' } } });
const programs = new Programs(values.cache ?? join(homedir(), '.cache/lehr-cluster'));
programs.build(['etcd', 'kube-apiserver', 'kubectl', 'helm']);
const definitions = programs.definitions();

const run = (name, ...args) =>
  execFileSync(programs.path(name), args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
const CASES = [
  ...OVERLAYS.map((name) => [
    `overlay ${name}`,
    () => run('kubectl', 'kustomize', join(ROOT, 'infra/k8s/overlays', name)),
  ]),
  ['chart with its own values', () => run('helm', ...CHART)],
  [
    'chart with KEDA and Prometheus',
    () => run('helm', ...CHART, '--set', 'keda.enabled=true,monitoring.enabled=true'),
  ],
];

let refusals = 0;
for (const [name, render] of CASES) refusals += await applied(name, render());
console.log(refusals === 0 ? 'Every object was accepted.' : `${refusals} refusals.`);
process.exitCode = refusals === 0 ? 0 : 1;

/** Applies the objects to a new control plane. Resolves to the number of refusals. */
async function applied(name, objects) {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-cluster-'));
  const plane = new ControlPlane(programs, folder);
  const stopped = () => void plane.stop().then(() => process.exit(130));
  process.once('SIGINT', stopped).once('SIGTERM', stopped);
  try {
    await plane.start();
    for (const each of definitions) await definitionsApplied(plane, each);
    if (name.startsWith('chart')) await plane.kubectl('create', 'namespace', 'lehr');
    const secrets = write(folder, 'secrets', execFileSync('sh', [join(ROOT, 'infra/k8s/secrets.sh')]));
    const manifest = write(folder, 'objects', objects);
    const result = await plane.kubectl('apply', '--server-side', '-n', 'lehr', '-f', manifest);
    const made = await plane.kubectl('create', '-n', 'lehr', '-f', secrets);
    const lines = `${result.errors}${made.errors}`.split('\n').filter((line) => line.trim() !== '');
    const accepted = `${result.out}${made.out}`.match(/(?:serverside-applied|created)$/gm) ?? [];
    console.log(
      `${name}: ${accepted.length} objects accepted, ${lines.length} lines of refusals and warnings`,
    );
    for (const line of lines) console.log(`  ${line}`);
    return result.code === 0 && made.code === 0 ? 0 : Math.max(1, lines.length);
  } finally {
    process.off('SIGINT', stopped).off('SIGTERM', stopped);
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function definitionsApplied(plane, folder) {
  const { code, errors } = await plane.kubectl('apply', '--server-side', '-f', folder);
  if (code !== 0) throw new Error(`definitions of ${folder}: ${errors}`);
  const { code: late, errors: why } = await plane.kubectl(
    ...['wait', '--for=condition=Established', '--timeout=60s', '-f', folder],
  );
  if (late !== 0) throw new Error(`definitions of ${folder}: ${why}`);
}

function write(folder, name, content) {
  const path = join(folder, 'applied', `${name}.yaml`);
  mkdirSync(join(folder, 'applied'), { recursive: true });
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}
