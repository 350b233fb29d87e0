/** npm run lab -- SUITE [NAME ...] [options]: runs that measure or attack all of Lehr, and take longer than a test may. A suite is a folder here. */
import '../infra/local/node-version.mjs';
import { runCommand } from '../infra/local/command.mjs';
import { readCommandLine } from '../infra/local/command-line.mjs';
import { runMain, say, signal } from '../infra/local/lifecycle.mjs';
import { ensureBuilt, ensureModules, fromSource } from '../infra/local/modules.mjs';
import { Problem } from '../infra/local/problem.mjs';
import { ensurePrograms, ensureServices } from '../infra/local/programs.mjs';
import { benches, comparisonsOf, faults, sections } from './names.mjs';

const HELP = `Usage: npm run lab -- SUITE [NAME ...] [options]

NAME runs the parts of the suite that have it in their names; without one all of them run. SUITE --help lists the names.

bench          Ratios of Lehr to a baseline in interleaved rounds, as one table, and a report. All of it takes an hour.
                 --quick        fewer rounds; nothing of it is kept as a result
                 --readme       the benches of the README's table; writes as --write does
                 --write        makes the tables of README, docs and lab/performance.md again from the results
                 --page         measures nothing, and makes the report again
real           Lehr beside other programs on real models; writes lab/real-models.md. Needs Python, about 20 GB and hours.
peers          Lehr beside other servers and queues; writes lab/peers.md. Needs Python and about 1.5 GB. Options of both:
                 --only NAME    the comparisons with this in their names
                 --again        repeats what is done on this machine, which is skipped otherwise
chaos          Injects faults into real processes; writes lab/faults.md. Rows that are not run keep their earlier results.
soak           All of Lehr under load, with a random fault every 20 seconds.
                 --minutes N    how long (default 30)
                 --seed N       of the load and the faults (default 5)
                 --write        adds the result to lab/faults.md
fuzz           Sends generated requests, and prints the smallest batch of them that shows a fault.
                 --minutes N    how long (default 10)
                 --seed N       of the requests (default: another one each time)
                 --replay FILE  sends the batch of this file only
noisy-tenants  Times every operation of one tenant while another one attacks, beside the same attack on a second installation.
                 --rounds N     of each attack (default 20)
job-search     Finds jobs among many by labels, times and words; says what a search takes, and what a job and its labels cost Redis.
                 --jobs N       how many (default 1000000, which take 4 minutes, 2 GB of memory and 3 GB of disk)
simulation     The queue under a simulated fleet.
                 --jobs, --workers, --tenants, --minutes, --days, --job-ms, --processes N
                 --write        writes lab/simulation.md
simulation scaling
               Lehr's scaling of workers beside KEDA's queue length and static fleets, on simulated loads.
                 --starts       measures real starts of a worker instead
                 --write        writes the result into docs/scaling.md
device         Compares a card with the CPU and measures it; NAME is cuda (the default), tensorrt, webgpu or cpu.
                 --only PARTS   some parts, separated by commas
                 --out FILE     where the results go (default lab/device/results/DEVICE.json)
containers     Builds all images with three builders, runs infra/compose.yaml on a Docker Engine of its own, and disturbs it. Needs
               root, Debian and Go. The first run takes about an hour, later ones minutes. Its work folder is ~/.cache/lehr-lab.
                 --from REF     the commit that the upgrade begins with (default HEAD~1)
                 --keep         leaves the containers and the engine running
                 --write        writes lab/containers.md
cluster        Builds the programs of Kubernetes, installs the chart on them and writes lab/cluster.md. Needs Go. The first run takes
               about an hour longer. 'kubelet' is a real node that runs the containers, and needs root and Debian; 'rendered'
               builds Helm only, for the tests of what it makes of the chart.
                 --cache FOLDER where the programs are built and kept (default ~/.cache/lehr-cluster)
`;

const text = { type: 'string' };
const flag = { type: 'boolean', default: false };
/** A number, which the suite checks. */
const number = (standard) => ({ type: 'string', default: standard });
const comparisons = { only: text, again: flag };

