import type { Lehr } from '../../lehr.ts';
import { isOver } from '../../lehr.ts';
import type { Job, JobRequest, TextToImageInput } from '../../wire.ts';
import { type Call, defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { EXIT, type ExitCode, exitCodeOfJob, usageError } from '../exit-codes.ts';
import { followToEnd } from '../follow-to-end.ts';
import { jobText, stateText } from '../job-text.ts';
import { progressBar } from '../progress.ts';
import { readInput } from '../read-input.ts';
import { savePictures } from '../save.ts';

/** What every kind of job may be asked with. */
export const REQUEST_OPTIONS = {
  model: { type: 'string', short: 'm', value: 'NAME', help: 'Model, or model@version. Else the default.' },
  priority: { type: 'string', value: 'CLASS', help: 'interactive, standard or bulk.' },
  deadline: { type: 'string', value: 'SECONDS', help: 'After which the result is worth nothing.' },
  webhook: { type: 'string', value: 'URL', help: 'Whom to tell of the end.' },
  metadata: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'Your own label; may be repeated.' },
  'idempotency-key': { type: 'string', value: 'TEXT', help: 'Said again, it gets the same job.' },
  timeout: { type: 'string', value: 'SECONDS', help: 'How long to wait at most; the job goes on.' },
} as const satisfies Options;

const PICTURE_OPTIONS = {
  negative: { type: 'string', value: 'TEXT', help: 'What to keep out.' },
  size: { type: 'string', short: 's', value: 'WxH', help: 'Pixels, such as 512x512.' },
  steps: { type: 'string', value: 'N', help: 'Denoising steps.' },
  guidance: { type: 'string', value: 'N', help: 'Guidance scale.' },
  seed: { type: 'string', value: 'N', help: 'Seed of the first picture.' },
  sampler: { type: 'string', value: 'NAME', help: 'How steps are made, such as euler.' },
  count: { type: 'string', short: 'n', value: 'N', help: 'How many pictures.' },
  format: { type: 'string', value: 'NAME', help: 'png, webp or jpeg.' },
} as const satisfies Options;

export const submit = defineCommand({
  name: 'submit',
  operands: '[PROMPT]',
  count: [0, 1],
  summary: 'Have a picture drawn, or any job done with --file.',
  notes: [
    'Without --wait or --output it answers as soon as the job is stored.',
    '--file takes a whole request in JSON ("-" for standard input), as POST /v1/jobs does.',
  ],
  options: {
    ...PICTURE_OPTIONS,
    ...REQUEST_OPTIONS,
    file: { type: 'string', short: 'f', value: 'PATH', help: 'A request in JSON instead of a prompt.' },
    wait: { type: 'boolean', short: 'w', help: 'Stay until the job is over.' },
    output: {
      type: 'string',
      short: 'o',
      value: 'PATH',
      help: 'Save the pictures: a file, or a folder/. Waits.',
    },
  },
  run: async (call) => {
    const { values, positionals, terminal } = call;
    const [prompt] = positionals;
    if ((prompt === undefined) === (values.file === undefined)) throw usageError('Give a PROMPT or a --file');
    const request =
      prompt === undefined
        ? await requestFrom(values.file ?? '-', call)
        : { type: 'text-to-image' as const, input: pictureInput(prompt, values), ...requestFields(values) };
    const stays = values.wait || values.output !== undefined;
    const lehr = await call.client();
    const job = await submitted(lehr, request, call, stays ? 'stay' : 'leave');
    if (!stays) return leave(job, call);
    const files =
      values.output === undefined ? [] : await savePictures(lehr, job, values.output, terminal.signal);
    terminal.out(
      call.json ? `${JSON.stringify({ ...job, ...(files.length > 0 && { files }) })}\n` : jobText(job, files),
    );
    return exitCodeOfJob(job);
  },
});

/** Posts it and, if asked to, stays with a bar until it is over. */
export async function submitted(
  lehr: Lehr,
  request: JobRequest,
  { values, terminal, json }: Call<typeof REQUEST_OPTIONS>,
  then: 'leave' | 'stay',
): Promise<Job> {
  const { signal } = terminal;
  const idempotencyKey = values['idempotency-key'];
  const seconds = numberOf('timeout', values.timeout);
  const job = await lehr.submit(request, { signal, idempotencyKey });
  if (then === 'leave' || isOver(job)) return job;
  const view =
    terminal.errIsTty && !json
      ? progressBar((text) => terminal.err(text), terminal.columns)
      : { show: () => {}, end: () => {} };
  return followToEnd(lehr, job.id, view, { signal, timeoutMs: seconds && seconds * 1000 });
}

function leave(job: Job, { terminal, json }: Call): ExitCode {
  if (json) terminal.out(`${JSON.stringify(job)}\n`);
  else terminal.out(`${job.id} ${stateText(job)}\nlehr watch ${job.id}\n`);
  return EXIT.ok;
}

/** The fields that every kind of request has. */
export function requestFields(values: Values<typeof REQUEST_OPTIONS>) {
  const { model, priority, deadline, webhook, metadata } = values;
  return {
    model,
    // What it may be is the server's to say, so that an older client takes what a newer server knows.
    priority: priority as JobRequest['priority'],
    deadline_s: numberOf('deadline', deadline),
    ...(webhook !== undefined && { webhook: { url: webhook } }),
    ...(metadata && { metadata: Object.fromEntries(metadata.map(labelOf)) }),
  };
}

function labelOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--metadata is ${JSON.stringify(text)}, wanted NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function pictureInput(prompt: string, values: Values<typeof PICTURE_OPTIONS>): TextToImageInput {
  const { negative, size, sampler, format } = values;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
  if (size !== undefined && width === undefined) {
    throw usageError(`--size is ${JSON.stringify(size)}, wanted WxH such as 512x512`);
  }
  return {
    prompt,
    negative_prompt: negative,
    width: numberOf('size', width),
    height: numberOf('size', height),
    steps: numberOf('steps', values.steps),
    guidance: numberOf('guidance', values.guidance),
    seed: numberOf('seed', values.seed),
    sampler: sampler as TextToImageInput['sampler'],
    n: numberOf('count', values.count),
    output_format: format as TextToImageInput['output_format'],
  };
}

/** Whether it is a request at all is the server's to say. */
async function requestFrom(path: string, { terminal }: Pick<Call, 'terminal'>): Promise<JobRequest> {
  const text = path === '-' ? await terminal.readStdin() : (await readInput(path)).toString();
  try {
    return JSON.parse(text) as JobRequest;
  } catch (error) {
    throw usageError(`${path === '-' ? 'Standard input' : path} is not JSON: ${(error as Error).message}`);
  }
}
