/** The commands of docs/kubernetes.md, in the order of the page, by a shell with the real kubectl and Helm. No container runs. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { blocksOf, ROOT, readText } from '../../test/repo/readme.ts';
import { tempFolder } from '../../test/support/tiny-models.ts';
import { ControlPlane } from './control-plane.ts';
import { nodes, volumes } from './nodes.ts';
import { applyDefinitions, type Pod, pathOf } from './objects.ts';
import { setting } from './settings.ts';
import { stages } from './stages.ts';

/** `running` needs containers, and `images` an engine. */
const RUN = ['pull', 'install', 'template', 'label', 'upgrade', 'uninstall'];
const blocks = blocksOf(readText('docs/kubernetes.md')).filter(({ language }) => language === 'sh');

const plane = new ControlPlane();
beforeAll(async () => {
  await plane.start();
  await plane.startControllers(stages(setting('CLUSTER_STAGES'), { playsWorkers: true }));
  await applyDefinitions(plane);
  await plane.apply('volumes', volumes());
  await plane.apply('nodes', nodes({ gpus: 0 }));
  for (const name of ['keda', 'monitoring']) await plane.kubectl('create', 'namespace', name);
});
afterAll(() => plane.stop());

test('Every command of the page that needs no container succeeds', async () => {
  const folder = await tempFolder('page');
  const run = (text: string): void => {
    // The secrets are written where nothing else is.
    const script = text.replaceAll(/\blehr(-secrets)?\.yaml\b/g, `${folder}/lehr$1.yaml`);
    const env = {
      ...process.env,
      KUBECONFIG: plane.kubeconfig,
      PATH: `${setting('CLUSTER_PROGRAMS')}${delimiter}${process.env.PATH}`,
    };
    const { status, stderr } = spawnSync('sh', ['-e', '-c', script], { cwd: ROOT, encoding: 'utf8', env });
    expect(status, `${text}${stderr}`).toBe(0);
  };
  const of = (label: string) => blocks.filter((block) => block.label === label).map(({ text }) => text);
  const labels = new Set(blocks.map(({ label }) => label));
  expect([...labels].sort()).toEqual([...RUN, 'images', 'outside', 'running'].sort());

  for (const text of of('install')) run(text);
  for (const label of ['pull', 'label', 'upgrade']) for (const text of of(label)) run(text);
  const { items } = await plane.kube.get<{ items: Pod[] }>(pathOf('pods'));
  expect(items.length).toBeGreaterThan(4);
  for (const text of of('uninstall')) run(text);
  // In place of helm install.
  const [secrets] = of('install');
  run(secrets);
  for (const text of of('template')) run(text);
  for (const name of ['lehr-api', 'lehr-worker-cpu'])
    expect(await plane.kubectl('-n', 'lehr', 'get', 'deployment', name)).toMatchObject({ code: 0 });
});
