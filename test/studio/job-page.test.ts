/** The job page: deliveries of the webhook that are sent again, and a workflow as a picture of its nodes. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Job, type JobId, JobSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { storedJobs } from '../support/stored-jobs.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

describe.skipIf(!chromiumPath)('the job page', () => {
  test('A failed delivery is shown with its answer, and one button sends the event again', async () => {
    const stack = await demoStack(world.redis, { LEHR_WEBHOOK_ALLOW_PRIVATE: '1' });
    const receiver = await webhookReceiver();
    receiver.answer({ status: 500, body: 'the receiver is broken' });
    const { id } = await stack.post({}, { webhook: { url: receiver.url } });
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.goto(`${stack.url}/studio/jobs/${id}`);
    await page.getByText('Nothing has been sent yet').waitFor();
    await storedJobs(world.redis.url, stack.namespace).fail(id as JobId);
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

  test('A workflow is a picture of its nodes, and each node that has a job leads to it', async () => {
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

    const job: Job = JobSchema.parse(await (await stack.ask('GET', `/v1/jobs/${id}`)).json());
    await box('listen').getByRole('link').click();
    await page
      .locator('.job-line', { hasText: job.nodes?.find((node) => node.id === 'listen')?.job ?? 'none' })
      .waitFor();
    expect(complaints).toEqual([]);
  });
});
