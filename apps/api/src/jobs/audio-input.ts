/** Where a speech job's audio is, as its caller named it: an address, the bytes themselves, or a file uploaded before. */
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
import { refusal } from '../field-problems.ts';
import { type Files, fileKey, storableType } from '../files/files.ts';

export interface AudioParts {
  readonly files: Files;
  readonly webhooks: { readonly egress: Pick<Egress, 'check'> };
  /** Links that begin with it are our own. */
  readonly publicUrl: string;
  /** Of one file. */
  readonly maxUploadBytes: number;
}

export interface NamedAudio {
  readonly source: AudioSource;
  /** Bytes that came with the request: stored when the job is made. */
  readonly attached?: Attachment;
  /** Undefined for an address: nobody has looked yet. */
  readonly bytes?: number;
}

export interface Attachment {
  readonly key: ObjectKey;
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Media type, parameters, and whether it is base64. */
const DATA_URI =
  /^data:(?<type>[\w.+-]+\/[\w.+-]+)?(?<parameters>(?:;[\w.+-]+=[^;,]*)*)(?<base64>;base64)?,/i;

/**
 * `name` tells apart the audio files of one job. Throws `invalid-input` and `too-large` with the pointer `/input/audio`.
 */
export async function nameAudio(
  parts: AudioParts,
  tenant: TenantId,
  job: JobId,
  name: string,
  audio: string,
): Promise<NamedAudio> {
  if (/^data:/i.test(audio)) return inline(parts, tenant, job, name, audio);
  const id = fileIdOf(audio, parts.publicUrl);
  if (id !== undefined) {
    const file = await parts.files.find(tenant, id).catch((error) => {
      throw error instanceof LehrError && error.code === 'not-found'
        ? wrong('is no file of yours, or no longer')
        : error;
    });
    return { source: { kind: 'object', key: fileKey(tenant, file.id) }, bytes: file.bytes };
  }
  if (!/^https?:\/\//i.test(audio)) {
    throw wrong('must be an http(s) URL, a data: URI, or the link of a file uploaded before');
  }
  try {
    parts.webhooks.egress.check(audio);
  } catch (error) {
    throw error instanceof EgressError ? wrong('leads to an address that Lehr does not connect to') : error;
  }
  return { source: { kind: 'url', url: audio } };
}

function inline(
  { maxUploadBytes }: AudioParts,
  tenant: TenantId,
  job: JobId,
  name: string,
  uri: string,
): NamedAudio {
  const match = DATA_URI.exec(uri);
  if (!match) throw wrong('is not a data: URI');
  const text = percentDecoded(uri.slice(match[0].length));
  const bytes = Buffer.from(text, match.groups?.base64 ? 'base64' : 'latin1');
  if (bytes.byteLength === 0) throw wrong('is empty');
  if (bytes.byteLength > maxUploadBytes) {
    throw new LehrError('too-large', `The audio may have at most ${maxUploadBytes} bytes.`, {
      problems: [problem(`may have at most ${maxUploadBytes} bytes`)],
    });
  }
  const key = toObjectKey(`in/${tenant}/${job}/${name}`);
  const contentType = storableType(match.groups?.type ?? '');
  return { source: { kind: 'object', key }, attached: { key, bytes, contentType }, bytes: bytes.byteLength };
}

/** Each character of it is a byte: what they are together is no text. */
const percentDecoded = (text: string): string =>
  text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** The id in a link of ours, or the bare id. */
function fileIdOf(audio: string, publicUrl: string): string | undefined {
  if (isFileId(audio)) return audio;
  const base = `${publicUrl.replace(/\/+$/, '')}/v1/files/`;
  return audio.startsWith(base) ? audio.slice(base.length) : undefined;
}

const problem = (detail: string): FieldProblem => ({ pointer: '/input/audio', detail });
const wrong = (detail: string): LehrError => refusal('invalid-input', [problem(detail)]);
