import { extname } from 'node:path';
import type { Job, SpeechToTextInput } from '../../wire.ts';
import { audioOf } from '../audio.ts';
import { defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { exitCodeOfJob, usageError } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { REQUEST_OPTIONS, requestFields } from '../request-options.ts';
import { writeOutput } from '../save.ts';
import { submitJob } from '../submit-job.ts';
import { srtOf, vttOf } from '../subtitles.ts';
import { plain } from '../table.ts';

const FORMATS: Readonly<Record<string, (job: Job) => string>> = {
  text: ({ output }) => `${output?.text ?? ''}\n`,
  srt: ({ output }) => srtOf(output?.segments ?? []),
  vtt: ({ output }) => vttOf(output?.segments ?? []),
  json: ({ output }) => `${JSON.stringify(output)}\n`,
};

const SPEECH_OPTIONS = {
  language: { type: 'string', short: 'l', value: 'CODE', help: 'Such as en. Else it is detected.' },
  translate: { type: 'boolean', help: 'Write English, whatever is spoken.' },
  prompt: { type: 'string', value: 'TEXT', help: 'What might have come before: names, spelling.' },
  temperature: { type: 'string', value: 'N', help: '0 to 1.' },
  words: { type: 'boolean', help: 'Time each word, for --format json.' },
  fast: { type: 'boolean', help: 'Long recordings: cut at silences and run all windows at once.' },
} as const satisfies Options;

export const transcribe = defineCommand({
  name: 'transcribe',
  operands: 'FILE|URL',
  count: [1, 1],
  summary: 'Write down what is said in a recording.',
  notes: ['The text is all that it writes, so it can be piped; --json writes the whole job.'],
  options: {
    ...SPEECH_OPTIONS,
    ...REQUEST_OPTIONS,
    format: {
      type: 'string',
      value: 'NAME',
      help: 'text, srt, vtt or json; else by the ending of --output.',
    },
    output: { type: 'string', short: 'o', value: 'PATH', help: 'Write into this file.' },
  },
  run: async (call) => {
    const {
      values,
      positionals: [source],
      terminal,
      json,
    } = call;
    const write = formatOf(values.format, values.output);
    const options = inputOf(values);
    const lehr = await call.client();
    const input = { ...options, audio: await audioOf(source, lehr, terminal.signal) };
    const job = await submitJob(
      lehr,
      { type: 'speech-to-text', input, ...requestFields(values) },
      call,
      'stay',
    );
    if (job.status !== 'succeeded') {
      terminal.err(json ? '' : jobText(job));
      if (json) terminal.out(`${JSON.stringify(job)}\n`);
      return exitCodeOfJob(job);
    }
    if (values.output !== undefined) await writeOutput(values.output, write(job));
    if (json) terminal.out(`${JSON.stringify(job)}\n`);
    else if (values.output === undefined) terminal.out(terminal.outIsTty ? plain(write(job)) : write(job));
    return exitCodeOfJob(job);
  },
});

function formatOf(format: string | undefined, output: string | undefined): (job: Job) => string {
  const name =
    format ??
    extname(output ?? '')
      .slice(1)
      .replace('txt', 'text');
  if (format === undefined && !FORMATS[name]) return FORMATS.text;
  if (!FORMATS[name])
    throw usageError(`--format is ${JSON.stringify(name)}, wanted ${Object.keys(FORMATS).join(', ')}`);
  return FORMATS[name];
}

function inputOf(values: Values<typeof SPEECH_OPTIONS>): Omit<SpeechToTextInput, 'audio'> {
  const { language, translate, prompt, temperature, words, fast } = values;
  return {
    language,
    prompt,
    temperature: numberOf('temperature', temperature),
    ...(translate && { task: 'translate' }),
    ...(words && { timestamps: 'word' }),
    ...(fast && { mode: 'fast' }),
  };
}
