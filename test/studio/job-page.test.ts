/** The job page: deliveries of the webhook that are sent again, a workflow as a picture of its nodes, and what is done with a job. */
import { appendFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeTinyTransform } from '../../packages/demo-models/src/index.ts';
import { type Job, type JobId, JobSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';
import { tinyModels } from '../support/tiny-models.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { checkView, DESK, faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

describe.skipIf(!chromiumPath)('the job page', () => {
  test('A failed delivery is shown with its answer, and one button sends the event again', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis, { LEHR_EGRESS_ALLOW: '*' });
    const receiver = await webhookReceiver();
    receiver.answer({ status: 500, body: 'the receiver is broken' });
    const { id } = await stack.post({}, { webhook: { url: receiver.url } });
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.goto(`${stack.url}/studio/jobs/${id}`);
    await page.getByText('Nothing has been sent yet').waitFor();
    await storedJobs(world.redis.url, stack).fail(id as JobId);
    await receiver.until(1);
    await page.getByText('the receiver is broken').waitFor();
    expect(await page.locator('.attempt-status').allTextContents()).toEqual(['500']);
    expect(await faultsOf(page)).toEqual([]);

    await page.getByRole('button', { name: 'Send again' }).click();
    const [first, second] = await receiver.until(2);
    expect([second.id, second.body]).toEqual([first.id, first.body]);
    await page.getByText('Delivered', { exact: true }).waitFor();
    expect(await page.locator('.attempt-status').allTextContents()).toEqual(['500', '204']);
    expect(complaints).toEqual([]);
  });

  test('A failed job says why in the gallery, and is retried, opened in Make and deleted from its page', {
    timeout: 240_000,
  }, async () => {
    const stack = await demoStack(world.redis);
    const prompt = 'a small ring left of a large heart on a white and green background, '.repeat(30).trim();
    const { id } = await stack.post({ prompt, steps: 7, seed: 81, width: 128, height: 192 });
    await storedJobs(world.redis.url, stack).fail(id as JobId);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await page.locator('.tile-face', { hasText: 'NaN at step 3' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);

    await page.locator('.tile-link').click();
    const head = page.getByRole('heading', { level: 1 });
    const height = async () => (await head.boundingBox())?.height ?? 0;
    expect(await height()).toBeLessThan(150);
    await page.getByRole('button', { name: 'Show all' }).first().click();
    await expect.poll(height).toBeGreaterThan(300);
    expect(await head.textContent()).toBe(prompt);
    await page.getByRole('button', { name: 'Show less' }).click();
    await expect.poll(height).toBeLessThan(150);
    await checkView(page, 'a failed job');

    await page.getByRole('button', { name: 'Open in Make' }).click();
    await expect.poll(() => page.locator('#prompt').inputValue()).toBe(prompt);
    expect(await page.locator('#seed').inputValue()).toBe('81');
    expect(await page.getByRole('spinbutton', { name: 'Steps' }).inputValue()).toBe('7');
    await page.getByText('128 × 192').waitFor();

    await page.goto(`${stack.url}/studio/jobs/${id}`);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText(/\d in line$/).waitFor();
    const retried = page.url().split('/').at(-1) as JobId;
    expect(await jobOf(stack, retried)).toMatchObject({ retried_from: id, status: 'queued' });

    await page.goto(`${stack.url}/studio/admin/dead-letters`);
    await page.getByRole('button', { name: `Retry ${id}` }).click();
    await page.getByText(/\d in line$/).waitFor();
    expect(page.url()).not.toContain(retried);
    expect(await jobOf(stack, page.url().split('/').at(-1) ?? '')).toMatchObject({ retried_from: id });

    await page.goto(`${stack.url}/studio/jobs/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.locator('.tile').count()).toBe(2);
    expect((await stack.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test('What a model sees in a picture is a table, its kind is found in the gallery, and no model that enlarges is no button', {
    tags: ['long'],
  }, async () => {
    const file = await tinyModels();
    await writeTinyTransform(join(dirname(file), 'kinds'), { result: 'class' });
    await appendFile(
      file,
      '  - { name: kinds, task: transform, result: class, versions: [{ version: "1", path: kinds }] }\n',
    );
    const stack = await startStack(world.redis, { LEHR_MODELS: file });
    await stack.worker();
    const drawn = await stack.over((await stack.post({ steps: 2 })).id);
    const [picture] = drawn.output?.images ?? [];
    const image = await stack.upload('a.png', new Uint8Array(await (await fetch(picture.url)).arrayBuffer()));
    const posted = await stack.ask('POST', '/v1/jobs', {
      type: 'picture-transform',
      model: 'kinds',
      input: { image },
    });
    const { output } = await stack.over(JobSchema.parse(await posted.json()).id);
    const labels = output?.labels?.[0] ?? [];

    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await page.locator('.tile-words', { hasText: labels[0].label }).waitFor();
    await page.getByRole('combobox', { name: 'Kind', exact: true }).selectOption('Transformed pictures');
    await expect
      .poll(() => page.locator('.tile-title').allTextContents())
      .toEqual(['A picture through kinds@1']);
    await page.locator('.tile-link').click();
    const rows = page.locator('.label-table tbody tr');
    await rows.first().waitFor();
    expect(await rows.allTextContents()).toEqual(
      labels.map(({ label, score }) => `${label}${Math.round(score * 100)} %`),
    );
    await checkView(page, 'labels of a picture');
    await page.goto(`${stack.url}/studio/jobs/${drawn.id}`);
    await page.getByRole('button', { name: 'Edit this' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('button', { name: 'Upscale' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('A workflow is a picture of its nodes, and each node that has a job leads to it', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const audio = await stack.upload('circle.wav', await readFile(new URL('en_circle.wav', SAMPLES)));
    const nodes = [
      { id: 'draw', type: 'text-to-image', input: { prompt: 'a {{listen.text}}' } },
      { id: 'listen', type: 'speech-to-text', input: { audio } },
    ];
    const made = await stack.ask('POST', '/v1/jobs', { type: 'workflow', nodes });
    const { id } = JobSchema.parse(await made.json());
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.goto(`${stack.url}/studio/jobs/${id}`);
    const box = (name: string) => page.locator(`.workflow-node:has(strong:text-is("${name}"))`);
    await box('listen').getByText('Waiting').waitFor();
    expect(await box('draw').textContent()).toContain('Not started');
    expect(await box('draw').textContent()).toContain('uses the result of listen');
    expect(await page.locator('.workflow-edge').count()).toBe(1);
    const left = async (name: string) => (await box(name).boundingBox())?.x ?? 0;
    expect(await left('draw')).toBeGreaterThan(await left('listen'));
    expect(await faultsOf(page)).toEqual([]);
    const head = page.getByRole('heading', { level: 1 });
    expect(await head.textContent()).toBe('listen, draw');

    const job = await jobOf(stack, id);
    await box('listen').getByRole('link').click();
    await page
      .locator('.job-line', { hasText: job.nodes?.find((node) => node.id === 'listen')?.job ?? 'none' })
      .waitFor();
    expect(await head.textContent()).toBe('A recording');
    await page.getByRole('link', { name: 'Gallery' }).first().click();
    await expect.poll(() => page.locator('.tile-title').allTextContents()).toEqual(['listen, draw']);
    expect(complaints).toEqual([]);
  });
});

const jobOf = async (stack: Stack, id: string): Promise<Job> =>
  JobSchema.parse(await (await stack.ask('GET', `/v1/jobs/${id}`)).json());