/** What ships is measured and attacked. */
const SHIPPED = [ensureServices, ensureModules, ensureBuilt];
const FAULTS = [ensurePrograms, ensureModules, ensureBuilt];

/** The suite is a program from its TypeScript sources, which gets its options as JSON. */
const program = (file) => (request) =>
  runCommand(process.execPath, fromSource(`lab/${file}`, JSON.stringify(request)), { signal });
/** The suite is a function of a module, which may be imported when the modules of npm are there. */
const imported =
  (file, run = 'run') =>
  async (request) =>
    (await import(file))[run]({ ...request, say, signal });

/** `list` has the names that a suite knows before it runs. */
const SUITES = {
  bench: {
    options: { quick: flag, readme: flag, write: flag, page: flag },
    list: benches,
    needs: [ensureModules],
    run: imported('./bench/suite.mjs'),
  },
  real: { options: comparisons, list: () => sections('real'), needs: SHIPPED, run: program('real/run.ts') },
  peers: {
    options: comparisons,
    list: () => sections('peers'),
    needs: SHIPPED,
    run: program('peers/run.ts'),
  },
  chaos: { list: faults, needs: FAULTS, run: imported('./chaos/suite.mjs', 'runRows') },
  soak: {
    options: { minutes: number('30'), seed: number('5'), write: flag },
    needs: FAULTS,
    run: imported('./chaos/suite.mjs', 'soak'),
  },
  fuzz: {
    options: { minutes: number('10'), seed: text, replay: text },
    needs: SHIPPED,
    run: program('fuzz/run.ts'),
  },
  'noisy-tenants': {
    options: { rounds: number('20') },
    needs: SHIPPED,
    run: program('noisy-tenants/run.ts'),
  },
  'job-search': {
    options: { jobs: number('1000000') },
    needs: SHIPPED,
    run: program('job-search/searches.ts'),
  },
  simulation: {
    options: {
      jobs: number('1000000'),
      workers: number('1000'),
      tenants: number('100'),
      minutes: number('15'),
      days: number('3'),
      'job-ms': number('10000'),
      processes: number('4'),
      write: flag,
    },
    needs: [ensureServices, ensureModules],
    run: program('simulation/run.ts'),
  },
  'simulation scaling': {
    options: { starts: flag, write: flag },
    needs: SHIPPED,
    run: program('simulation/scaling/run.ts'),
  },
  device: { options: { only: text, out: text }, needs: [ensureModules], run: program('device/run.ts') },
  containers: {
    options: { from: { type: 'string', default: 'HEAD~1' }, keep: flag, write: flag },
    needs: [ensureModules],
    run: imported('./containers/suite.mjs'),
  },
  cluster: { options: { cache: text }, needs: [ensureModules], run: imported('./cluster/suite.mjs') },
};

runMain(async (args) => {
  const name = [args.slice(0, 2).join(' '), args[0]].find((each) => Object.hasOwn(SUITES, each ?? ''));
  const { options = {}, list, needs = [], run } = SUITES[name] ?? {};
  const rest = name ? args.slice(name.split(' ').length) : args;
  if (!name && !args[0]?.startsWith('-'))
    throw new Problem(
      `There is no suite '${args[0] ?? ''}'. The suites are: ${Object.keys(SUITES).join(', ')}.`,
    );
  const help = () => HELP + (list ? `\nThe names of ${name}:\n${listed(name, list())}\n` : '');
  const { values, positionals } = await readCommandLine({ args: rest, options, help });
  const names = list ? chosen(name, list(), positionals) : positionals;
  for (const ensure of needs) await ensure({ say, signal });
  process.exit(await run({ ...values, names }));
});

/** The names that have one of the parts in them. Without a part there are none, which is all of them to a suite. */
function chosen(suite, names, parts) {
  for (const part of parts)
    if (!names.some((name) => name.includes(part)))
      throw new Problem(`${suite} has nothing with '${part}' in its name. It has: ${names.join(', ')}.`);
  return names.filter((name) => parts.some((part) => name.includes(part)));
}

function listed(suite, names) {
  return names.map((name) => [`  ${name}`, ...comparisonsOf(suite, name)].join('\n    ')).join('\n');
}
