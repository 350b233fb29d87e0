import { extname } from 'node:path';
import type { Job, SpeechToTextInput } from '@lehr/client';
import { defineCommand, numberOf, type Options, type Values } from '../command.ts';
import { exitCodeOfJob, usageError } from '../exit-codes.ts';
import { jobText } from '../job-text.ts';
import { mediaOf } from '../media.ts';
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
  language: {
    type: 'string',
    short: 'l',
    value: 'CODE',
    help: 'Spoken language, such as en. Default: detected.',
  },
  translate: { type: 'boolean', help: 'Translate into English.' },
  prompt: { type: 'string', value: 'TEXT', help: 'Text before the recording: names, spelling, style.' },
  temperature: { type: 'string', value: 'N', help: '0 to 1; 0 is greedy decoding.' },
  words: { type: 'boolean', help: 'Add the time of each word, in --format json.' },
  fast: { type: 'boolean', help: 'Cut a long recording at silences and decode its windows together.' },
} as const satisfies Options;

export const transcribe = defineCommand({
  name: 'transcribe',
  operands: 'FILE|URL',
  count: [1, 1],
  summary: 'Transcribe a recording.',
  notes: ['Standard output is the text alone; with --json it is the whole job.'],
  options: {
    ...SPEECH_OPTIONS,
    ...REQUEST_OPTIONS,
    format: {
      type: 'string',
      value: 'NAME',
      help: 'text, srt, vtt or json. Default: by the extension of --output, else text.',
    },
    output: { type: 'string', short: 'o', value: 'PATH', help: 'Write to this file.' },
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
    const input = { ...options, audio: await mediaOf(source, lehr, terminal.signal) };
    const job = await submitJob(lehr, { type: 'speech-to-text', input, ...requestFields(values) }, call, {
      wait: true,
    });
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
    throw usageError(`--format is ${JSON.stringify(name)}, expected ${Object.keys(FORMATS).join(', ')}`);
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
