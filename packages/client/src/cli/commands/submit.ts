/** Pictures from words, pictures from speech, and whatever else a request in a file asks for. */
import type { Lehr } from '../../lehr.ts';
import type { Job, JobRequest, TextToImageInput } from '../../wire.ts';
import { audioOf } from '../audio.ts';
import { type Call, defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { EXIT, type ExitCode, exitCodeOfJob, usageError } from '../exit-codes.ts';
import { jobText, stateText } from '../job-text.ts';
import { readInput } from '../read-input.ts';
import { REQUEST_OPTIONS, requestFields } from '../request-options.ts';
import { savePictures } from '../save.ts';
import { submitJob } from '../submit-job.ts';
import type { Terminal } from '../terminal.ts';

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

const SUBMIT_OPTIONS = {
  ...PICTURE_OPTIONS,
  ...REQUEST_OPTIONS,
  audio: { type: 'string', short: 'a', value: 'FILE|URL', help: 'A recording: what it says is drawn.' },
  file: { type: 'string', short: 'f', value: 'PATH', help: 'A request in JSON instead of a prompt.' },
  wait: { type: 'boolean', short: 'w', help: 'Stay until the job is over.' },
  output: {
    type: 'string',
    short: 'o',
    value: 'PATH',
    help: 'Save the pictures: a file, or a folder/. Waits.',
  },
} as const satisfies Options;

export const submit = defineCommand({
  name: 'submit',
  operands: '[PROMPT]',
  count: [0, 1],
  summary: 'Have a picture drawn, from words or from speech, or any job done with --file.',
  notes: [
    '--audio draws what a recording says.',
    'Without --wait or --output it answers as soon as the job is stored.',
    '--file takes a whole request in JSON ("-" for standard input), as POST /v1/jobs does.',
  ],
  options: SUBMIT_OPTIONS,
  run: async (call) => {
    const { values, terminal } = call;
    const request = requestOf(call);
    const stays = values.wait || values.output !== undefined;
    const lehr = await call.client();
    const job = await submitJob(lehr, await request(lehr), call, stays ? 'stay' : 'leave');
    if (!stays) return leave(job, call);
    const files =
      values.output === undefined ? [] : await savePictures(lehr, job, values.output, terminal.signal);
    terminal.out(
      call.json ? `${JSON.stringify({ ...job, ...(files.length > 0 && { files }) })}\n` : jobText(job, files),
    );
    return exitCodeOfJob(job);
  },
});

function leave(job: Job, { terminal, json }: Call): ExitCode {
  if (json) terminal.out(`${JSON.stringify(job)}\n`);
  else terminal.out(`${job.id} ${stateText(job)}\nlehr watch ${job.id}\n`);
  return EXIT.ok;
}

type SubmitCall = Call<typeof SUBMIT_OPTIONS>;

/** What is wrong with the words is said at once; what takes the network comes later. */
function requestOf(call: SubmitCall): (lehr: Lehr) => Promise<JobRequest> {
  const {
    values,
    positionals: [prompt],
    terminal,
  } = call;
  const { audio, file } = values;
  if ([prompt, audio, file].filter((each) => each !== undefined).length !== 1) {
    throw usageError('Give a PROMPT, an --audio or a --file');
  }
  if (file !== undefined) return () => requestFrom(file, terminal);
  const [input, fields] = [pictureInput(values), requestFields(values)];
  if (audio === undefined) {
    return async () => ({ type: 'text-to-image', input: { ...input, prompt: prompt ?? '' }, ...fields });
  }
  return async (lehr) => {
    const link = await audioOf(audio, lehr, terminal.signal);
    return { type: 'speech-to-image', input: { ...input, audio: link }, ...fields };
  };
}

function pictureInput(values: Values<typeof PICTURE_OPTIONS>): Omit<TextToImageInput, 'prompt'> {
  const { negative, size, sampler, format } = values;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
  if (size !== undefined && width === undefined) {
    throw usageError(`--size is ${JSON.stringify(size)}, wanted WxH such as 512x512`);
  }
  return {
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
async function requestFrom(path: string, terminal: Terminal): Promise<JobRequest> {
  const text = path === '-' ? await terminal.readStdin() : (await readInput(path)).toString();
  try {
    return JSON.parse(text) as JobRequest;
  } catch (error) {
    throw usageError(`${path === '-' ? 'Standard input' : path} is not JSON: ${(error as Error).message}`);
  }
}
