/** npm start -- --observe: a Prometheus of this installation, which scrapes its processes and evaluates the rules of infra/observe. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aptInstall } from './apt.mjs';
import { findProgram, ROOT } from './command.mjs';
import { anyFreePort, isFree, urlOf } from './ports.mjs';
import { Problem } from './problem.mjs';
import { Service } from './service.mjs';

const HOST = '127.0.0.1';
const USUAL_PORT = 9090;
const STOP_MS = 10_000;
const RETENTION = '15d';

/** `targets` are addresses by the name of their scrape job. Throws a Problem when there is no Prometheus and none can be installed. */
export async function ownPrometheus({ home, targets, say, signal, ...events }) {
  const program = await findPrometheus({ say, signal });
  const folder = join(home, 'prometheus');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const config = join(folder, 'prometheus.yaml');
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configOf(targets), null, 2));
  const port = (await isFree(HOST, USUAL_PORT)) ? USUAL_PORT : await anyFreePort(HOST);
  const command = [
    program,
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--storage.tsdb.retention.time=${RETENTION}`,
    `--web.listen-address=${HOST}:${port}`,
    // The traces of observed values, when there are any.
    '--enable-feature=exemplar-storage',
  ];
  const service = new Service('Prometheus', { command, env: process.env, stopMs: STOP_MS, ...events });
  return { service, url: urlOf(HOST, port) };
}

const configOf = (targets) => ({
  global: { scrape_interval: '5s', evaluation_interval: '15s' },
  rule_files: [join(ROOT, 'infra/observe/alerts.yaml')],
  scrape_configs: Object.entries(targets).map(([name, url]) => ({
    job_name: name,
    static_configs: [{ targets: [new URL(url).host] }],
  })),
});

async function findPrometheus({ say, signal }) {
  const found = await findProgram('prometheus');
  if (found) return found;
  await aptInstall(['prometheus'], { say, signal });
  const installed = await findProgram('prometheus');
  if (installed) return installed;
  throw new Problem(
    '--observe needs Prometheus, and there is none here. On Debian or Ubuntu: sudo apt-get install prometheus\n' +
      'Without --observe, npm start runs without it.',
  );
}
