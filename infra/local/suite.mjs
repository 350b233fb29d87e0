/**
 * npm run device, fuzz, simulate, soak, test:chaos and test:neighbours: each installs and builds what it needs, and runs its program of
 * lab/ with the options. Rows of faults that are not run keep their earlier results in lab/chaos/results.json.
 */
import './node-version.mjs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { readCommandLine } from './command-line.mjs';
import { runMain, say, signal } from './lifecycle.mjs';
import { ensureBuilt, ensureModules, fromSource } from './modules.mjs';
import { ensurePrograms, ensureServices } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const RESULTS = join(ROOT, 'lab/chaos/results.json');
const PAGE = join(ROOT, 'lab/faults.md');
const SOAK_OPTIONS = {
  minutes: { type: 'string', default: '30' },
  seed: { type: 'string', default: '5' },
  write: { type: 'boolean', default: false },
};
const SOAK_HELP = `Usage: npm run soak -- [options]

All of Lehr under load, with a random fault every 20 seconds.

  --minutes N   how long (default 30)
  --seed N      of the load and the faults (default 5)
  --write       adds the result to lab/faults.md
  --help        prints this
`;

const runs = (file) => (args) => runCommand(process.execPath, fromSource(file, ...args), { signal });
/** What ships is attacked. */
const ATTACKED = [ensureServices, ensureModules, ensureBuilt];
const FAULTS = [ensurePrograms, ensureModules, ensureBuilt];

/** By the name that package.json gives. */
const SUITES = {
  chaos: { needs: FAULTS, run: (filters) => runFaults(['lab/chaos/vitest.config.ts', ...filters]) },
  device: { needs: [ensureModules], run: runs('lab/device/run.ts') },
  fuzz: { needs: ATTACKED, run: runs('lab/fuzz/run.ts') },
  neighbours: { needs: ATTACKED, run: runs('lab/noisy-tenants/run.ts') },
  simulate: { needs: [ensureServices, ensureModules], run: runs('lab/simulation/run.ts') },
  'simulate scaling': { needs: [ensureModules], run: runs('lab/simulation/scaling/run.ts') },
  soak: { needs: FAULTS, options: SOAK_OPTIONS, run: runSoak },
};

runMain(async ([name, ...args]) => {
  const long = `${name} ${args[0]}`;
  const { needs, options, run } = SUITES[long] ?? SUITES[name];
  const rest = args.slice(long in SUITES ? 1 : 0);
  const given = options
    ? (await readCommandLine({ args: rest, options, help: () => SOAK_HELP })).values
    : rest;
  for (const ensure of needs) await ensure({ say, signal });
  process.exit(await run(given));
});

function runSoak({ minutes, seed, write }) {
  return runFaults(['lab/chaos/soak/vitest.config.ts'], { SOAK_MINUTES: minutes, SOAK_SEED: seed }, write);
}

/** Runs files of lab/chaos, which write a file for each result, and adds these to the page and to the results that it is made from. */
async function runFaults(config, env = {}, writes = true) {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-chaos-'));
  try {
    const args = [VITEST, 'run', '--config', ...config];
    const code = await runCommand(process.execPath, args, { signal, env: { ...env, CHAOS_RESULTS: folder } });
    if (writes) await writeFaultsPage(folder);
    return code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeFaultsPage(folder) {
  await import('./typescript.mjs');
  const { faultsPage, sorted } = await import('../../lab/chaos/faults-page.ts');
  const read = async (file) => JSON.parse(await readFile(file, 'utf8'));
  const names = await readdir(folder);
  const added = await Promise.all(names.map((name) => read(join(folder, name))));
  const byRow = (results) => Object.fromEntries(results.map((result) => [result.row, result]));
  const all = byRow(sorted({ ...(await read(RESULTS)), ...byRow(added) }));
  await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(PAGE, faultsPage(all));
  say(`${added.length} rows were run; ${PAGE} has the table.`);
}
