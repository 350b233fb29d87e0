/** npm run lab -- SUITE [options]: runs that measure or attack all of Lehr, and take longer than a test may. A suite is a folder here. */
import '../infra/local/node-version.mjs';
import { readCommandLine } from '../infra/local/command-line.mjs';
import { runMain, say, signal } from '../infra/local/lifecycle.mjs';
import { ensureModules } from '../infra/local/modules.mjs';
import { Problem } from '../infra/local/problem.mjs';

const SUITES = { containers: './containers/suite.mjs', cluster: './cluster/suite.mjs' };
const HELP = `Usage: npm run lab -- SUITE [SCENE ...] [options]

containers   Builds all images with three builders, runs infra/compose.yaml on a Docker Engine of its own, disturbs it, and
             writes lab/containers.md. Needs root, Debian and Go. The first run takes about an hour, later ones minutes.
               --from REF   the commit that the upgrade begins with (default HEAD~1)
               --keep       leaves the containers and the engine running
               --write      writes lab/containers.md
cluster      Builds the programs of Kubernetes, installs the chart on them and writes lab/cluster.md. Needs Go. The first run takes
             about an hour longer. 'kubelet' is a real node that runs the containers, and needs root and Debian; 'rendered' builds
             Helm only, for the tests of what it makes of the chart.
               --cache FOLDER   where the programs are built and kept (default ~/.cache/lehr-cluster)

SCENE runs some scenes alone, by their names in the report. The work folder of containers is ~/.cache/lehr-lab.
`;
const OPTIONS = {
  from: { type: 'string', default: 'HEAD~1' },
  cache: { type: 'string' },
  keep: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
};

runMain(async () => {
  const { values, positionals } = await readCommandLine({ options: OPTIONS, help: () => HELP });
  const [name, ...scenes] = positionals;
  if (!Object.hasOwn(SUITES, name ?? ''))
    throw new Problem(
      `There is no suite '${name ?? ''}'. The suites are: ${Object.keys(SUITES).join(', ')}.`,
    );
  await ensureModules({ signal });
  const { run } = await import(SUITES[name]);
  process.exit(await run({ ...values, scenes, say, signal }));
});
