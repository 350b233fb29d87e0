/**
 * The suite `cluster`: builds a Kubernetes control plane with Go, once, and runs the scenes against it; a scene is a part of a file
 * name. They write what was seen to docs/cluster.md. `rendered` builds Helm only, for the tests of test/infra that look at what it
 * makes of the chart.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT, runCommand } from '../../infra/local/command.mjs';
import { ensureBuilt } from '../../infra/local/modules.mjs';
import { ensurePrograms } from '../../infra/local/programs.mjs';
import { Programs } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'lab/cluster/vitest.config.ts');

/** Resolves to the exit code. */
export async function run({ scenes, cache, say, signal }) {
  await ensurePrograms({ say, signal });
  await ensureBuilt({ signal });
  const programs = new Programs(cache ?? join(homedir(), '.cache/lehr-cluster'));
  const isRendered = scenes.join() === 'rendered';
  programs.build(isRendered ? ['helm'] : undefined);
  const folder = await mkdtemp(join(tmpdir(), 'lehr-cluster-'));
  const env = {
    CLUSTER_FOLDER: folder,
    CLUSTER_PROGRAMS: programs.folder,
    PATH: `${programs.folder}${delimiter}${process.env.PATH}`,
    ...(!isRendered && {
      CLUSTER_DEFINITIONS: JSON.stringify(programs.definitions()),
      CLUSTER_STAGES: programs.stages(),
    }),
  };
  const code = await runCommand(process.execPath, [VITEST, 'run', '--config', CONFIG, ...scenes], {
    signal,
    env,
  });
  // After a failure the logs say why.
  if (code === 0) await rm(folder, { recursive: true, force: true });
  else say(`The logs of the control planes are in ${folder}.`);
  return code;
}
