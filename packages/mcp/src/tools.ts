/** The tools that agents call. Each is a job, or asks about one; the rules are those of the API, which checks every field. */
import { type JobRequest, LehrError } from '@lehr/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { jobResult, textResult } from './results.ts';
import { type Call, waitForJob } from './wait.ts';

interface Tool<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly isReadOnly: boolean;
  run(given: z.output<Input>, call: Call): Promise<CallToolResult>;
}

/** Gives `run` the type of the tool's own input. */
const tool = <Input extends z.ZodObject>(definition: Tool<Input>): Tool<z.ZodObject> =>
  definition as unknown as Tool<z.ZodObject>;

const model = z
  .string()
  .optional()
  .describe('Name of a model, as `models` lists them. Default: the usual one.');
const job = z.string().describe('The id of a job, such as job_01jd3v9s6w0000000000000000.');
const media =
  'an http(s) URL, a data URI, or the id of an uploaded file; over standard input also a path below --files';

const drawing = {
  prompt: z.string().describe('What the picture shows.'),
  negative_prompt: z.string().optional().describe('What it should not show.'),
  model,
  width: z.number().optional().describe('Pixels. Default: that of the model.'),
  height: z.number().optional(),
  steps: z.number().optional().describe('Denoising steps: more are slower and finer.'),
  guidance: z.number().optional().describe('How strictly the prompt is followed.'),
  seed: z.number().optional().describe('The same seed draws the same picture.'),
  n: z.number().optional().describe('How many pictures.'),
  adapters: z
    .array(z.strictObject({ name: z.string(), scale: z.number().optional() }))
    .optional()
    .describe('Adapters (LoRA) of the model, as `models` lists them, each with how strongly it acts.'),
};

/** Makes the job, and answers with its result, or with its id when it takes long. */
async function submitAndWait(request: JobRequest, call: Call): Promise<CallToolResult> {
  const { lehr, signal } = call;
  const made = await lehr.submit(request, { signal });
  return jobResult(await waitForJob(made, call), lehr, signal);
}

/** A picture of a job: of several the one with this number, from 0. */
const PICTURE_OF_JOB = /^(job_\w+)(?:\/(\d+))?$/;

/** What a request can hold. A picture of a job becomes an uploaded file: workers do not fetch links of a private network. */
async function referenceOf(source: string, { lehr, files, signal }: Call): Promise<string> {
  const [, id, index = '0'] = PICTURE_OF_JOB.exec(source) ?? [];
  if (id === undefined) return files.reference(source, signal);
  const { output, status } = await lehr.get(id, { signal });
  const picture = output?.images?.[Number(index)];
  if (!picture)
    throw new LehrError('invalid-input', `${source} names no picture: the job is ${status}.`, { jobId: id });
  const bytes = new Uint8Array(await lehr.download(picture, { signal }));
  return (await lehr.upload(bytes, { name: source, signal })).id;
}

const LONG = 'Returns the id of its job when it takes longer than 45 seconds; then call `status`.';

export const TOOLS: readonly Tool<z.ZodObject>[] = [
  tool({
    name: 'draw',
    title: 'Draw a picture',
    description: `Draws pictures from a prompt. ${LONG}`,
    input: z.strictObject(drawing),
    isReadOnly: false,
    run: ({ model, ...input }, call) => submitAndWait({ type: 'text-to-image', model, input }, call),
  }),
  tool({
    name: 'edit',
    title: 'Edit a picture',
    description: `Draws a picture anew from a prompt, or only the white part of a mask. ${LONG}`,
    input: z.strictObject({
      ...drawing,
      image: z
        .string()
        .describe(
          `The picture: ${media}; or the id of a job, for its first picture, or \`job_.../1\` for its second.`,
        ),
      mask: z.string().optional().describe('A picture of the same size: white is drawn anew. As `image`.'),
      strength: z.number().optional().describe('From 0 (unchanged) to 1 (all new).'),
    }),
    isReadOnly: false,
    run: async ({ model, image, mask, ...others }, call) => {
      const marked = mask === undefined ? {} : { mask: await referenceOf(mask, call) };
      const input = { ...others, image: await referenceOf(image, call), ...marked };
      return submitAndWait({ type: 'text-to-image', model, input }, call);
    },
  }),
  tool({
    name: 'transcribe',
    title: 'Transcribe a recording',
    description: `Writes down what is said in a recording, or translates it into English. ${LONG}`,
    input: z.strictObject({
      audio: z.string().describe(`The recording: ${media}.`),
      language: z.string().optional().describe('ISO 639-1. Default: detected.'),
      task: z.enum(['transcribe', 'translate']).optional(),
      prompt: z.string().optional().describe('Names and spellings that occur in it.'),
      model,
    }),
    isReadOnly: false,
    run: async ({ model, audio, ...others }, call) => {
      const input = { ...others, audio: await referenceOf(audio, call) };
      return submitAndWait({ type: 'speech-to-text', model, input }, call);
    },
  }),
  tool({
    name: 'embed',
    title: 'Embed texts',
    description: `Turns texts into vectors, in the order of the texts. ${LONG}`,
    input: z.strictObject({ texts: z.array(z.string()).min(1).max(32), model }),
    isReadOnly: false,
    run: ({ model, texts }, call) => submitAndWait({ type: 'text-embedding', model, input: { texts } }, call),
  }),
  tool({
    name: 'submit',
    title: 'Submit a job',
    description:
      'Makes a job of any kind and returns its id at once; for long jobs, many jobs, and fields that the other tools do not have. The request is ' +
      'the body of POST /v1/jobs, such as {"type": "text-to-image", "input": {"prompt": "a red circle"}}.',
    input: z.strictObject({ request: z.looseObject({ type: z.string() }) }),
    isReadOnly: false,
    // The API checks it and names what is wrong.
    run: async ({ request }, { lehr, signal }) =>
      jobResult(await lehr.submit(request as unknown as JobRequest, { signal }), lehr, signal),
  }),
  tool({
    name: 'status',
    title: 'State and result of a job',
    description: 'Waits a while for a job to end, and returns its state, and its result when it has one.',
    input: z.strictObject({
      job,
      wait_s: z.number().min(0).max(50).optional().describe('How long to wait at most. Default: 20.'),
    }),
    isReadOnly: true,
    run: async ({ job, wait_s = 20 }, call) => {
      const known = await call.lehr.get(job, { signal: call.signal });
      return jobResult(await waitForJob(known, call, wait_s * 1000), call.lehr, call.signal);
    },
  }),
  tool({
    name: 'cancel',
    title: 'Cancel a job',
    description: 'Cancels a job that has not ended.',
    input: z.strictObject({ job }),
    isReadOnly: false,
    run: async ({ job }, { lehr, signal }) => {
      const { id, status } = await lehr.cancel(job, { signal });
      return textResult(`${id} is ${status}${status === 'running' ? ', and ends at its next step' : ''}.`);
    },
  }),
  tool({
    name: 'models',
    title: 'List the models',
    description: 'Lists the models, and what each is for.',
    input: z.strictObject({}),
    isReadOnly: true,
    run: async (_, { lehr, signal }) => textResult(JSON.stringify(await lehr.models({ signal }))),
  }),
];
