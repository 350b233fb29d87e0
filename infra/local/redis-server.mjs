/** Finds a Redis server program: on PATH, else from apt, else in docker. */
import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { aptInstall } from './apt.mjs';
import { findProgram } from './command.mjs';
import { Problem } from './problem.mjs';

const PROGRAMS = ['redis-server', 'valkey-server', 'keydb-server'];
const OLDEST = [6, 2];
const IMAGE = 'redis:7.4-bookworm';

const run = promisify(execFile);

/** Installs a server when there is none. Throws a Problem that lists the solutions when that fails. */
export async function findServer({ say, signal }) {
  const found =
    (await onPath()) ?? ((await aptInstall(['redis-server'], { say, signal })) ? await onPath() : undefined);
  if (found) return found;
  signal.throwIfAborted();
  if (await dockerWorks()) {
    say(`Running Redis with docker (${IMAGE}).`);
    return inDocker;
  }
  throw new Problem(
    `Lehr needs Redis ${OLDEST.join('.')} or newer (or Valkey), and there is none here. Any one of these helps:\n` +
      '  sudo apt-get install redis-server      (Debian, Ubuntu)\n' +
      '  brew install redis                     (macOS)\n' +
      '  start docker                           (npm start then runs Redis in it)\n' +
      '  LEHR_REDIS_URL=redis://... npm start   (a server you already have)',
  );
}

async function onPath() {
  const path = await findProgram(...PROGRAMS);
  if (!path) return undefined;
  const { stdout } = await run(path, ['--version']);
  const version = /v=(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? OLDEST;
  if (version[0] < OLDEST[0] || (version[0] === OLDEST[0] && version[1] < OLDEST[1])) {
    throw new Problem(
      `${path} is version ${version.join('.')}; Lehr needs ${OLDEST.join('.')} or newer. ` +
        'Update it, or set LEHR_REDIS_URL to a newer server.',
    );
  }
  return {
    name: basename(path),
    command: () => [path, '-'],
    settings: ({ host, port, password, folder }) => [
      `bind ${host}`,
      `port ${port}`,
      `requirepass ${password}`,
      `dir ${JSON.stringify(folder)}`,
    ],
  };
}

/** Bound to every address inside the container, whose port is published on the loopback alone. */
const inDocker = {
  name: `docker (${IMAGE})`,
  command: ({ host, port, folder }) => [
    'docker',
    ...['run', '--rm', '--interactive', '--publish', `${host}:${port}:6379`, '--volume', `${folder}:/data`],
    ...(process.getuid ? ['--user', `${process.getuid()}:${process.getgid()}`] : []),
    ...[IMAGE, 'redis-server', '-'],
  ],
  settings: ({ password }) => ['bind 0.0.0.0', 'port 6379', `requirepass ${password}`, 'dir /data'],
};

async function dockerWorks() {
  if (!(await findProgram('docker'))) return false;
  return run('docker', ['info']).then(
    () => true,
    () => false,
  );
}
