/** Where the audio of a speech job is: at a URL, in the request as a data: URI, or in an uploaded file. */
import {
  type AudioSource,
  type FieldProblem,
  isFileId,
  type JobId,
  LehrError,
  type ObjectKey,
  type TenantId,
  toObjectKey,
} from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import { decodeDataUri, type InlineAudio, isDataUri, referenceIn } from '../bodies/inline-audio.ts';
import { refusal } from '../field-problems.ts';
import { type Files, fileKey, storableType } from '../files/files.ts';

export interface AudioParts {
  readonly files: Files;
  readonly webhooks: { readonly egress: Pick<Egress, 'check'> };
  /** Links that start with it lead to this API. */
  readonly publicUrl: string;
  /** The largest audio file. */
  readonly maxUploadBytes: number;
  /** Audio that was taken out of the request's body, by the numbers of its references. */
  readonly inlineAudio?: readonly InlineAudio[] | undefined;
}

export interface LocatedAudio {
  readonly source: AudioSource;
  /** Audio sent inside the request, to be stored before the job is. */
  readonly attached?: Attachment;
  /** Undefined for a URL, which only the worker fetches. */
  readonly bytes?: number;
}

export interface Attachment {
  readonly key: ObjectKey;
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** `name` distinguishes the audio files of one job. Throws `invalid-input` and `too-large` with the pointer `/input/audio`. */
export async function locateAudio(
  parts: AudioParts,
  tenant: TenantId,
  job: JobId,
  name: string,
  audio: string,
): Promise<LocatedAudio> {
  if (isDataUri(audio)) return inline(parts, tenant, job, name, audio);
  const id = fileIdOf(audio, parts.publicUrl);
  if (id !== undefined) {
    const file = await parts.files.find(tenant, id).catch((error) => {
      throw error instanceof LehrError && error.code === 'not-found'
        ? invalid('does not name a file of yours; it may have been deleted')
        : error;
    });
    return { source: { kind: 'object', key: fileKey(tenant, file.id) }, bytes: file.bytes };
  }
  if (!/^https?:\/\//i.test(audio)) {
    throw invalid('must be an http(s) URL, a data: URI, or the id or link of an uploaded file');
  }
  try {
    parts.webhooks.egress.check(audio);
  } catch (error) {
    throw error instanceof EgressError ? invalid('is a URL that Lehr does not connect to') : error;
  }
  return { source: { kind: 'url', url: audio } };
}

function inline(
  { maxUploadBytes, inlineAudio = [] }: AudioParts,
  tenant: TenantId,
  job: JobId,
  name: string,
  uri: string,
): LocatedAudio {
  const reference = referenceIn(uri);
  const audio = reference === undefined ? decodeDataUri(uri) : inlineAudio[reference];
  if (!audio) throw invalid('must be a data: URI in base64, such as data:audio/wav;base64,...');
  const { bytes } = audio;
  if (bytes.byteLength === 0) throw invalid('is empty');
  if (bytes.byteLength > maxUploadBytes) {
    throw new LehrError('too-large', `The audio may have at most ${maxUploadBytes} bytes.`, {
      problems: [problem(`may have at most ${maxUploadBytes} bytes`)],
    });
  }
  const key = toObjectKey(`in/${tenant}/${job}/${name}`);
  const contentType = storableType(audio.contentType);
  return { source: { kind: 'object', key }, attached: { key, bytes, contentType }, bytes: bytes.byteLength };
}

/** The file id, given bare or in a link to this API. */
function fileIdOf(audio: string, publicUrl: string): string | undefined {
  if (isFileId(audio)) return audio;
  const base = `${publicUrl.replace(/\/+$/, '')}/v1/files/`;
  return audio.startsWith(base) ? audio.slice(base.length) : undefined;
}

const problem = (detail: string): FieldProblem => ({ pointer: '/input/audio', detail });
const invalid = (detail: string): LehrError => refusal('invalid-input', [problem(detail)]);
