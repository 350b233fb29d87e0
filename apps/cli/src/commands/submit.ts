/** Creates a job: a picture from a prompt or a recording, or the request in a file. */
import type { Job, JobRequest, Lehr, TextToImageInput } from '@lehr/client';
import { type Call, defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { EXIT, type ExitCode, exitCodeOfJob, usageError } from '../exit-codes.ts';
import { jobText, stateText } from '../job-text.ts';
import { mediaOf } from '../media.ts';
import { readInput } from '../read-input.ts';
import { REQUEST_OPTIONS, requestFields } from '../request-options.ts';
import { savePictures } from '../save.ts';
import { submitJob } from '../submit-job.ts';
import type { Terminal } from '../terminal.ts';

const PICTURE_OPTIONS = {
  negative: { type: 'string', value: 'TEXT', help: 'What the picture should not show.' },
  size: { type: 'string', short: 's', value: 'WxH', help: 'Size in pixels, such as 512x512.' },
  steps: { type: 'string', value: 'N', help: 'Number of denoising steps.' },
  guidance: { type: 'string', value: 'N', help: 'Guidance scale.' },
  seed: { type: 'string', value: 'N', help: 'Seed of the first picture.' },
  sampler: { type: 'string', value: 'NAME', help: 'Sampler, such as euler.' },
  syntax: { type: 'string', value: 'NAME', help: 'How prompts are read: plain, or weighted for (word:1.3).' },
  'clip-skip': { type: 'string', value: 'N', help: 'Layer of the text encoder from its end, 1 to 12.' },
  strength: { type: 'string', value: 'N', help: 'With --image: how far to differ from it, 0 to 1.' },
  count: { type: 'string', short: 'n', value: 'N', help: 'Number of pictures.' },
  format: { type: 'string', value: 'NAME', help: 'png, webp or jpeg. Default: png.' },
} as const satisfies Options;

const SUBMIT_OPTIONS = {
  ...PICTURE_OPTIONS,
  ...REQUEST_OPTIONS,
  image: { type: 'string', short: 'i', value: 'FILE|URL', help: 'A picture to begin at.' },
  audio: { type: 'string', short: 'a', value: 'FILE|URL', help: 'A recording whose words are the prompt.' },
  file: { type: 'string', short: 'f', value: 'PATH', help: 'A whole request in JSON; - is standard input.' },
  wait: { type: 'boolean', short: 'w', help: 'Wait until the job has ended.' },
  output: {
    type: 'string',
    short: 'o',
    value: 'PATH',
    help: 'Wait, then save the pictures to a file or a folder/.',
  },
} as const satisfies Options;

export const submit = defineCommand({
  name: 'submit',
  operands: '[PROMPT]',
  count: [0, 1],
  summary: 'Create a job: a picture from a prompt or a recording, or any request in a file.',
  notes: [
    'Give one of PROMPT, --audio and --file. --file takes the body of POST /v1/jobs.',
    'Without --wait and --output, the command ends as soon as the job is stored.',
  ],
  options: SUBMIT_OPTIONS,
  run: async (call) => {
    const { values, terminal } = call;
    const request = requestOf(call);
    const wait = values.wait || values.output !== undefined;
    const lehr = await call.client();
    const job = await submitJob(lehr, await request(lehr), call, { wait });
    if (!wait) return showStored(job, call);
    const files =
      values.output === undefined ? [] : await savePictures(lehr, job, values.output, terminal.signal);
    terminal.out(
      call.json ? `${JSON.stringify({ ...job, ...(files.length > 0 && { files }) })}\n` : jobText(job, files),
    );
    return exitCodeOfJob(job);
  },
});

function showStored(job: Job, { terminal, json }: Call): ExitCode {
  if (json) terminal.out(`${JSON.stringify(job)}\n`);
  else terminal.out(`${job.id} ${stateText(job)}\nlehr watch ${job.id}\n`);
  return EXIT.ok;
}

type SubmitCall = Call<typeof SUBMIT_OPTIONS>;

/** Checks the arguments at once; the returned function may use the network. */
function requestOf(call: SubmitCall): (lehr: Lehr) => Promise<JobRequest> {
  const {
    values,
    positionals: [prompt],
    terminal,
  } = call;
  const { audio, file } = values;
  if ([prompt, audio, file].filter((each) => each !== undefined).length !== 1) {
    throw usageError('give one of PROMPT, --audio and --file');
  }
  if (file !== undefined) return () => requestFrom(file, terminal);
  const [options, fields] = [pictureInput(values), requestFields(values)];
  const { image } = values;
  const inputOf = async (lehr: Lehr) =>
    image === undefined ? options : { ...options, image: await mediaOf(image, lehr, terminal.signal) };
  if (audio === undefined) {
    return async (lehr) => {
      const input = { ...(await inputOf(lehr)), prompt: prompt ?? '' };
      return { type: 'text-to-image', input, ...fields };
    };
  }
  return async (lehr) => {
    const link = await mediaOf(audio, lehr, terminal.signal);
    return { type: 'speech-to-image', input: { ...(await inputOf(lehr)), audio: link }, ...fields };
  };
}

function pictureInput(values: Values<typeof PICTURE_OPTIONS>): Omit<TextToImageInput, 'prompt'> {
  const { negative, size, sampler, format } = values;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
  if (size !== undefined && width === undefined) {
    throw usageError(`--size is ${JSON.stringify(size)}, expected WxH such as 512x512`);
  }
  return {
    negative_prompt: negative,
    width: numberOf('size', width),
    height: numberOf('size', height),
    steps: numberOf('steps', values.steps),
    guidance: numberOf('guidance', values.guidance),
    seed: numberOf('seed', values.seed),
    sampler: sampler as TextToImageInput['sampler'],
    prompt_syntax: values.syntax as TextToImageInput['prompt_syntax'],
    clip_skip: numberOf('clip-skip', values['clip-skip']),
    strength: numberOf('strength', values.strength),
    n: numberOf('count', values.count),
    output_format: format as TextToImageInput['output_format'],
  };
}

/** Only parses the JSON: the server validates the request. */
async function requestFrom(path: string, terminal: Terminal): Promise<JobRequest> {
  const text = path === '-' ? await terminal.readStdin() : (await readInput(path)).toString();
  try {
    return JSON.parse(text) as JobRequest;
  } catch (error) {
    throw usageError(`${path === '-' ? 'Standard input' : path} is not JSON: ${(error as Error).message}`);
  }
}
