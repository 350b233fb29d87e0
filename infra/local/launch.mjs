/** Starts Redis, the API and the workers, waits until they are ready, and draws a first picture. */
import { access, chmod, mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import {
  ConfigError,
  ENV,
  envSchema,
  homeSecret,
  operationsAddress,
  PRIVATE_UMASK,
  readConfig,
} from '@lehr/shared';
import { shownLine } from '../../apps/cli/dist/logs/log-line.js';
import { ROOT } from './command.mjs';
import { cudaFor } from './cuda.mjs';
import { ensureFfmpeg } from './ffmpeg.mjs';
import { greeting } from './greeting.mjs';
import { say, signal, startService, stopAndExit } from './lifecycle.mjs';
import { logWriter } from './log-files.mjs';
import { defaultModels } from './models.mjs';
import { ownPrometheus } from './own-prometheus.mjs';
import { ownRedis, redisAnswers } from './own-redis.mjs';
import { anyFreePort, claimPort, reachRedis, urlOf } from './ports.mjs';
import { Problem } from './problem.mjs';
import { allReady, drawFirstPicture } from './self-check.mjs';
import { Service } from './service.mjs';

const API_STOP_MS = 10_000;
/** Time to stop a worker, in addition to the time of its drain. */
const WORKER_SPARE_MS = 5_000;
/** Named in the metrics of an observed local Lehr, whose metrics only this machine reads. */
const OBSERVED_TENANTS = '20';
const THIS_MACHINE = '127.0.0.0/8,::1,localhost';
/** A fleet kills a worker a minute after its drain. */
const FLEET_SPARE_MS = 65_000;

/**
 * `startedAt` is the time on the performance clock at which the user started the launcher; `observe`: run a Prometheus as well;
 * `workers`: how many, or `auto`; undefined: one, without a fleet; 0: they run on other machines.
 */
export async function launch(startedAt, { observe, workers }) {
  const settings = await readSettings();
  const { home, host, port, workerPort, operations, device } = settings;
  const hasWorkers = workers !== 0;
  if (settings.servesSpeech && hasWorkers) await ensureFfmpeg({ say, signal });
  process.umask(PRIVATE_UMASK);
  await mkdir(home, { recursive: true });
  // It may be there already, with rights for all users.
  await chmod(home, 0o700);
  const cuda = hasWorkers ? await cudaFor({ device, home, say, signal }) : {};
  const redis = settings.redisUrl ? undefined : await ownRedis({ home, say, signal, ...events('Redis') });
  await claimPort('LEHR_PORT', host, port);
  if (hasWorkers) await claimPort('LEHR_WORKER_PORT', host, workerPort);
  if (operations) await claimPort('LEHR_OPERATIONS_PORT', operations.host, operations.port);
  if (redis) {
    startService(redis.service);
    await redisAnswers(redis, signal);
  } else {
    await reachRedis(settings.redisUrl);
  }
  const key = await keyOf(settings);
  const env = {
    ...process.env,
    LEHR_HOME: home,
    LEHR_REDIS_URL: redis?.url ?? settings.redisUrl,
    LEHR_PORT: `${port}`,
    LEHR_WORKER_PORT: `${workerPort}`,
    ...(isOnlyLocal(host) && { LEHR_EGRESS_ALLOW: `${process.env.LEHR_EGRESS_ALLOW ?? ''},${THIS_MACHINE}` }),
    ...(operations && { LEHR_OPERATIONS_PORT: operations.variable }),
    LEHR_MODELS: process.env.LEHR_MODELS || (await defaultModels({ home, say })),
  };
  const url = urlOf(host, port);
  const workerUrl = hasWorkers ? urlOf(host, workerPort) : undefined;
  const operationsUrl = operations ? urlOf(operations.host, operations.port) : url;
  const prometheus = observe ? await startPrometheus(home, { operationsUrl, workerUrl }) : undefined;
  if (prometheus) Object.assign(env, observedEnv(prometheus));
  startService(app('api', env, API_STOP_MS));
  if (hasWorkers) startService(workersOf(settings, { ...env, ...cuda }, { url, key: key.value, workers }));

  const onSlow = (where, complaint) => say(`Still waiting for ${where}: ${complaint}`);
  // With `auto` the first picture starts the first worker.
  const ready = [
    `${operationsUrl}/readyz`,
    ...(workers === 'auto' || !hasWorkers ? [] : [`${workerUrl}/readyz`]),
  ];
  await allReady(ready, { signal, onSlow });
  if (hasWorkers) await checkOnce({ url, key: key.value, path: join(home, 'first-picture.png') });
  const studioUrl = await signInLink({ url, key: key.value });
  const seconds = (performance.now() - startedAt) / 1000;
  const redisShown = redis ? `127.0.0.1:${redis.port} (${redis.program})` : 'LEHR_REDIS_URL';
  say(
    greeting({
      url,
      studioUrl,
      workerUrl,
      operationsUrl,
      key,
      seconds,
      prometheus,
      home: shown(home),
      redis: redisShown,
    }),
  );
}

/**
 * Reads all variables, also those that only the API or the worker uses, so that every fault is reported before anything
 * starts. The schema comes from packages/shared, so that package must be built before this module is imported.
 */
async function readSettings() {
  try {
    const env = readConfig(envSchema(...Object.keys(ENV)), process.env);
    return {
      home: resolve(ROOT, env.LEHR_HOME),
      host: env.LEHR_HOST,
      port: env.LEHR_PORT || (await anyFreePort(env.LEHR_HOST)),
      workerPort: env.LEHR_WORKER_PORT || (await anyFreePort(env.LEHR_HOST)),
      operations: await ownOperations(env.LEHR_OPERATIONS_PORT),
      apiKey: env.LEHR_API_KEY,
      device: env.LEHR_DEVICE,
      drainMs: env.LEHR_DRAIN_S * 1000,
      servesSpeech: env.LEHR_TASKS.includes('whisper'),
      // Without the default of LEHR_REDIS_URL, which is meant for an API or a worker that runs without this launcher.
      redisUrl: process.env.LEHR_REDIS_URL ? env.LEHR_REDIS_URL : undefined,
    };
  } catch (error) {
    if (error instanceof ConfigError) throw new Problem(error.message);
    throw error;
  }
}

/** Whether only programs of this machine reach the API: they may name receivers and inputs on it, over plain http. */
const isOnlyLocal = (host) =>
  /^(localhost|::1|127\..*)$/.test(host) && !process.env.LEHR_PUBLIC_URL && !process.env.LEHR_TRUSTED_PROXIES;

/** What the API needs to draw its charts; the user's own settings go before. */
const observedEnv = (prometheus) => ({
  LEHR_PROMETHEUS_URL: process.env.LEHR_PROMETHEUS_URL || prometheus,
  LEHR_METRICS_TENANTS: process.env.LEHR_METRICS_TENANTS || OBSERVED_TENANTS,
});

/** Returns its address. */
async function startPrometheus(home, { operationsUrl, workerUrl }) {
  const targets = { 'lehr-api': operationsUrl, ...(workerUrl && { 'lehr-worker': workerUrl }) };
  const { service, url } = await ownPrometheus({ home, targets, say, signal, ...events('Prometheus') });
  startService(service);
  return url;
}

/** Undefined when metrics, readiness and the board have no port of their own. */
async function ownOperations(variable) {
  if (variable === undefined) return undefined;
  const { host, port: wanted } = operationsAddress(variable);
  const port = wanted || (await anyFreePort(host));
  return { host, port, variable: variable.replace(/\d+$/, `${port}`) };
}

/** The API key, the path of its file if it has one, and whether this start has created it. */
async function keyOf({ apiKey, home }) {
  if (apiKey) return { value: apiKey, isNew: false };
  const { value, path, created } = await homeSecret(home, 'api-key');
  return { value, file: shown(path), isNew: created };
}

/** A link that opens the studio signed in, once. Without one, the address of the studio: the key signs in there. */
async function signInLink({ url, key }) {
  const request = { method: 'POST', headers: { authorization: `Bearer ${key}` }, signal };
  const answer = await fetch(`${url}/studio/links`, request).catch(() => undefined);
  return answer?.ok ? (await answer.json()).url : `${url}/`;
}

/** Draws a first picture, unless an earlier start has done so: then its file exists. */
async function checkOnce({ path, ...check }) {
  if (await exists(path)) return;
  const announcement = setTimeout(() => say('Self-check: drawing a first picture.'), 2000);
  try {
    say(`Self-check: ${await drawFirstPicture({ path, signal, ...check })}; see ${shown(path)}.`);
  } catch (error) {
    signal.throwIfAborted();
    say(`Self-check FAILED: ${error.message}.\nLehr keeps running; the next start checks again.`);
  } finally {
    clearTimeout(announcement);
  }
}

/** One worker, or those of this machine under the program of `lehr fleet`. */
function workersOf({ drainMs, workerPort }, env, { url, key, workers }) {
  if (workers === undefined) return app('worker', env, drainMs + WORKER_SPARE_MS);
  const request = JSON.stringify({ url, workers, firstPort: workerPort });
  const program = join(ROOT, 'apps/worker/dist/programs/local-fleet/main.js');
  const command = [process.execPath, program, request];
  return serviceOf('fleet', command, { ...env, LEHR_API_KEY: key }, drainMs + FLEET_SPARE_MS);
}

function app(name, env, stopMs) {
  const program = join(ROOT, `apps/${name}/dist/main.js`);
  return serviceOf(name, [process.execPath, join(ROOT, 'infra/local/child.mjs'), program], env, stopMs);
}

function serviceOf(name, command, env, stopMs) {
  const print = printer(name);
  const keep = logWriter({ home: env.LEHR_HOME, name, say });
  const onLine = (line) => {
    print(line);
    keep(line);
  };
  return new Service(name, { command, env, ipc: true, stopMs, ...events(name), onLine });
}

function events(name) {
  return {
    onCrash: (reason, lines) => {
      say(`${name} ended: ${reason}. Its last lines:\n${lines.map((line) => `    ${line}`).join('\n')}`);
    },
    onGivenUp: (reason) => void stopAndExit(`${reason}; stopping everything.`, 1),
  };
}

/** Prints log lines: readable ones on a terminal, else the JSON lines unchanged. */
function printer(name) {
  if (!process.stdout.isTTY) return (line) => process.stdout.write(`${line}\n`);
  return (line) => line.trim() !== '' && process.stdout.write(`${shownLine(name, line)}\n`);
}

/** A path as the user would type it. */
function shown(path) {
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );
