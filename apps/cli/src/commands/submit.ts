/** Creates a job: a picture from a prompt or a recording, or the request in a file. */
import type { JobRequest, Lehr } from '@lehr/client';
import { type Call, defineCommand, numberOf, type Options } from '../command.ts';
import { controlInput } from '../control-option.ts';
import { usageError } from '../exit-codes.ts';
import { mediaOf } from '../media.ts';
import { PICTURE_OPTIONS, pictureInput } from '../picture-options.ts';
import { readInput } from '../read-input.ts';
import { requestFields } from '../request-options.ts';
import { RESULT_OPTIONS, submitPictures, WAIT_NOTE } from '../submit-pictures.ts';
import type { Terminal } from '../terminal.ts';

const SUBMIT_OPTIONS = {
  ...PICTURE_OPTIONS,
  ...RESULT_OPTIONS,
  image: { type: 'string', short: 'i', value: 'FILE|URL', help: 'A picture to begin at.' },
  audio: { type: 'string', short: 'a', value: 'FILE|URL', help: 'A recording whose words are the prompt.' },
  at: { type: 'string', value: 'TIME', help: 'Run the job at this time, as in 2026-12-24T22:00+01:00.' },
  delay: { type: 'string', value: 'SECONDS', help: 'Run the job after this time.' },
  file: { type: 'string', short: 'f', value: 'PATH', help: 'A whole request in JSON; - is standard input.' },
} as const satisfies Options;

export const submit = defineCommand({
  name: 'submit',
  operands: '[PROMPT]',
  count: [0, 1],
  summary: 'Create a job: a picture from a prompt or a recording, or any request in a file.',
  notes: [
    'Give one of PROMPT, --audio and --file. --file takes the body of POST /v1/jobs.',
    'lehr edit changes a part of a picture, and draws more around it.',
    WAIT_NOTE,
  ],
  options: SUBMIT_OPTIONS,
  run: (call) => submitPictures(call, requestOf(call)),
});

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
  const times = { run_at: timeOf(values.at), delay_s: numberOf('delay', values.delay) };
  if (file !== undefined) return async () => ({ ...(await requestFrom(file, terminal)), ...given(times) });
  const [options, fields] = [pictureInput(values), { ...requestFields(values), ...given(times) }];
  const { image } = values;
  const controls = controlInput(values.control);
  const inputOf = async (lehr: Lehr) => {
    const guided = { ...options, ...(await controls(lehr, terminal.signal)) };
    return image === undefined ? guided : { ...guided, image: await mediaOf(image, lehr, terminal.signal) };
  };
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

/** A time without a zone is one of this machine. */
function timeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw usageError(`--at is ${JSON.stringify(text)}, expected a date and time`);
  return at.toISOString();
}

/** The fields that have a value, so that those of a file stay. */
const given = <Fields extends object>(fields: Fields): Partial<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;

/** Only parses the JSON: the server validates the request. */
async function requestFrom(path: string, terminal: Terminal): Promise<JobRequest> {
  const text = path === '-' ? await terminal.readStdin() : (await readInput(path)).toString();
  try {
    return JSON.parse(text) as JobRequest;
  } catch (error) {
    throw usageError(`${path === '-' ? 'Standard input' : path} is not JSON: ${(error as Error).message}`);
  }
}
