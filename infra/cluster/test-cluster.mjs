/**
 * npm run test:cluster [-- --cache FOLDER] [-- part of a file name ...]: builds a Kubernetes control plane with Go, once, and runs the
 * suite of test/cluster against it. It writes what was seen to docs/cluster.md. `-- rendered` builds Helm only, for the tests of test/infra
 * that look at what it makes of the chart.
 */
import '../local/node-version.mjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, runCommand } from '../local/command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from '../local/lifecycle.mjs';
import { ensureBuilt, ensureModules } from '../local/modules.mjs';
import { Problem } from '../local/problem.mjs';
import { ensurePrograms } from '../local/programs.mjs';
import { Programs } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/cluster/vitest.config.ts');

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    options: { cache: { type: 'string' } },
    allowPositionals: true,
  });
  await ensurePrograms({ say, signal });
  await ensureModules({ signal });
  await ensureBuilt({ signal });
  const programs = new Programs(values.cache ?? join(homedir(), '.cache/lehr-cluster'));
  const isRendered = positionals.join() === 'rendered';
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
  try {
    const code = await runCommand(process.execPath, [VITEST, 'run', '--config', CONFIG, ...positionals], {
      signal,
      env,
    });
    process.exitCode = code;
  } finally {
    // After a failure the logs say why.
    if (process.exitCode === 0) await rm(folder, { recursive: true, force: true });
    else say(`The logs of the control planes are in ${folder}.`);
  }
  process.exit();
}
