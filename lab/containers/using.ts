/** What people do with Lehr, on the containers that compose.yaml starts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { JobSchema } from '../../packages/shared/src/index.ts';
import { launchBrowser } from '../../test/support/browser.ts';
import { verified } from '../../test/support/webhook-receiver.ts';
import { PROMPT } from '../scene.ts';
import { compose, containersOf, docker, ROOT } from './compose.ts';
import { HOOK, type Scene } from './world.ts';

const SAMPLES = join(ROOT, 'test/golden/samples');
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

export async function up(scene: Scene): Promise<string> {
  await compose('--profile', 'observe', 'down', '--volumes');
  const began = performance.now();
  await compose('up', '--detach', '--wait');
  const healthy = seconds(began);
  await firstPicture(scene);
  return `all healthy after ${healthy} from empty volumes, the first picture after ${seconds(began)}`;
}

/** As in the README: submit, wait, and fetch the picture through its link without a key. */
export async function firstPicture({ client }: Scene): Promise<void> {
  const id = await client.submitUntilAccepted({ input: { prompt: PROMPT } });
  const job = await client.ended(id);
  expect(job?.status, JSON.stringify(job?.error)).toBe('succeeded');
  const picture = await fetch(job?.output?.images?.[0].url ?? '');
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
}

/** The users and rights that compose.yaml promises, looked at from inside. */
export async function confined(): Promise<string> {
  const seen: string[] = [];
  const look =
    'id -u; touch /lehr/x /x 2>/dev/null && echo writable; grep -E "^(CapBnd|NoNewPrivs)" /proc/self/status | tr -s "\\t" " "';
  for (const [service, user] of [
    ['redis', 999],
    ['api', 1000],
    ['worker-cpu', 1000],
  ] as const) {
    const said = await compose('exec', '-T', service, 'sh', '-c', look);
    expect(said, service).toBe(`${user}\nCapBnd: 0000000000000000\nNoNewPrivs: 1\n`);
    seen.push(`${service} is user ${user}`);
  }
  return `${seen.join(', ')}; root file systems are read-only, no capability, no new privileges`;
}

export async function speech({ client }: Scene): Promise<string> {
  const { formats } = JSON.parse(readFileSync(join(SAMPLES, 'manifest.json'), 'utf8')) as {
    formats: { file: string }[];
  };
  for (const { file } of formats) {
    const audio = `data:application/octet-stream;base64,${readFileSync(join(SAMPLES, file), 'base64')}`;
    const job = await client.ended(
      await client.submitUntilAccepted({ type: 'speech-to-text', input: { audio } }),
    );
    expect(job?.output?.text, `${file}: ${JSON.stringify(job?.error)}`).toMatch(/circle/i);
  }
  const names = formats.map(({ file }) => file.replace(/^formats\/en_circle[._]/, ''));
  const [worker] = await containersOf('worker-cpu');
  const version = (await docker('exec', worker, 'ffmpeg', '-version')).split(' ').slice(0, 3).join(' ');
  return `${version} and the demo model heard the circle in ${names.join(', ')}`;
}

export async function studio({ client }: Scene): Promise<string> {
  const { url } = (await (await client.ask('POST', '/studio/links')).json()) as { url: string };
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    await page.locator('#prompt').fill(PROMPT);
    await page.keyboard.press('Control+Enter');
    await page.locator('.stage .picture[data-loaded="true"]').waitFor();
    await page.getByRole('link', { name: 'Gallery' }).click();
    await page.locator('.tile').first().waitFor();
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
  // So that the invariants see this job too.
  for (const id of await client.list()) await client.remove(id);
  return 'Chromium signed in by a link, drew a picture and found it in the gallery';
}

export async function webhook({ client, received, follow }: Scene): Promise<string> {
  const { key: secret } = (await (await client.ask('POST', '/v1/webhooks/secret/rotate')).json()) as {
    key: string;
  };
  const made = await client.ask('POST', '/v1/jobs', {
    type: 'text-to-image',
    input: { prompt: PROMPT },
    webhook: { url: HOOK },
  });
  const job = JobSchema.parse(await made.json());
  await follow();
  await client.ended(job.id);
  const of = () => received.find(({ body }) => body.includes(job.id) && body.includes('job.succeeded'));
  await expect.poll(of).toBeDefined();
  const delivery = of();
  expect(delivery && (await verified(delivery, secret))).toBe(true);
  await client.remove(job.id);
  return 'delivered to another container, with a signature that the common verifiers accept';
}

export async function prometheus(): Promise<string> {
  await compose('--profile', 'observe', 'up', '--detach', '--wait', '--no-deps', 'prometheus');
  const targets = async (): Promise<string[]> => {
    const answer = (await (await fetch('http://127.0.0.1:9090/api/v1/targets')).json()) as {
      data: { activeTargets: { labels: { job: string }; health: string }[] };
    };
    return answer.data.activeTargets.filter(({ health }) => health === 'up').map(({ labels }) => labels.job);
  };
  await expect.poll(targets).toEqual(expect.arrayContaining(['lehr-api', 'lehr-worker']));
  const rules = (await (await fetch('http://127.0.0.1:9090/api/v1/rules')).json()) as {
    data: { groups: { rules: { name: string; health: string }[] }[] };
  };
  const all = rules.data.groups.flatMap((group) => group.rules);
  expect(all.filter(({ health }) => health === 'err')).toEqual([]);
  const up = await targets();
  await compose('--profile', 'observe', 'rm', '--stop', '--force', 'prometheus');
  return `Prometheus scrapes ${[...new Set(up)].join(' and ')}; ${all.length} rules without an error`;
}
