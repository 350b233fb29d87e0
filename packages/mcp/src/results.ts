/** What tools answer: the state of a job, its pictures as content and as links, and errors that say what to do. */
import { type Image, type Job, type JobOutputs, type Lehr, LehrError } from '@lehr/client';
import type { CallToolResult } from '@modelcontextprotocol/server';

type Content = CallToolResult['content'];

/** Of a picture that is shown and not only linked: a larger one would fill the context of a model. */
const MAX_SHOWN_BYTES = 1_000_000;
const MAX_SHOWN = 4;

export const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** The error of a call or of its job, as a result: the protocol's own errors do not reach the model. `again` is what may be tried. */
export function errorResult(error: unknown, again = 'The same call'): CallToolResult {
  if (!(error instanceof LehrError)) throw error;
  const { code, message, problems, retryable, retryAfterMs, jobId } = error;
  const lines = [
    `${code}: ${message}`,
    ...problems.map(({ pointer, detail }) => `${pointer.replace(/^\/(?:input\/)?/, '')} ${detail}`),
    retryable ? `${again} may succeed${afterOf(retryAfterMs)}.` : `${again} will fail again.`,
    ...(jobId === undefined ? [] : [`Job: ${jobId}`]),
  ];
  return { ...textResult(lines.join('\n')), isError: true };
}

const afterOf = (ms: number | undefined): string =>
  ms === undefined ? ' later' : ` after ${Math.ceil(ms / 1000)} s`;

/** A job as it is now; with its results when it has succeeded, as an error when it has ended in another way. */
export async function jobResult(job: Job, lehr: Lehr, signal: AbortSignal): Promise<CallToolResult> {
  const structuredContent = { job: job.id, status: job.status };
  if (job.status === 'succeeded') {
    const output = await lehr.outputs(job, { signal });
    return { content: await contentOf(job, output, lehr, signal), structuredContent };
  }
  if (job.finished_at === null)
    return {
      ...textResult(`${job.id} is ${stateOf(job)}. Call \`status\` with this id for its result.`),
      structuredContent,
    };
  const {
    code,
    detail,
    retryable = true,
  } = job.error ?? { code: job.status, detail: 'It was not run to its end.' };
  return {
    ...errorResult(
      new LehrError(code as LehrError['code'], detail, { retryable, jobId: job.id }),
      'Another job of this kind',
    ),
    structuredContent,
  };
}

function stateOf({ status, progress, queue, waits_for, run_at }: Job): string {
  if (status === 'scheduled') return `scheduled for ${run_at}`;
  if (status === 'running') return `running, ${Math.floor((progress?.fraction ?? 0) * 100)} % done`;
  if (waits_for === 'tenant' || waits_for === 'model')
    return `queued: an operator has paused its ${waits_for}`;
  if (waits_for === 'concurrency') return 'queued behind other jobs of its concurrency key';
  if (!queue) return 'queued';
  const eta = queue.eta_ms === null ? '' : `, done in about ${Math.ceil(queue.eta_ms / 1000)} s`;
  return `queued at position ${queue.position}${eta}`;
}

async function contentOf(job: Job, output: JobOutputs, lehr: Lehr, signal: AbortSignal): Promise<Content> {
  const { images = [], ...others } = output;
  const content: Content = [];
  for (const [i, image] of images.entries()) {
    if (i < MAX_SHOWN && image.bytes <= MAX_SHOWN_BYTES) content.push(...(await shown(image, lehr, signal)));
    content.push({
      type: 'resource_link',
      uri: image.url,
      name: `${job.id}-${i}`,
      mimeType: image.content_type,
      description: `${image.width}x${image.height}${image.seed === undefined ? '' : `, seed ${image.seed}`}; until ${image.expires_at}`,
      size: image.bytes,
    });
  }
  content.push({ type: 'text', text: [`${job.id} succeeded.`, ...textsOf(others)].join('\n') });
  return content;
}

/** Nothing when the picture cannot be read here, such as from a store in another network: its link remains. */
async function shown(image: Image, lehr: Lehr, signal: AbortSignal): Promise<Content> {
  try {
    const data = Buffer.from(await lehr.download(image, { signal })).toString('base64');
    return [{ type: 'image', data, mimeType: image.content_type }];
  } catch (error) {
    if (error instanceof LehrError) return [];
    throw error;
  }
}

/** A transcript as its text; everything else as JSON. */
function textsOf({ text, segments: _, words: __, ...others }: Omit<JobOutputs, 'images'>): string[] {
  const rest = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
  return [
    ...(text === undefined ? [] : [text]),
    ...(Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)]),
  ];
}
