/** infra/redis/users.acl allows each program the commands and keys that its code uses, and no others. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Group, groupQueueName, type Task } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { asUser, type RedisUser } from '../support/redis-server.ts';
import { ROOT, readText } from './readme.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Of the connections themselves. */
const CONNECTION = ['ping', 'info', 'select', 'quit', 'client|setname', 'script|exists', 'script|load'];
const SCRIPTING = ['eval', 'evalsha', 'multi', 'exec'];

/** Of commands that are several in one, the one that the code uses. */
const SUBCOMMANDS: Readonly<Record<string, string>> = { memory: 'memory|usage' };

/** The scripts of BullMQ for what group queues do. */
const GROUP_SCRIPTS = [
  ...['addPrioritizedJob-9', 'addParentJob-6', 'moveToActive-11', 'extendLocks-1', 'moveToFinished-14'],
  ...['moveJobFromActiveToWait-9', 'moveStalledJobsToWait-9', 'removeJob-2'],
];
/** Those for the queue of webhook deliveries and for the pages under /admin. */
const API_SCRIPTS = [
  ...['addStandardJob-9', 'addDelayedJob-6', 'moveToDelayed-11', 'extendLock-2', 'promote-9', 'retryJob-11'],
  ...['getCounts-1', 'getRanges-1', 'getState-8', 'getStateV2-8', 'isFinished-3', 'isJobInList-1'],
  ...['getMetrics-2', 'getDependencyCounts-4', 'getRateLimitTtl-2', 'releaseLock-1', 'changeDelay-4'],
];

/** Commands of BullMQ's own TypeScript that its queues call here. */
const BULLMQ_COMMANDS = { api: ['bzpopmin', 'hgetall', 'hexists', 'hget', 'hmget'], worker: [] };

test.each([
  ['api', ['packages/shared/src', 'apps/api/src'], [...GROUP_SCRIPTS, ...API_SCRIPTS]],
  ['worker', ['packages/shared/src', 'apps/worker/src'], GROUP_SCRIPTS],
] as const)('The user %s may use the commands of its code and no others', async (user, folders, scripts) => {
  const redis = testRedis(server.url);
  const known = new Set((await redis.call('COMMAND', 'LIST')) as string[]);
  const used = new Set<string>([
    ...CONNECTION,
    ...SCRIPTING,
    ...BULLMQ_COMMANDS[user],
    ...folders.flatMap(sourcesIn).flatMap((source) => commandsIn(source, known)),
    ...scripts.flatMap(commandsOfBullmq).filter((name) => known.has(name)),
  ]);
  expect(allowedCommands(user).sort()).toEqual([...used].sort());
});

test('The worker may use the keys of jobs and queues, and none of API keys, webhook secrets and deliveries', async () => {
  const redis = testRedis(server.url);
  const denied: string[] = [];
  for (const [name, key] of Object.entries(exampleKeys())) {
    if (CHANNELS.includes(name)) continue;
    const of = (user: RedisUser) => redis.call('ACL', 'DRYRUN', user, 'EXISTS', key);
    expect(await of('api'), name).toBe('OK');
    if ((await of('worker')) !== 'OK') denied.push(name);
  }
  expect(denied.sort()).toEqual(API_ONLY);
});

test('The worker may use the keys that only scripts know: what start.lua keeps of its last start, and the planned nodes', async () => {
  const redis = testRedis(server.url);
  for (const key of ['{lehr}:start:a-worker', '{lehr}:planned:job_1', '{lehr}:planned-of:job_1'])
    expect(await redis.call('ACL', 'DRYRUN', 'worker', 'EXISTS', key), key).toBe('OK');
});

test('The worker may read what is paused, and not pause anything', async () => {
  const redis = testRedis(server.url);
  const dryRun = (...command: string[]) => redis.call('ACL', 'DRYRUN', 'worker', ...command);
  expect(await dryRun('HGETALL', '{lehr}:pauses')).toBe('OK');
  expect(await dryRun('HSET', '{lehr}:pauses', '*', '{}')).toMatch(/no permissions/i);
});

/** A group of each task: the compiler asks for one more when there is a new task. */
const GROUPS: Readonly<Record<Task, Group>> = {
  diffusion: { task: 'diffusion', model: { name: 'm', version: '1' }, width: 64, height: 64 },
  whisper: { task: 'whisper', model: { name: 'm', version: '1' } },
  text: { task: 'text', model: { name: 'm', version: '1' } },
  transform: { task: 'transform', model: { name: 'm', version: '1' } },
};

test.each(Object.values(GROUPS))('API and worker may use the keys of the queues of $task', async (group) => {
  const redis = testRedis(server.url);
  for (const name of ['id', 'prioritized', 'marker', 'stalled-check']) {
    const key = `{lehr}:${groupQueueName(group)}:${name}`;
    for (const user of ['api', 'worker'])
      expect(await redis.call('ACL', 'DRYRUN', user, 'EXISTS', key), `${user} ${key}`).toBe('OK');
  }
});

