/** The check of drawn pictures: each goes through a classifier, as one more sample of the engine, before it is encoded. */
import { randomUUID } from 'node:crypto';
import { LehrError, type ModelEntry, type SafetyMode, type SafetyVerdict } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type {
  OpenedModel,
  SampleId,
  TransformedMessage,
  TransformSample,
} from '../../engine/protocol/messages.ts';
import type { Pixels } from './edit-work.ts';
import type { SampleRun } from './job-run.ts';
import { type PixelSize, stretched } from './picture-input.ts';

export interface Safety {
  readonly mode: Exclude<SafetyMode, 'off'>;
  /** `name@version` of the classifier. */
  readonly model: string;
  readonly labels: readonly string[];
  readonly threshold: number;
}

export type SafetyOutcome = 'safe' | 'marked' | 'blurred' | 'refused';

/** A picture in the engine, on its way through the classifier. */
export interface SafetyCheck extends SampleRun {
  readonly request: TransformSample;
}

/** `checker`: of the model's safety in models.yaml. Throws LehrError `model-unavailable` where this worker cannot check as the job wants. */
export function openSafety(
  mode: Safety['mode'],
  entry: ModelEntry | undefined,
  checker: string | undefined,
  opened: readonly OpenedModel[],
): Safety {
  const rule = entry?.task === 'diffusion' ? entry.safety : undefined;
  const model = opened.find(({ ref }) => ref === checker);
  if (!rule || checker === undefined || !model) {
    throw new LehrError('model-unavailable', 'This worker has no model open that checks the pictures.');
  }
  const problem = labelProblem(rule.labels, model.transform?.labels);
  if (problem !== undefined) throw new LehrError('model-unavailable', `${checker} ${problem}`);
  return { mode, model: checker, labels: rule.labels, threshold: rule.threshold };
}

/** Why a classifier cannot find pictures with these labels; undefined when it can. */
export function labelProblem(wanted: readonly string[], known: readonly string[] = []): string | undefined {
  const missing = wanted.filter((label) => !known.includes(label));
  if (missing.length === 0) return undefined;
  const has = known.slice(0, 10).join(', ') || 'none';
  return `does not know the label ${missing.join(', ')} of safety.labels; its labels: ${has}.`;
}

/** Larger pictures are made smaller before they are checked: a classifier sees some hundred pixels of a side. */
const MOST_SIDE = 2048;
/** Labels that a classifier answers with: the unsafe ones may be the least likely. */
const ALL_LABELS = 100_000;

export async function newCheck(record: JobRecord, safety: Safety, picture: Pixels): Promise<SafetyCheck> {
  const size = within(picture, MOST_SIDE);
  const pixels = size === picture ? picture.data : await stretched(picture.data, picture, size, 3);
  return {
    request: {
      id: `${record.id}.${randomUUID()}` as SampleId,
      task: 'transform',
      model: safety.model,
      lane: `transform.${safety.model}`,
      priority: record.priority,
      maxBatchMates: Number.MAX_SAFE_INTEGER,
      pixels,
      width: size.width,
      height: size.height,
      topK: ALL_LABELS,
    },
    rows: 1,
    submittedAt: 0,
    step: 0,
    inEngine: false,
  };
}

/** Of the unsafe labels, the one with the highest score. */
export function verdictOf({ result }: TransformedMessage, { labels, threshold }: Safety): SafetyVerdict {
  if (result.kind !== 'class') throw new Error(`A check ended as a ${result.kind}. This is a bug in Lehr.`);
  const [worst] = result.labels
    .filter(({ label }) => labels.includes(label))
    .toSorted((a, b) => b.score - a.score);
  if (!worst) throw new LehrError('engine-failed', 'The check of a picture gave none of the unsafe labels.');
  return { ...worst, flagged: worst.score >= threshold };
}

/** Pixels of the longer side of what is left of a picture. */
const BLURRED_SIDE = 12;

/** So few pixels are left that nothing can be recognised, whatever the picture's size. */
export async function blurredPicture(picture: Pixels): Promise<Pixels> {
  const { data, width, height } = picture;
  const small = within(picture, BLURRED_SIDE);
  return {
    width,
    height,
    data: await stretched(await stretched(data, picture, small, 3), small, picture, 3),
  };
}

/** The size itself, or a smaller one of its shape. */
function within<Size extends PixelSize>(size: Size, side: number): Size | PixelSize {
  const scale = side / Math.max(size.width, size.height);
  if (scale >= 1) return size;
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale));
  return { width: scaled(size.width), height: scaled(size.height) };
}
