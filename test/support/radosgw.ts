/**
 * A real S3 server for tests: Debian's radosgw on loopback over one monitor and one in-memory OSD, ready in about
 * 12 s. It has its own temporary directory and its own processes, which `stop` ends by their pids.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort } from './ports.ts';

export interface Radosgw {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  createBucket(name: string): Promise<void>;
  stop(): Promise<void>;
}

const PACKAGES = ['radosgw', 'ceph-mon', 'ceph-osd'];
const CREDENTIALS = { accessKeyId: 'lehraccess', secretAccessKey: 'lehrsecretkeylehrsecretkey' };
const REGION = 'us-east-1';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

const run = promisify(execFile);

/** Rejects with instructions if radosgw is neither installed nor installable. The installation may take minutes. */
export async function startRadosgw(): Promise<Radosgw> {
  ensureInstalled();
  const directory = await mkdtemp(join(tmpdir(), 'lehr-radosgw-'));
  const daemons: ChildProcess[] = [];
  const stop = async () => {
    // The gateway stops first, because the other daemons wait for their clients.
    for (const daemon of daemons.reverse()) await stopDaemon(daemon);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const endpoint = await startCluster(directory, daemons);
    return {
      endpoint,
      region: REGION,
      credentials: CREDENTIALS,
      createBucket: createBucketAt(endpoint),
      stop,
    };
  } catch (error) {
    const logs = await lastLines(directory);
    await stop();
    throw new Error(`radosgw did not start.\n${logs}`, { cause: error });
  }
}

async function startCluster(directory: string, daemons: ChildProcess[]): Promise<string> {
  for (const name of ['mon', 'osd', 'run', 'log', 'rgw']) await mkdir(join(directory, name));
  const [mon1, mon2, gateway] = [await freePort(), await freePort(), await freePort()];
  const fsid = randomUUID();
  const osd = randomUUID();
  const config = ['-c', join(directory, 'ceph.conf')];
  const keyring = join(directory, 'keyring');
  const monmap = join(directory, 'monmap');
  const monAddress = `[v2:127.0.0.1:${mon1},v1:127.0.0.1:${mon2}]`;
  await writeFile(join(directory, 'ceph.conf'), cephConf(directory, { fsid, osd, monAddress, gateway }));
  await writeFile(keyring, '');

  const anything = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *'];
  await run('ceph-authtool', [keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *']);
  await run('ceph-authtool', [keyring, '--gen-key', '-n', 'client.admin', ...anything]);
  await run('monmaptool', ['--create', '--fsid', fsid, '--addv', 'a', monAddress, monmap]);
  await run('ceph-mon', [...config, '--mkfs', '-i', 'a', '--monmap', monmap, '--keyring', keyring]);
  daemons.push(startDaemon('ceph-mon', [...config, '-i', 'a', '-f']));
  await run('ceph', [...config, '--connect-timeout', '30', 'osd', 'new', osd]);
  await run('ceph-osd', [...config, '-i', '0', '--mkfs', '--osd-uuid', osd]);
  daemons.push(startDaemon('ceph-osd', [...config, '-i', '0', '-f']));
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const keys = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
  await run('radosgw-admin', [
    ...config,
    'user',
    'create',
    '--uid',
    'lehr',
    '--display-name',
    'lehr',
    ...keys,
  ]);
  const radosgw = startDaemon('radosgw', [...config, '--id', 'admin', '-f']);
  daemons.push(radosgw);

  const endpoint = `http://127.0.0.1:${gateway}`;
  await untilReady(endpoint, radosgw);
  return endpoint;
}

/** The first bucket takes some seconds, because its pools are created on first use. */
function createBucketAt(endpoint: string) {
  return async (name: string): Promise<void> => {
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
    const client = new S3Client({ endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: name }));
    client.destroy();
  };
}

function ensureInstalled(): void {
  if (isInstalled()) return;
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
  process.stderr.write(
    `Installing ${PACKAGES.join(', ')} with apt-get, for the tests against a real S3 server.\n`,
  );
  for (const step of [['update'], ['install', '-y', '--no-install-recommends', ...PACKAGES]]) {
    const [command, ...words] = [...apt, ...step];
    spawnSync(command, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (isInstalled()) return;
  throw new Error(
    `The S3 tests need ${PACKAGES.join(', ')}, which could not be installed. ` +
      'Install them (on Debian or Ubuntu: apt-get install), or set LEHR_TEST_S3=off to go without these tests.',
  );
}

function isInstalled(): boolean {
  return PACKAGES.every((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** The daemon ends with the test process, even if that is killed. */
function startDaemon(program: string, words: readonly string[]): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'KILL', program, ...words], { stdio: 'ignore' });
}

async function stopDaemon(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  const killTimer = setTimeout(() => daemon.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(killTimer);
}

/** Polls the server, because it does not announce when it is ready. */
async function untilReady(endpoint: string, daemon: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await fetch(endpoint);
      return;
    } catch (error) {
      if (daemon.exitCode !== null)
        throw new Error(`radosgw ended with ${daemon.exitCode}.`, { cause: error });
      if (Date.now() > deadline) throw new Error(`No answer in ${START_TIMEOUT_MS} ms.`, { cause: error });
      await delay(50);
    }
  }
}

async function lastLines(directory: string): Promise<string> {
  const names = ['mon.a', 'osd.0', 'client.admin'];
  const logs = await Promise.all(
    names.map(async (name) => {
      const log = await readFile(join(directory, 'log', `${name}.log`), 'utf8').catch(() => '');
      return `${name}:\n${log.split('\n').slice(-8).join('\n')}`;
    }),
  );
  return logs.join('\n');
}

interface Cluster {
  readonly fsid: string;
  readonly osd: string;
  readonly monAddress: string;
  readonly gateway: number | undefined;
}

/** `ms mon client mode = crc`: without it, radosgw hangs in AUTH_CONNECTING. */
function cephConf(directory: string, { fsid, osd, monAddress, gateway }: Cluster): string {
  return `[global]
fsid = ${fsid}
mon host = ${monAddress}
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon max pg per osd = 1000
run dir = ${directory}/run
admin socket = ${directory}/run/$name.asok
pid file = ${directory}/run/$name.pid
log file = ${directory}/log/$name.log
keyring = ${directory}/keyring
[mon.a]
mon data = ${directory}/mon
# By default it refuses to start where less than 5 % of the disk is free, however much that is.
mon data avail crit = 1
[osd.0]
crush location = root=default host=localhost
osd data = ${directory}/osd
osd objectstore = memstore
memstore device bytes = 1073741824
osd uuid = ${osd}
[client.admin]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw data = ${directory}/rgw
`;
}
