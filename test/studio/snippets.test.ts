/** The programs of the job page make the same job again. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Language, requestAgain, snippetOf } from '../../apps/studio/src/job/snippets.ts';
import { type Job, JobListSchema, JobSchema } from '../../packages/shared/src/index.ts';
import { ROOT } from '../repo/readme.ts';
import { bundle } from '../support/bundle.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import type { Stack } from '../support/stack.ts';
import { demoStack } from './studio-world.ts';

const run = promisify(execFile);
let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Quotes, signs of the shell and of the languages, and characters outside of the first plane. */
const PROMPT = 'a cat\'s "eye" `date` $HOME \\n <é> 🟠 {{listen.text}}\nand a star';
const DRAW = { prompt: PROMPT, steps: 2, width: 64, height: 64 };

async function post(stack: Stack, body: object): Promise<Job> {
  const answer = await stack.ask('POST', '/v1/jobs', body);
  expect(answer.status, await answer.clone().text()).toBe(202);
  return JobSchema.parse(await answer.json());
}

/** What must be equal of two jobs that are the same. */
const sameOf = ({ type, model, priority, metadata, input, nodes }: Job) => ({
  ...{ type, model, priority, metadata, input },
  nodes: nodes?.map(({ id, type, model }) => ({ id, type, model })),
});

/** Runs a program as it is copied from the page, which knows the key from its environment alone. */
async function execute(language: Language, text: string, key: string): Promise<void> {
  const env = { ...process.env, LEHR_API_KEY: key };
  if (language === 'curl') await run('bash', ['-c', text], { env });
  if (language === 'Python') await run('python3', ['-c', text], { env });
  if (language !== 'TypeScript') return;
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the repository, where the client is found.
  const folder = mkdtempSync(join(cache, 'lehr-snippet-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'snippet.ts');
  writeFileSync(file, text);
  await run(process.execPath, [await bundle(file, import.meta.url)], { env });
}

async function hasPython(): Promise<boolean> {
  return run('python3', ['-c', 'import urllib.request']).then(
    () => true,
    () => false,
  );
}

describe('the programs of the job page', () => {
  test('Each of them makes the same workflow again', { tags: ['long'] }, async () => {
    const stack = await demoStack(redis);
    await stack.worker();
    const audio = await stack.upload('circle.wav', await readFile(new URL('en_circle.wav', SAMPLES)));
    const first = await post(stack, {
      type: 'workflow',
      nodes: [
        { id: 'draw', type: 'text-to-image', input: DRAW },
        { id: 'listen', type: 'speech-to-text', input: { audio, language: 'en' } },
      ],
      metadata: { order: '81' },
    });
    const { body, missing } = requestAgain(first);
    expect(missing).toEqual([]);
    const languages: Language[] = ['curl', 'TypeScript', ...((await hasPython()) ? ['Python' as const] : [])];
    for (const language of languages)
      await execute(language, snippetOf(language, body, stack.url), stack.key);
    const jobs = JobListSchema.parse(await (await stack.ask('GET', '/v1/jobs')).json()).data;
    expect(jobs).toHaveLength(1 + languages.length);
    for (const job of jobs) expect(sameOf(job)).toEqual(sameOf(first));
    // The client waits until its job has ended.
    expect(jobs.filter(({ status }) => status === 'succeeded').length).toBeGreaterThan(0);
  });

  test('The request of every type of job is taken, and makes a job with the same input', async () => {
    const stack = await demoStack(redis);
    const audio = await stack.upload('circle.wav', await readFile(new URL('en_circle.wav', SAMPLES)));
    const texts = ['a [MASK]', 'a "circle"', [5, 6]];
    const requests = [
      { type: 'text-to-image', input: { ...DRAW, sampler: 'euler', n: 2 }, priority: 'bulk' },
      { type: 'speech-to-text', input: { audio, timestamps: 'word' } },
      { type: 'speech-to-text', input: { audio: 'https://example.com/talk.mp3' } },
      { type: 'speech-to-image', input: { audio, steps: 2, guidance: 1 } },
      { type: 'text-embedding', input: { texts, truncate: true } },
      { type: 'text-classification', input: { texts: ['', { text: 'a circle', pair: 'a star' }] } },
      { type: 'fill-mask', input: { texts: ['a [MASK]'], top_k: 2 } },
    ];
    for (const request of requests) {
      const first = await post(stack, request);
      const again = await post(stack, requestAgain(first).body);
      expect(sameOf(again), request.type).toEqual(sameOf(first));
      expect(again.id).not.toBe(first.id);
    }
  });
});
