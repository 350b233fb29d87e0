/** What a workflow does next: a pure choice over the states of its nodes. */

import { ERROR_CODES } from '../../base/errors.ts';
import type { JobError } from '../../contracts/job.ts';
import { type MediaSource, NodePictureSchema } from '../../contracts/media-source.ts';
import { isTextJobType, MAX_TEXT_LENGTH } from '../../contracts/text.ts';
import { MAX_PROMPT_LENGTH } from '../../contracts/text-to-image.ts';
import {
  type JobOutline,
  type JobRecord,
  WorkflowInputSchema,
  type WorkflowState,
} from '../../records/record.ts';
import { fillReferences, PICTURE_FIELDS } from './references.ts';

type WorkflowNodeState = WorkflowState['nodes'][number];
type Input = JobRecord['input'];

export interface ReadyNode extends WorkflowNodeState {
  readonly input: Input;
}

export type NextMove =
  /** These nodes can start; their inputs are complete. May be none. */
  | { readonly kind: 'continue'; readonly start: readonly ReadyNode[] }
  | { readonly kind: 'succeed' }
  /** A node failed or expired; the nodes that still run must stop. */
  | { readonly kind: 'fail'; readonly error: JobError }
  | { readonly kind: 'cancel' };

/** `input` is that of the workflow. `records` are in the order of its nodes, undefined for a node that has not started. */
export function nextMove(
  workflow: WorkflowState,
  input: Input,
  records: readonly (JobOutline | undefined)[],
): NextMove {
  for (const [i, record] of records.entries()) {
    if (record?.state === 'failed')
      return { kind: 'fail', error: nodeFailed(workflow.nodes[i].id, record.error) };
    if (record?.state === 'canceled') return { kind: 'cancel' };
    if (record?.state === 'expired') return { kind: 'fail', error: nodeExpired(workflow.nodes[i].id) };
  }
  const outputs = new Map(workflow.nodes.map(({ id }, i) => [id, records[i]]));
  const isDone = (id: string): boolean => outputs.get(id)?.state === 'succeeded';
  if (workflow.nodes.every(({ id }) => isDone(id))) return { kind: 'succeed' };
  const ready = workflow.nodes.filter(({ after }, i) => records[i] === undefined && after.every(isDone));
  const inputs = new Map(WorkflowInputSchema.parse(input).nodes.map((node) => [node.id, node.input]));
  const start = ready.map((node) => ({
    ...node,
    input: fillPictures(
      fillReferences(
        inputs.get(node.id) ?? {},
        (id, field) => fieldOf(outputs.get(id), field),
        isTextJobType(node.type) ? MAX_TEXT_LENGTH : MAX_PROMPT_LENGTH,
      ),
      outputs,
    ),
  }));
  return { kind: 'continue', start };
}

/** Puts the first pictures of other nodes, or their latents, in place of the references to them. */
function fillPictures(input: Input, outputs: ReadonlyMap<string, JobOutline | undefined>): Input {
  const filled: Record<string, unknown> = {};
  for (const name of PICTURE_FIELDS) {
    const source = pictureOf(input[name], outputs);
    if (source) filled[name] = source;
  }
  if (Array.isArray(input.control)) {
    filled.control = input.control.map((each) => ({
      ...each,
      image: pictureOf(each.image, outputs) ?? each.image,
    }));
  }
  return { ...input, ...filled };
}

/** Undefined for what is no reference to a node that has succeeded. */
function pictureOf(
  value: unknown,
  outputs: ReadonlyMap<string, JobOutline | undefined>,
): MediaSource | undefined {
  const wanted = NodePictureSchema.safeParse(value).data;
  const record = wanted && outputs.get(wanted.node);
  if (record?.state !== 'succeeded') return undefined;
  const [{ key, latent }] = record.output.images;
  return { kind: 'object', key: wanted?.field === 'latent' ? (latent ?? '') : key };
}

/** A field of OFFERED_FIELDS as text; empty when the node has no such output. */
function fieldOf(record: JobOutline | undefined, field: string): string {
  if (record?.state !== 'succeeded') return '';
  const { transcript, labels = [] } = record.output;
  if (field === 'labels') return labels.map(({ label }) => label).join(', ');
  if (field === 'text') return transcript?.text.trim() ?? '';
  return field === 'language' ? (transcript?.language ?? '') : '';
}

function nodeFailed(node: string, error: JobError): JobError {
  const detail = `Node ${node} failed (${error.code}): ${error.detail}`;
  return { code: 'node-failed', title: ERROR_CODES['node-failed'].title, detail, retryable: error.retryable };
}

function nodeExpired(node: string): JobError {
  const { title, retryable } = ERROR_CODES['deadline-exceeded'];
  return {
    code: 'deadline-exceeded',
    title,
    detail: `The deadline passed while node ${node} was waiting or running.`,
    retryable,
  };
}
