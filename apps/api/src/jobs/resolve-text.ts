/** Resolves a text job: its model, every field with its value, where its texts are kept, and its price. */
import {
  DEFAULT_TOP_K,
  estimateTokens,
  formatModelRef,
  groupQueueName,
  inputFolder,
  MAX_INLINE_TEXT_BYTES,
  type TextItem,
  type TextModelEntry,
  type TextsSource,
  textCostMs,
  toObjectKey,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import type { Attachment } from './media-input.ts';
import type { ResolvedModel } from './resolve-model.ts';
import type { TextRequest } from './text-request.ts';
import type { ResolveContext, ResolvedWork } from './work.ts';

/** Throws `invalid-input` with pointers into the request. */
export function resolveText(
  { tenant, job, name, fleet }: ResolveContext,
  request: TextRequest,
  { model, ref, share }: ResolvedModel<TextModelEntry>,
): ResolvedWork {
  checkCount(request.input.texts, model);
  const queue = groupQueueName({ task: 'text', model: ref });
  const attached = attachmentOf(request.input.texts, `${inputFolder(tenant, job)}${name}`);
  const texts: TextsSource = attached
    ? { kind: 'object', key: attached.key, count: request.input.texts.length }
    : request.input.texts;
  const tokens = estimateTokens(request.input.texts);
  return {
    type: request.type,
    model: formatModelRef(ref),
    queue,
    cost: textCostMs(tokens, fleetIndex(fleet).speed(queue)),
    input: { texts, truncate: request.input.truncate ?? false, ...optionsOf(request) },
    rollout: share?.(textCostMs(tokens, undefined)),
    attached,
  };
}

function checkCount(texts: readonly TextItem[], { name, limits: { max_texts } }: TextModelEntry): void {
  if (texts.length <= max_texts) return;
  const detail = `has ${texts.length} texts, and ${name} takes at most ${max_texts} in one job`;
  throw refusal('invalid-input', [{ pointer: '/input/texts', detail }]);
}

/** Many texts are stored as an object, because Redis holds the records in memory. */
function attachmentOf(texts: readonly TextItem[], key: string): Attachment | undefined {
  const bytes = Buffer.from(JSON.stringify(texts));
  if (bytes.byteLength <= MAX_INLINE_TEXT_BYTES) return undefined;
  return { key: toObjectKey(`${key}.json`), bytes, contentType: 'application/json' };
}

/** What is null follows the files of the model, which the worker has. */
function optionsOf(request: TextRequest): Record<string, unknown> {
  switch (request.type) {
    case 'text-embedding': {
      const { normalize, dimensions } = request.input;
      return { normalize: normalize ?? null, dimensions: dimensions ?? null };
    }
    case 'text-classification': {
      const { top_k, function: scores } = request.input;
      return { top_k: top_k ?? null, function: scores ?? null };
    }
    case 'fill-mask':
      return { top_k: request.input.top_k ?? DEFAULT_TOP_K };
    case 'token-classification': {
      const { aggregation, ignore_labels } = request.input;
      return { aggregation: aggregation ?? 'simple', ignore_labels: ignore_labels ?? ['O'] };
    }
  }
}
