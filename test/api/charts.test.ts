/** The charts of the studio, and what they say when no Prometheus answers as one should. */
import { createServer, type RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHART_NAMES, type ChartList, ChartListSchema } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { UNREACHABLE_URL } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { served } from '../support/served.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const chartsOf = async ({ ask }: ApiWorld, range = ''): Promise<ChartList> =>
  ChartListSchema.strict().parse(await (await ask('GET', `/v1/charts${range}`)).json());

/** Something that answers in the place of Prometheus. */
const answering = async (listener: RequestListener): Promise<ApiWorld> =>
  apiWorld(server.url, { prometheusUrl: await served(createServer(listener)) });

const problemsOf = ({ data }: ChartList): string[] => [...new Set(data.map(({ problem }) => problem ?? ''))];

test('Without a Prometheus there are no charts, and the answer says why', async () => {
  expect(await chartsOf(await apiWorld(server.url))).toMatchObject({ source: null, range: '1h', data: [] });
});

test('Only a key with the scope admin sees the charts, which are those of all tenants', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'ada', { scopes: ['submit', 'read'] });
  expect((await ask('GET', '/v1/charts')).status).toBe(403);
  const { ask: asAdmin } = await keyHolder(world, 'ada', { scopes: ['admin'] });
  expect((await asAdmin('GET', '/v1/charts')).status).toBe(200);
});

test('A query or a range of the caller is refused or ignored: only the queries of the list are sent', async () => {
  const sent = new Set<string>();
  const world = await answering((request, response) => {
    sent.add(new URL(request.url ?? '', 'http://prometheus').searchParams.get('query') ?? '');
    response.end(JSON.stringify({ data: { resultType: 'matrix', result: [] } }));
  });
  expect((await world.ask('GET', '/v1/charts?range=10y')).status).toBe(400);
  expect(sent.size).toBe(0);
  expect((await chartsOf(world, '?range=15m&query=up')).data.map(({ name }) => name)).toEqual(CHART_NAMES);
  expect(sent).not.toContain('up');
  expect(sent.size).toBe(11);
});

test('A Prometheus that is not there, refuses, or is something else is named as the problem of each chart', async () => {
  const gone = await apiWorld(server.url, { prometheusUrl: UNREACHABLE_URL });
  expect(problemsOf(await chartsOf(gone))).toEqual(['Prometheus does not answer.']);
  const refusing = await answering((_request, response) => {
    response.writeHead(422).end(JSON.stringify({ status: 'error', error: 'query timed out' }));
  });
  expect(problemsOf(await chartsOf(refusing))).toEqual(['Prometheus answered 422: query timed out']);
  const other = await answering((_request, response) => void response.end('<html>'));
  expect(problemsOf(await chartsOf(other))).toEqual([
    'What answers at LEHR_PROMETHEUS_URL is no Prometheus.',
  ]);
  const endless = await answering((_request, response) => {
    const more = (): void => {
      while (response.write(Buffer.alloc(65_536, ' ')));
    };
    response.on('drain', more);
    more();
  });
  expect(problemsOf(await chartsOf(endless))).toEqual(['The answer of Prometheus is too large.']);
});

test('Of many lines, those with the largest last values are shown, and the others are counted', async () => {
  const world = await answering((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://prometheus');
    const to = Number(searchParams.get('end'));
    const result = Array.from({ length: 14 }, (_, i) => ({
      metric: { model: `m${i}`, state: `s${i}` },
      values: [
        [to - 10, 'NaN'],
        [to, `${i}`],
      ],
    }));
    response.end(JSON.stringify({ data: { resultType: 'matrix', result } }));
  });
  const { data, points } = await chartsOf(world, '?range=15m');
  const [{ series, more_series }] = data;
  expect(series.map(({ name }) => name)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4].map((i) => `s${i}`));
  expect(series[0].values).toHaveLength(points);
  expect(series[0].values.slice(-2)).toEqual([null, 13]);
  expect(more_series).toBe(4);
});

test('A name and a password in the address are sent as basic authentication, and viewers share a reading', async () => {
  const headers: (string | undefined)[] = [];
  const url = await served(
    createServer((request, response) => {
      headers.push(request.headers.authorization);
      response.end(JSON.stringify({ data: { resultType: 'matrix', result: [] } }));
    }),
  );
  const world = await apiWorld(server.url, { prometheusUrl: url.replace('//', '//lehr:p%40ss@') });
  await Promise.all([chartsOf(world), chartsOf(world), chartsOf(world)]);
  expect(headers).toHaveLength(11);
  expect(new Set(headers)).toEqual(new Set([`Basic ${Buffer.from('lehr:p@ss').toString('base64')}`]));
});
