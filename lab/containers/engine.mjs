/** A Docker Engine without systemd, in a network namespace of its own, so that it takes no port and no bridge of this machine. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Programs, images and volumes; a second run needs only minutes because of it. */
export const HOME = join(homedir(), '.cache/lehr-lab');
/** Debian's client: another one may be first on PATH. */
export const DOCKER = '/usr/bin/docker';
export const ENGINE_ENV = {
  DOCKER_HOST: `unix://${join(HOME, 'docker.sock')}`,
  DOCKER_CONFIG: join(HOME, 'docker-config'),
};

const NAMESPACE = 'lehr-lab';
const [OUTSIDE, INSIDE] = ['lehr-lab0', 'lehr-lab1'];
const ADDRESSES = { [OUTSIDE]: '10.223.77.1', [INSIDE]: '10.223.77.2' };
const NAT = ['POSTROUTING', '-s', `${ADDRESSES[INSIDE]}/30`, '!', '-o', OUTSIDE, '-j', 'MASQUERADE'];
const PID_FILE = join(HOME, 'docker.pid');
const START_MS = 60_000;
/** Containers have their stop_grace_period first. */
const STOP_MS = 120_000;

/** A command inside the namespace. `ip netns exec` would hide /sys/fs/cgroup. */
export const inside = (...command) => ['nsenter', [`--net=/run/netns/${NAMESPACE}`, ...command]];

const run = (program, ...args) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

export async function startEngine() {
  makeNamespace();
  if (pid() !== undefined) return;
  mkdirSync(ENGINE_ENV.DOCKER_CONFIG, { recursive: true });
  rmSync(PID_FILE, { force: true });
  const [program, args] = inside(
    'dockerd',
    '--host',
    ENGINE_ENV.DOCKER_HOST,
    '--data-root',
    join(HOME, 'docker'),
  );
  const places = [
    '--exec-root',
    join(HOME, 'docker-exec'),
    '--pidfile',
    PID_FILE,
    '--storage-driver',
    'overlay2',
  ];
  const log = openSync(join(HOME, 'dockerd.log'), 'a');
  const options = { detached: true, stdio: ['ignore', log, log] };
  spawn(program, [...args, ...places, '--exec-opt', 'native.cgroupdriver=cgroupfs'], options).unref();
  for (const giveUpAt = performance.now() + START_MS; performance.now() < giveUpAt; await delay(100))
    if (answers()) return;
  throw new Error(`dockerd did not start: ${readFileSync(join(HOME, 'dockerd.log'), 'utf8').slice(-2000)}`);
}

/** SIGTERM, as at a reboot: the engine stops its containers, and starts them again when it starts. */
export async function stopEngine() {
  const engine = pid();
  if (engine === undefined) return;
  process.kill(engine, 'SIGTERM');
  const giveUpAt = performance.now() + STOP_MS;
  while (pid() !== undefined) {
    if (performance.now() > giveUpAt) throw new Error(`dockerd has not ended after ${STOP_MS} ms`);
    await delay(100);
  }
}

export const isEngineRunning = () => pid() !== undefined;

export function removeNamespace() {
  run('ip', 'netns', 'del', NAMESPACE);
  run('iptables', '-t', 'nat', '-D', ...NAT);
}

function makeNamespace() {
  if (existsSync(`/run/netns/${NAMESPACE}`)) return;
  run('ip', 'netns', 'add', NAMESPACE);
  run('ip', 'link', 'add', OUTSIDE, 'type', 'veth', 'peer', 'name', INSIDE, 'netns', NAMESPACE);
  run('ip', 'addr', 'add', `${ADDRESSES[OUTSIDE]}/30`, 'dev', OUTSIDE);
  run('ip', 'link', 'set', OUTSIDE, 'up');
  const there = ['-n', NAMESPACE];
  run('ip', ...there, 'addr', 'add', `${ADDRESSES[INSIDE]}/30`, 'dev', INSIDE);
  for (const name of ['lo', INSIDE]) run('ip', ...there, 'link', 'set', name, 'up');
  run('ip', ...there, 'route', 'add', 'default', 'via', ADDRESSES[OUTSIDE]);
  // For the package registries, which the steps of the Dockerfiles need.
  run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  run('iptables', '-t', 'nat', '-A', ...NAT);
}

/** Of the running engine; undefined when none runs. */
function pid() {
  if (!existsSync(PID_FILE)) return undefined;
  const found = Number(readFileSync(PID_FILE, 'utf8'));
  return existsSync(`/proc/${found}`) && readFileSync(`/proc/${found}/comm`, 'utf8').startsWith('dockerd')
    ? found
    : undefined;
}

function answers() {
  try {
    execFileSync(DOCKER, ['info'], { env: { ...process.env, ...ENGINE_ENV }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
