/** The nodes of a workflow, its progress and its input, as the API shows them. */
import type { Job, NodeState, Progress } from '@lehr/shared';
import {
  isTerminal,
  type JobOutline,
  type JobRecord,
  toJobError,
  WorkflowInputSchema,
  type WorkflowState,
} from '@lehr/shared/records';
import type { OutputPresenter } from './present-output.ts';

/** `records` are in the order of the nodes of the workflow `job`; undefined for a node that has no job yet. */
export function presentNodes(
  job: JobRecord,
  workflow: WorkflowState,
  records: readonly (JobOutline | undefined)[],
  outputs: OutputPresenter,
): Promise<NodeState[]> {
  return Promise.all(
    workflow.nodes.map(async ({ id, type, model }, i) => {
      const record = startedBeforeEnd(job, records[i]);
      return {
        id,
        type,
        model,
        job: record?.id ?? null,
        status: record ? statusIn(job, record) : 'waiting',
        progress: record?.state === 'running' && !isTerminal(job.state) ? (record.progress ?? null) : null,
        output: record?.state === 'succeeded' ? await outputs.outputs(record.output, true) : null,
        error: record?.state === 'failed' ? toJobError(record.error) : null,
        metrics: record?.state === 'succeeded' ? record.metrics : null,
      };
    }),
  );
}

/** A node that started while its workflow ended is stopped again; what is shown of an ended workflow does not change. */
const startedBeforeEnd = (job: JobRecord, node: JobOutline | undefined): JobOutline | undefined =>
  node && 'finished_at' in job && node.created_at > job.finished_at ? undefined : node;

/** A node that has not ended before its workflow ends as canceled, though its worker may have yet to stop it. */
const statusIn = (job: JobRecord, node: JobOutline): JobRecord['state'] =>
  isTerminal(job.state) && !isTerminal(node.state) ? 'canceled' : node.state;

/** Counts nodes as steps. */
export function progressOf(nodes: readonly NodeState[]): Progress {
  const ended = nodes.filter(({ status }) => status !== 'waiting' && isTerminal(status)).length;
  const finished = nodes.reduce((sum, { status, progress }) => {
    return sum + (status === 'succeeded' ? 1 : (progress?.fraction ?? 0));
  }, 0);
  const fraction = Math.round((finished / nodes.length) * 1000) / 1000;
  return { fraction, stage: 'nodes', step: ended, steps: nodes.length };
}

/**
 * The input as posted, but audio and pictures sent inside the request are shown as `data:` alone, and stored texts as their number. `url`
 * makes links to uploaded files.
 */
export function presentInput(
  { type, input }: Pick<JobRecord, 'type' | 'input'>,
  url: (path: string) => string,
): Job['input'] {
  return presentFields(type === 'speech-to-image' ? spokenPicture(input) : input, url);
}

/** Its nodes are made by Lehr: the caller sees the fields of both. */
function spokenPicture(input: Job['input']): Job['input'] {
  const { nodes, ...posted } = WorkflowInputSchema.parse(input);
  const [listen, draw] = nodes.map((node) => node.input);
  const { prompt: _, ...picture } = draw;
  return { ...posted, ...picture, audio: listen.audio };
}

function presentFields(input: Job['input'], url: (path: string) => string): Job['input'] {
  const { audio, image, mask, control, nodes, texts } = input;
  return {
    ...input,
    ...(isSource(audio) && { audio: presentMedia(audio, url) }),
    ...(isSource(image) && { image: presentMedia(image, url) }),
    ...(isSource(mask) && { mask: presentMedia(mask, url) }),
    ...(Array.isArray(control) && {
      control: control.map((each) => ({ ...each, image: presentMedia(each.image, url) })),
    }),
    ...(isStoredTexts(texts) && { texts: { count: texts.count } }),
    ...(Array.isArray(nodes) && {
      nodes: nodes.map((node) => ({ ...node, input: presentFields(node.input, url) })),
    }),
  };
}

interface Source {
  readonly kind: 'object' | 'url' | 'node';
  readonly key?: string;
  readonly url?: string;
  readonly node?: string;
  readonly field?: string;
}

const isSource = (value: unknown): value is Source =>
  typeof value === 'object' && value !== null && 'kind' in value;

const isStoredTexts = (texts: unknown): texts is { readonly count: number } =>
  isSource(texts) && 'count' in texts;

function presentMedia(
  { kind, key = '', url: address = '', node, field = 'image' }: Source,
  url: (path: string) => string,
): string {
  if (kind === 'url') return address;
  if (kind === 'node') return `{{${node}.${field}}}`;
  const name = key.split('/').at(-1) ?? '';
  return name.startsWith('file_') ? url(`/v1/files/${name}`) : 'data:';
}
