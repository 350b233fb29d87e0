import { expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;
/** As Prometheus sends it. */
const ACCEPT = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

function observed() {
  const { metrics, page } = createMetrics('worker', { processMetrics: true });
  const labels = { model: 'tiny', version: '1', outcome: 'succeeded' };
  metrics.requestDuration.observe(labels, 0.2, TRACEPARENT);
  metrics.requestDuration.observe(labels, 4);
  metrics.requests.inc(labels);
  return page;
}

test('A scrape that accepts OpenMetrics gets the trace of an observed value once exemplars are shown', async () => {
  const page = observed();
  page.showExemplars();
  const { text, contentType } = await page.answer(ACCEPT);
  expect(contentType).toContain('application/openmetrics-text');
  const exemplars = text.split('\n').filter((line) => line.includes(' # '));
  expect(exemplars).toEqual([
    expect.stringMatching(
      `^lehr_request_duration_seconds_bucket{le="0.25",.*} 1 # {trace_id="${TRACE}"} 0.2 [\\d.]+$`,
    ),
  ]);
  expect(text).toMatch(/^# TYPE lehr_requests counter\nlehr_requests_total\{.*\} 1$/m);
  expect(text.endsWith('\n# EOF\n')).toBe(true);
});

test('The text format is the same before and after a scrape of OpenMetrics, and has no exemplars', async () => {
  const page = observed();
  page.showExemplars();
  const ownLines = async () =>
    (await page.answer('text/plain')).text.split('\n').filter((line) => line.includes('lehr_'));
  const before = await ownLines();
  await page.answer(ACCEPT);
  expect(await ownLines()).toEqual(before);
  expect(before.join('\n')).not.toContain(TRACE);
  expect(before).toContain('# TYPE lehr_requests_total counter');
});

test('Without traces every scrape gets the text format', async () => {
  expect((await observed().answer(ACCEPT)).contentType).toContain('text/plain');
});
