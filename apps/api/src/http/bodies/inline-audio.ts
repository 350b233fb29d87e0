/**
 * Audio inside a request, as a base64 data: URI. In a large body the thread that parses it (large-body-thread.ts) takes the audio
 * out and leaves a reference, so that no later step validates, hashes or copies megabytes of text.
 */
import { hash } from 'node:crypto';

export interface InlineAudio {
  /** Media type as the caller names it; may be empty. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** Everything before the comma; a longer one is no media type. */
const MAX_HEAD_LENGTH = 1024;
const REFERENCE = /^data:;reference=(\d{1,3});sha256=[\w-]{43},$/;

export const isDataUri = (text: string): boolean => /^data:/i.test(text.slice(0, 5));

/** The audio of a data: URI; undefined for one that is not base64 or has no comma where its head must end. */
export function decodeDataUri(uri: string): InlineAudio | undefined {
  const comma = uri.slice(0, MAX_HEAD_LENGTH).indexOf(',');
  const [contentType = '', ...parameters] = uri.slice('data:'.length, Math.max(comma, 0)).split(';');
  if (comma < 0 || parameters.at(-1)?.toLowerCase() !== 'base64') return undefined;
  return { contentType, bytes: Buffer.from(withoutEscapes(uri.slice(comma + 1)), 'base64') };
}

/** Clients that build the URI with encodeURIComponent escape the three characters of base64 that URIs reserve. */
const withoutEscapes = (base64: string): string =>
  base64.includes('%') ? base64.replace(/%2b/gi, '+').replace(/%2f/gi, '/').replace(/%3d/gi, '=') : base64;

/** The text that replaces audio number `index` in the body; it names the content, so that two bodies differ when their audio does. */
export const referenceTo = (index: number, bytes: Uint8Array): string =>
  `data:;reference=${index};sha256=${hash('sha256', bytes, 'base64url')},`;

/** How a PNG, a JPEG and a WebP begin; a WebP has its length between the two words. */
const PICTURE_BYTES = /^(?:\x89PNG\r\n|\xff\xd8\xff|RIFF[\s\S]{4}WEBP)/;

/** A picture in base64 without a `data:` URI around it, as clients of the Stable Diffusion web UI send it. */
export const isBarePicture = (text: string): boolean =>
  PICTURE_BYTES.test(Buffer.from(text.slice(0, 16), 'base64').toString('latin1')) &&
  /^[A-Za-z0-9+/]+={0,2}$/.test(text);

/** The number of the audio that a reference stands for. */
export function referenceIn(text: string): number | undefined {
  const index = text.length < MAX_HEAD_LENGTH ? REFERENCE.exec(text)?.[1] : undefined;
  return index === undefined ? undefined : Number(index);
}
