/** The commands of the lab: docker, docker compose and podman, on the engine of the lab. */
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';

export const ROOT = join(import.meta.dirname, '../..');
const DOCKER = '/usr/bin/docker';
const LAB_HOME = process.env.DOCKER_CONFIG ?? '';
const ENV_FILE = join(LAB_HOME, 'lab.env');
const BUFFER = 2 ** 27;
/** Of the output of a command that failed. */
const SHOWN = 3000;

export async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  try {
    const options = { maxBuffer: BUFFER, cwd: ROOT, env: { ...process.env, ...env } };
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed: ${`${stdout}${stderr}`.slice(-SHOWN)}`);
  }
}

export const docker = (...args: string[]): Promise<string> => run(DOCKER, args);

/** `docker compose` on the compose.yaml of a folder that has Lehr, with the secrets of the lab and not those of infra/.env. */
export function composeIn(root: string, ...args: string[]): Promise<string> {
  const files = [join(root, 'infra/compose.yaml'), join(ROOT, 'lab/containers/receiver.yaml')];
  const named = files.flatMap((file) => ['-f', file]);
  return docker('compose', '--progress', 'plain', '--env-file', ENV_FILE, ...named, ...args);
}

export const compose = (...args: string[]): Promise<string> => composeIn(ROOT, ...args);

/** The variables that compose.yaml gets; made at the first call. */
export function secrets(): Record<string, string> {
  if (!existsSync(ENV_FILE)) {
    execFileSync('sh', [join(ROOT, 'infra/compose-secrets.sh'), ENV_FILE]);
    appendFileSync(ENV_FILE, 'LEHR_EGRESS_ALLOW=*\nLEHR_PROMETHEUS_URL=http://prometheus:9090\n');
  }
  return parseEnv(readFileSync(ENV_FILE, 'utf8')) as Record<string, string>;
}

/** Container ids of a service. */
export const containersOf = async (service: string): Promise<string[]> =>
  (await compose('ps', '--all', '--quiet', service)).split('\n').filter(Boolean);

/** A field of `docker inspect`, by its format. */
export const inspected = async (name: string, format: string): Promise<string> =>
  (await docker('inspect', '--format', format, name)).trim();

/** The process ids of a container on this machine, the first one first; after its init process, where it has one. */
export async function processesOf(container: string): Promise<number[]> {
  const lines = (await docker('top', container, '-eo', 'pid,comm')).trim().split('\n').slice(1);
  const found = lines.map((line) => line.trim().split(/\s+/)).filter(([, name]) => name !== 'docker-init');
  return found.map(([pid]) => Number(pid));
}
