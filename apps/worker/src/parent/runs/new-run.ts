/** Makes the run of a claimed job, by the type of the job. */
import {
  type GuidanceKind,
  isTextJobType,
  LehrError,
  type ModelEntry,
  PictureTransformInputSchema,
  SpeechToTextInputSchema,
  TEXT_INPUTS,
  TextToImageInputSchema,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import type { z } from 'zod';
import type { OpenedModel } from '../../engine/protocol/messages.ts';
import type { AudioProcessor } from '../audio/audio-processor.ts';
import type { ChargeAudio } from './charge.ts';
import type { JobRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import { type PictureParts, PictureRun } from './picture-run.ts';
import { openSafety } from './safety.ts';
import type { ModelEntries } from './served-models.ts';
import { SpeechRun } from './speech-run.ts';
import { type CostOfRows, checkType, type FetchTexts, type TextInput, TextRun } from './text-run.ts';
import type { TextPart } from './transcript-builder.ts';
import { TransformRun } from './transform-run.ts';

export interface RunParts extends Omit<PictureParts, 'guidance' | 'companions' | 'safety'> {
  readonly audio: AudioProcessor;
  readonly fetchMedia: FetchMedia;
  readonly fetchTexts: FetchTexts;
  readonly chargeAudio: ChargeAudio;
  readonly costOf: CostOfRows;
  readonly entries: Pick<ModelEntries, 'find' | 'companions' | 'checker'>;
  /** The models that this worker has open. */
  readonly models: readonly OpenedModel[];
  /** Called for each part of a job's text that is final. */
  readonly onText: (run: JobRun, part: TextPart) => void;
}

/**
 * Throws LehrError `invalid-input` when the input does not fit the schema: a newer API may have written it, or it may be the input
 * of a workflow's node, which holds another node's output.
 */
export function newRun(claim: Claim, record: JobRecord, claimedAt: number, parts: RunParts): JobRun {
  if (record.type === 'text-to-image') {
    const input = inputOf(record, TextToImageInputSchema);
    const { entries, models } = parts;
    const entry = entries.find(record.model);
    const safety = input.safety && openSafety(input.safety, entry, entries.checker(record.model), models);
    return new PictureRun(claim, record, claimedAt, input, {
      ...parts,
      guidance: guidanceOf(entry),
      companions: entries.companions(record.model),
      safety,
    });
  }
  if (record.type === 'speech-to-text') {
    const input = inputOf(record, SpeechToTextInputSchema);
    const whisper = parts.models.find(({ ref }) => ref === record.model)?.whisper;
    const entry = parts.entries.find(record.model);
    if (!whisper || entry?.task !== 'whisper') throw notOpen(record.model);
    return new SpeechRun(claim, record, claimedAt, input, {
      ...parts,
      abilities: whisper,
      maxAudioS: entry.limits.max_audio_s,
    });
  }
  if (isTextJobType(record.type)) {
    const { type } = record;
    const input = { type, ...inputOf(record, TEXT_INPUTS[type]) } as TextInput;
    const abilities = parts.models.find(({ ref }) => ref === record.model)?.text;
    if (!abilities) throw notOpen(record.model);
    checkType(type, abilities.types, record.model);
    return new TextRun(claim, record, claimedAt, input, { ...parts, abilities });
  }
  if (record.type === 'picture-transform') {
    const input = inputOf(record, PictureTransformInputSchema);
    const abilities = parts.models.find(({ ref }) => ref === record.model)?.transform;
    const entry = parts.entries.find(record.model);
    if (!abilities || entry?.task !== 'transform') throw notOpen(record.model);
    return new TransformRun(claim, record, claimedAt, input, { ...parts, abilities, entry });
  }
  throw new LehrError('invalid-input', `No worker runs jobs of type ${record.type}.`);
}

const notOpen = (ref: string): LehrError =>
  new LehrError('model-unavailable', `This worker does not have ${ref} open.`);

function inputOf<Schema extends z.ZodType>(record: JobRecord, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(record.input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new LehrError('invalid-input', `input.${issue.path.join('.')}: ${issue.message}`, {
    problems: [{ pointer: `/input/${issue.path.join('/')}`, detail: issue.message }],
    cause: parsed.error,
  });
}

const guidanceOf = (entry: ModelEntry | undefined): GuidanceKind =>
  entry?.task === 'diffusion' ? entry.guidance : 'rows';
