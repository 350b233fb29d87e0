/** The dashboards of infra/observe, over a real Prometheus that scrapes real processes. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { METRICS, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { ChartsView } from '../../apps/api/src/operations/charts.ts';
import { CHARTS } from '../../apps/api/src/operations/queries.ts';
import { DASHBOARDS } from '../../infra/observe/dashboards/index.ts';
import type { Panel } from '../../infra/observe/dashboards/panel.ts';
import { metricsOf } from '../../infra/observe/metrics-page.ts';
import { flatPicture } from '../support/picture-file.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { addTransformModels } from '../support/tiny-models.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { startPrometheus, type TestPrometheus } from './prometheus.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis(['--maxmemory', '512mb']);
});
afterAll(() => server.stop());

const PANELS = DASHBOARDS.flatMap(({ id, sections }) =>
  sections.flatMap(({ panels }) => panels.map((panel) => ({ ...panel, id }))),
);

/** A query as Grafana sends it. */
const asSent = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll('$model', '.*').replaceAll('$price', '1');

/** Serves files in Prometheus's format, in the place of an exporter that needs a card or containers. */
async function exporter(file: string): Promise<number> {
  const text = await readFile(new URL(`exporters/${file}`, import.meta.url), 'utf8');
  const http = createServer((_request, response) => void response.end(text));
  const port = await freePort();
  http.listen(port, '127.0.0.1');
  onTestFinished(() => void http.close());
  return port;
}

/** One picture, one transcript and one mask, all reported to a receiver, and one refused request. */
async function runJobs(stack: Stack): Promise<void> {
  const { url } = await webhookReceiver(200);
  const fields = { webhook: { url }, priority: 'interactive' };
  const audio = `data:audio/wav;base64,${await readFile(new URL('en_circle.wav', SAMPLES), 'base64')}`;
  const speech = { type: 'speech-to-text', input: { audio }, ...fields };
  const posted = await stack.ask('POST', '/v1/jobs', speech);
  const image = `data:image/png;base64,${await readFile(await flatPicture('#c83264'), 'base64')}`;
  const mask = { type: 'picture-transform', model: 'marks', input: { image }, ...fields };
  const transform = await stack.ask('POST', '/v1/jobs', mask);
  await stack.ask('POST', '/v1/jobs', {});
  const picture = await stack.post({ width: 128, height: 64 }, fields);
  const others = [posted, transform].map(async (response) => (await response.json()) as { id: string });
  for (const { id } of [picture, ...(await Promise.all(others))]) await stack.over(id);
}

/** The questions of panels that still lack data. */
async function unanswered(prometheus: TestPrometheus, panels: readonly Panel[]): Promise<string[]> {
  const open: string[] = [];
  for (const { question, queries } of panels) {
    for (const { expr, legend } of queries) {
      const result = await prometheus.query(asSent(expr));
      if (result.length === 0) open.push(`${question} (${legend})`);
    }
  }
  return open;
}

/** The studio's charts without data. */
async function emptyCharts({ url }: TestPrometheus): Promise<string[]> {
  const { data } = await new ChartsView(url, systemClock).get('15m');
  return data.flatMap(({ name, series, problem }) =>
    series.length === 0 ? [problem === null ? name : `${name}: ${problem}`] : [],
  );
}

test('Every panel of the dashboards and every chart of the studio has data after a picture, a transcript and a mask', {
  tags: ['long'],
}, async () => {
  const workerPort = await freePort();
  const models = await speechModels({ canary: true });
  await addTransformModels(models);
  const stack = await startStack(server, {
    LEHR_MODELS: models,
    LEHR_EGRESS_ALLOW: '*',
    LEHR_METRICS_TENANTS: '5',
  });
  await stack.worker({ LEHR_WORKER_PORT: `${workerPort}` });
  const rollout = { version: '2', weight: 50, sticky_by: 'job', reason: 'sharper hands' };
  // Once the worker has reported both versions.
  await vi.waitFor(
    async () => expect((await stack.ask('PUT', '/v1/rollouts/brush', rollout)).status).toBe(200),
    { timeout: 30_000, interval: 500 },
  );
  const prometheus = await startPrometheus({
    'lehr-api': Number(new URL(stack.url).port),
    'lehr-worker': workerPort,
    dcgm: await exporter('dcgm.txt'),
    cadvisor: await exporter('cadvisor.txt'),
  });
  const usual = PANELS.filter(({ isRare }) => !isRare);
  await vi.waitFor(
    async () => {
      // Again and again: a rate needs an increase between two scrapes.
      await runJobs(stack);
      expect(await unanswered(prometheus, usual)).toEqual([]);
      expect(await emptyCharts(prometheus)).toEqual(['failures']);
    },
    { timeout: 100_000, interval: 1_000 },
  );
  // Panels of rare events may be empty; Prometheus rejects a faulty query.
  await unanswered(prometheus, PANELS);
});

test('Every panel has a question as its title, a unit, and only metrics that Lehr or an exporter has', () => {
  const known = new Set<string>(Object.values(METRICS).map(({ name }) => name));
  for (const { id, question, unit, queries } of PANELS) {
    expect({ id, question }).toEqual({ id, question: expect.stringMatching(/^[A-Z].*\?$/) });
    expect(unit).not.toBe('');
    for (const { expr } of queries) {
      const unknown = metricsOf(expr).filter((name) => name.startsWith('lehr_') && !known.has(name));
      expect({ question, unknown }).toEqual({ question, unknown: [] });
    }
  }
  for (const [name, { queries }] of Object.entries(CHARTS)) {
    const unknown = queries.flatMap(({ expr }) => metricsOf(expr)).filter((each) => !known.has(each));
    expect({ name, unknown }).toEqual({ name, unknown: [] });
  }
});
