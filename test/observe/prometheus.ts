/** A real Prometheus that scrapes processes of a test. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { stringify } from 'yaml';
import { ROOT } from '../repo/readme.ts';
import { startCommand } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { tempFolder } from '../support/tiny-models.ts';

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface TestPrometheus {
  readonly url: string;
  /** The present result of a query; rejects when Prometheus refuses it. */
  query(expr: string): Promise<readonly Sample[]>;
  /** The ids of the traces that the values of a series name. */
  traceIdsOf(series: string): Promise<readonly string[]>;
}

export interface PrometheusOptions {
  /** Values of earlier times that it has, as OpenMetrics text. */
  readonly history?: string;
}

/** `targets` are ports by the name of their scrape job. The rules of infra/observe are evaluated. Stopped at the end of the test. */
export async function startPrometheus(
  targets: Readonly<Record<string, number>>,
  { history }: PrometheusOptions = {},
): Promise<TestPrometheus> {
  const folder = await tempFolder('prometheus');
  const file = join(folder, 'prometheus.yaml');
  const jobs = Object.entries(targets).map(([name, port]) => ({
    job_name: name,
    static_configs: [{ targets: [`127.0.0.1:${port}`] }],
  }));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(ROOT, 'infra/observe/alerts.yaml')],
    scrape_configs: jobs,
  };
  await writeFile(file, stringify(config));
  if (history !== undefined) {
    await writeFile(join(folder, 'history'), history);
    const words = ['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'history'), `${folder}/data`];
    await promisify(execFile)('promtool', words);
  }
  const port = await freePort();
  startCommand(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    {},
  );
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => {
    if (!(await fetch(`${url}/-/ready`)).ok) throw new Error('Prometheus is not ready');
  }, 60_000);
  return {
    url,
    traceIdsOf: async (series) => {
      const end = Date.now() / 1000 + 60;
      const span = new URLSearchParams({ query: series, start: `${end - 3600}`, end: `${end}` });
      const response = await fetch(`${url}/api/v1/query_exemplars?${span}`);
      const { data } = (await response.json()) as {
        data: readonly { exemplars: readonly { labels: { trace_id: string } }[] }[];
      };
      return data.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
    },
    query: async (expr) => {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
      const answer = (await response.json()) as { error?: string; data: { result: readonly Sample[] } };
      if (!response.ok) throw new Error(`${expr}: ${answer.error}`);
      return answer.data.result;
    },
  };
}
