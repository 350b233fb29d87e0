/** An hour of a busy installation as its metrics would have been scraped, for charts that show more than the minute of a test. */
import { createMetrics, type Metrics } from '@lehr/shared';

const HOUR_S = 3_600;
const SCRAPE_S = 15;
const PICTURES = { model: 'sd15', version: '1' };
const SPEECH = { model: 'whisper-base', version: '1' };
/** Shares of the work; the last one is what the API calls the others. */
const TENANTS = { 'studio-north': 0.42, acme: 0.27, 'print-shop': 0.16, lab: 0.1, _others: 0.05 };
/** How long their jobs wait at full load, in seconds. */
const CLASSES = { interactive: 0.8, standard: 4, bulk: 30 };

/** Work that rises and falls, with one burst; about 1 at its highest. */
function loadAt(part: number): number {
  const burst = Math.exp(-(((part - 0.62) / 0.05) ** 2));
  return 0.35 + 0.2 * Math.sin(part * 9) + 0.08 * Math.sin(part * 41) + 0.55 * burst;
}

/** OpenMetrics text of the hour before `now`, Unix seconds. */
export async function historyUntil(now: number): Promise<string> {
  const api = createMetrics('api');
  const worker = createMetrics('worker');
  const scrapes: string[] = [];
  for (let at = now - HOUR_S; at < now; at += SCRAPE_S) {
    const load = loadAt((at - now + HOUR_S) / HOUR_S);
    setApi(api.metrics, load);
    work(worker.metrics, load);
    for (const { page } of [api, worker]) {
      const lines = (await page.render()).split('\n').filter((line) => /^lehr_/.test(line));
      scrapes.push(lines.map((line) => `${line} ${at}\n`).join(''));
    }
  }
  return `${scrapes.join('')}# EOF\n`;
}

function setApi(metrics: Metrics<'api'>, load: number): void {
  const queued = Math.round(Math.max(0, load - 0.45) * 60);
  metrics.queueJobs.set({ ...PICTURES, state: 'queued' }, queued);
  metrics.queueJobs.set({ ...PICTURES, state: 'running' }, Math.round(Math.min(16, 24 * load)));
  for (const model of [PICTURES, SPEECH]) {
    const workers = model === SPEECH ? 1 : load > 0.55 ? 3 : 2;
    metrics.workers.set({ ...model, draining: 'false' }, workers);
  }
  metrics.redisMemory.set(0.21 + 0.2 * load);
  for (const [tenant, share] of Object.entries(TENANTS)) {
    metrics.tenantCost.inc({ tenant }, SCRAPE_S * 2.4 * load * share);
  }
  metrics.requests.inc({ model: '', version: '', outcome: 'refused' }, load > 0.8 ? 3 : 0);
}

function work(metrics: Metrics<'worker'>, load: number): void {
  const jobs = Math.round(load * 14);
  for (let i = 0; i < jobs; i += 1) {
    const spread = 0.3 + 1.4 * ((i * 0.618) % 1);
    for (const [name, waitS] of Object.entries(CLASSES)) {
      metrics.queueTime.observe({ ...PICTURES, class: name }, waitS * load ** 3 * spread);
    }
    metrics.requestDuration.observe({ ...PICTURES, outcome: 'succeeded' }, (2 + 6 * load ** 2) * spread);
    const rows = Math.min(16, 2 + 18 * load * spread);
    metrics.batchRows.observe(PICTURES, rows);
    metrics.inferenceCompute.observe({ ...PICTURES, stage: 'denoise' }, 0.03 + 0.006 * rows);
    metrics.inferenceCompute.observe({ ...SPEECH, stage: 'write' }, 0.012 * spread);
  }
  metrics.requests.inc({ ...PICTURES, outcome: 'succeeded' }, jobs);
  metrics.requests.inc({ ...PICTURES, outcome: 'canceled' }, jobs > 8 ? 1 : 0);
  metrics.requests.inc({ ...PICTURES, outcome: 'failed' }, load > 0.78 ? 1 : 0);
  for (const [code, least] of [
    ['out-of-memory', 0.78],
    ['invalid-input', 0.55],
  ] as const) {
    metrics.jobFailures.inc({ ...PICTURES, code, fault: 'service' }, load > least ? 1 : 0);
  }
}
