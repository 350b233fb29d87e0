/** Installs Debian packages where the user has the right to do so. */
import { spawnSync } from 'node:child_process';
import { findProgram, runCommand } from './command.mjs';

/** The command prefix with which `apt-get` may install; undefined without apt-get or without the right to use it. */
async function aptPrefix() {
  if (!(await findProgram('apt-get'))) return undefined;
  const env = ['env', 'DEBIAN_FRONTEND=noninteractive'];
  if (process.getuid?.() === 0) return env;
  if (!(await findProgram('sudo'))) return undefined;
  const mayWithoutPassword = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  return mayWithoutPassword ? ['sudo', '-n', ...env] : undefined;
}

/** Installs packages and reports it; returns false where that is impossible. The caller looks for the program again. */
export async function aptInstall(packages, { say, signal }) {
  const prefix = await aptPrefix();
  if (!prefix) return false;
  say(`Installing ${packages.join(', ')} with apt-get.`);
  const [program, ...words] = [...prefix, 'apt-get'];
  for (const step of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const code = await runCommand(program, [...words, ...step], { quiet: true });
    signal?.throwIfAborted();
    // An update that failed for some lists may still have found the package, so only a failed install counts.
    if (code !== 0 && step[0] === 'install') return false;
  }
  return true;
}