/** Names in keysOf() of what is a channel and not a key. */
const CHANNELS = ['changed', 'ended', 'cancel', 'retiredGroups'];
/** Names in keysOf() of what no worker reads or writes. A new key belongs here, or into the list of the worker in users.acl. */
const API_ONLY = [
  ...[
    'abandoned',
    'apiCounts',
    'apiKey',
    'apiKeys',
    'attempts',
    'audit',
    'batchesOf',
    'boundingRecords',
    'deferred',
    'deferredOf',
  ],
  ...['delivery', 'file', 'filesOf'],
  ...['hookGone', 'hookPause'],
  ...[
    'hookSecrets',
    'jobAction',
    'jobActionsDue',
    'jobActionsOf',
    'keyPeppers',
    'leftovers',
    'openBatchesOf',
    'openJobActionsOf',
    'probe',
    'rolloutHistory',
    'rolloutJudge',
    'rollouts',
    'scale',
    'schedule',
    'scheduleRuns',
    'schedulesDue',
    'schedulesOf',
    'secretKeys',
    'sessions',
    'signIn',
    'signInGeneration',
    'storage',
    'stored',
    'storedBytes',
  ],
  ...['sweep', 'tenants', 'unanswered', 'undelivered', 'webUiJobs', 'webUiModel'],
];

test.each([
  'FLUSHALL',
  'FLUSHDB',
  'CONFIG GET *',
  'CONFIG SET maxmemory 1',
  'KEYS *',
  'MONITOR',
  'ACL LIST',
  'ACL SETUSER worker +@all',
  'CLIENT LIST',
  'CLIENT KILL TYPE normal',
  'DEBUG SLEEP 0',
  'SHUTDOWN NOSAVE',
  'REPLICAOF 127.0.0.1 1',
  'MODULE LIST',
  'SCRIPT FLUSH',
  'FUNCTION FLUSH',
  'SAVE',
  'GET other',
  'PUBLISH other x',
  'EVAL return(redis.call("flushall")) 0',
])('Neither the API nor a worker may send %s', async (line) => {
  for (const user of ['api', 'worker'] as const) {
    const [command, ...args] = line.split(' ');
    const redis = testRedis(asUser(server.url, user));
    await expect(redis.call(command, ...args), user).rejects.toThrow(
      /NOPERM|can't run|DEBUG command not allowed/,
    );
  }
});

test('What a script has written as a user is there after a crash of Redis', async () => {
  const script = "for i = 1, 3 do redis.call('HSET', KEYS[1], 'write-' .. i, i) end";
  const stored = { 'write-1': '1', 'write-2': '2', 'write-3': '3' };
  for (const user of ['api', 'worker'] as const)
    await testRedis(asUser(server.url, user)).eval(script, 1, `{lehr}:record:${user}`);
  await server.restart();
  for (const user of ['api', 'worker'] as const)
    expect(await testRedis(server.url).hgetall(`{lehr}:record:${user}`), user).toEqual(stored);
});

test('Without a password, only the health check of the container is answered', async () => {
  const cli = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('redis-cli', ['-p', `${server.port}`, ...args])).stdout;
  expect(await cli('ping')).toContain('NOAUTH');
  for (const password of ['', 'none'])
    expect(await cli('--user', 'default', '--pass', password, 'ping')).toContain('NOAUTH');
  const health = ['--user', 'health', '--pass', 'none', '--no-auth-warning'];
  expect(await cli(...health, 'ping')).toBe('PONG\n');
  expect(await cli(...health, 'get', '{lehr}:keys')).toContain('NOPERM');
});

/** As users.acl lists them; Redis itself would answer with categories of commands. */
function allowedCommands(user: string): string[] {
  const [, rules = ''] =
    new RegExp(`^user ${user} (.*(?:\\n  .*)*)`, 'm').exec(readText('infra/redis/users.acl')) ?? [];
  const words = rules.split(/\s+/);
  expect(words.filter((word) => /^[-+]@/.test(word))).toEqual(['-@all']);
  return words.filter((word) => word.startsWith('+')).map((word) => word.slice(1));
}

function sourcesIn(folder: string): string[] {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const code = paths.filter((path) => /\.(?:ts|lua)$/.test(path) && !path.endsWith('.test.ts'));
  return code.map((path) => readFileSync(join(ROOT, folder, path), 'utf8'));
}

/** Commands of scripts, and those that TypeScript calls on a connection, a pipeline or a transaction. */
function commandsIn(source: string, known: ReadonlySet<string>): string[] {
  const scripted = [...source.matchAll(/redis\.p?call\(\s*'(\w+)'/g)];
  const called = source.includes('redis')
    ? [
        ...source.matchAll(
          /\b(?:redis|commands|blocking|subscriber|pipeline|multi|transaction)(?:\(\))?\s*\.(\w+)\(/gi,
        ),
      ]
    : [];
  const chained = [...source.matchAll(/\.(\w+)\(\s*(?:this\.#)?\w*[kK]eys?\b/g)];
  return [...scripted, ...called, ...chained]
    .map(([, name]) => name.toLowerCase())
    .filter((name) => known.has(name) && name !== 'monitor')
    .map((name) => SUBCOMMANDS[name] ?? name);
}

/** Every quoted command: BullMQ passes some of them on in variables. */
function commandsOfBullmq(name: string): string[] {
  const folder = dirname(createRequire(join(ROOT, 'packages/shared/package.json')).resolve('bullmq'));
  const script = readFileSync(join(folder, 'scripts', `${name}.js`), 'utf8');
  return [...script.matchAll(/["']([A-Z]{3,})["']/g)].map(([, command]) => command.toLowerCase());
}

/** A key of each kind. */
function exampleKeys(): Record<string, string> {
  const entries = Object.entries(keysOf('lehr')).map(([name, key]) => [
    name,
    typeof key === 'string' ? key : (key as (...args: string[]) => string)('x', 'y'),
  ]);
  return Object.fromEntries(entries.filter(([name]) => name !== 'prefix'));
}
