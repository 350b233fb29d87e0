/** Where the audio or the picture of a job is: at a URL, in the request as a data: URI, or in an uploaded file. */
import {
  type FieldProblem,
  inputFolder,
  isFileId,
  type JobId,
  LehrError,
  type MediaSource,
  type ObjectKey,
  type TenantId,
  toObjectKey,
} from '@lehr/shared';
import { type Egress, EgressError, PRIVATE_HOSTS } from '@lehr/shared/egress';
import { refusal } from '../base/field-problems.ts';
import { decodeDataUri, type InlineAudio, isDataUri, referenceIn } from '../http/bodies/inline-audio.ts';
import { type Files, fileKey, storableType } from './files/files.ts';
import { HEADER_BYTES, type PictureSize, pictureSize } from './picture-header.ts';

export interface MediaParts {
  readonly files: Files;
  readonly webhooks: { readonly egress: Pick<Egress, 'check'> };
  /** Links that start with it lead to this API. */
  readonly publicUrl: string;
  /** The largest file. */
  readonly maxUploadBytes: number;
}

/** Whose file it is. */
export interface MediaContext {
  readonly tenant: TenantId;
  readonly job: JobId;
  /** Distinguishes the files of one job. */
  readonly name: string;
  /** Files that were taken out of the request's body, by the numbers of their references. */
  readonly inlineAudio?: readonly InlineAudio[] | undefined;
}

export interface LocatedMedia {
  readonly source: MediaSource;
  /** Sent inside the request, to be stored before the job is. */
  readonly attached?: Attachment;
  /** Undefined for a URL, which only the worker fetches. */
  readonly bytes?: number;
  /** Of a picture that is here already. */
  readonly size?: () => Promise<PictureSize | undefined>;
}

/** What was sent, or of a retry a copy of what was sent with the earlier job. */
export type Attachment = { readonly key: ObjectKey } & (
  | { readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly copyOf: ObjectKey; readonly size: number }
);

/** The field of the request that names the file. */
export interface MediaField {
  readonly field: 'audio' | 'image' | 'mask' | `control/${number}/image`;
  readonly value: string;
}

const nameOf = (field: MediaField['field']): string =>
  field === 'audio' || field === 'mask' ? field : 'picture';
const exampleOf = (field: MediaField['field']): string => (field === 'audio' ? 'audio/wav' : 'image/png');

/** Throws `invalid-input` and `too-large` with a pointer to the field. */
export async function locateMedia(
  parts: MediaParts,
  context: MediaContext,
  media: MediaField,
): Promise<LocatedMedia> {
  const { tenant } = context;
  const { field, value } = media;
  const invalid = (detail: string): LehrError => refusal('invalid-input', [problem(field, detail)]);
  if (isDataUri(value)) return inline(parts, context, media);
  const id = fileIdOf(value, parts.publicUrl);
  if (id !== undefined) {
    const file = await parts.files.find(tenant, id).catch((error) => {
      throw error instanceof LehrError && error.code === 'not-found'
        ? invalid('does not name a file of yours; it may have been deleted')
        : error;
    });
    return {
      source: { kind: 'object', key: fileKey(tenant, file.id) },
      bytes: file.bytes,
      size: async () => pictureSize(await parts.files.beginning(tenant, file, HEADER_BYTES)),
    };
  }
  if (!/^https?:\/\//i.test(value)) {
    throw invalid('must be an http(s) URL, a data: URI, or the id or link of an uploaded file');
  }
  try {
    parts.webhooks.egress.check(value);
  } catch (error) {
    throw error instanceof EgressError
      ? invalid(`is a URL that Lehr does not connect to; ${PRIVATE_HOSTS}`)
      : error;
  }
  return { source: { kind: 'url', url: value } };
}

function inline(
  { maxUploadBytes }: MediaParts,
  { tenant, job, name, inlineAudio = [] }: MediaContext,
  { field, value }: MediaField,
): LocatedMedia {
  const key = toObjectKey(`${inputFolder(tenant, job)}${name}`);
  const invalid = (detail: string): LehrError => refusal('invalid-input', [problem(field, detail)]);
  const reference = referenceIn(value);
  const media = reference === undefined ? decodeDataUri(value) : inlineAudio[reference];
  if (!media) throw invalid(`must be a data: URI in base64, such as data:${exampleOf(field)};base64,...`);
  const { bytes } = media;
  if (bytes.byteLength === 0) throw invalid('is empty');
  if (bytes.byteLength > maxUploadBytes) {
    throw new LehrError('too-large', `The ${nameOf(field)} may have at most ${maxUploadBytes} bytes.`, {
      problems: [problem(field, `may have at most ${maxUploadBytes} bytes`)],
    });
  }
  const contentType = storableType(media.contentType);
  return {
    source: { kind: 'object', key },
    attached: { key, bytes, contentType },
    bytes: bytes.byteLength,
    size: async () => pictureSize(bytes),
  };
}

/** The file id, given bare or in a link to this API. */
function fileIdOf(text: string, publicUrl: string): string | undefined {
  if (isFileId(text)) return text;
  const base = `${publicUrl.replace(/\/+$/, '')}/v1/files/`;
  return text.startsWith(base) ? text.slice(base.length) : undefined;
}

const problem = (field: MediaField['field'], detail: string): FieldProblem => ({
  pointer: `/input/${field}`,
  detail,
});
