/** Installing Debian packages, where this user may. */
import { spawnSync } from 'node:child_process';
import { findProgram, runCommand } from './command.mjs';

/** The words before `apt-get` that make it work; undefined where there is no apt or no right to use it. */
async function aptPrefix() {
  if (!(await findProgram('apt-get'))) return undefined;
  const env = ['env', 'DEBIAN_FRONTEND=noninteractive'];
  if (process.getuid?.() === 0) return env;
  if (!(await findProgram('sudo'))) return undefined;
  const mayWithoutPassword = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  return mayWithoutPassword ? ['sudo', '-n', ...env] : undefined;
}

/** Installs packages and says so; false where it cannot. The caller looks for the program again. */
export async function aptInstall(packages, { say, signal }) {
  const prefix = await aptPrefix();
  if (!prefix) return false;
  say(`Installing ${packages.join(', ')} with apt-get.`);
  const [program, ...words] = [...prefix, 'apt-get'];
  for (const step of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const code = await runCommand(program, [...words, ...step], { quiet: true });
    signal?.throwIfAborted();
    // Lists that could not all be renewed may still know the package.
    if (code !== 0 && step[0] === 'install') return false;
  }
  return true;
}
