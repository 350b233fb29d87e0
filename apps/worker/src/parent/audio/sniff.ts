import { LehrError } from '@lehr/shared';

/** The format of a file, by its first bytes. */
export type AudioFormat =
  | 'wav'
  | 'aiff'
  | 'flac'
  | 'mp3'
  | 'ogg'
  | 'mp4'
  | 'webm'
  | 'aac'
  | 'caf'
  | 'asf'
  | 'amr'
  | 'au';

/** The first frame of an mp3 must begin within this distance; players search no further. */
const MP3_SEARCH_BYTES = 64 * 1024;

/**
 * Finds the format by the bytes alone: names and content types may be wrong. Throws LehrError `invalid-audio` when it is unknown.
 */
export function sniffFormat(bytes: Uint8Array): AudioFormat {
  if (bytes.length === 0) throw new LehrError('invalid-audio', 'The audio file is empty (0 bytes).');
  const start = afterId3(bytes);
  const format = byMagic(bytes, start) ?? byFrames(bytes, start);
  if (format) return format;
  throw new LehrError(
    'invalid-audio',
    `The file is no audio that Lehr knows: its ${bytes.length} bytes are not wav, aiff, flac, mp3, ogg, mp4, m4a, aac or webm.`,
  );
}

function byMagic(bytes: Uint8Array, start: number): AudioFormat | undefined {
  const text = (at: number, length: number): string =>
    String.fromCharCode(...bytes.subarray(start + at, start + at + length));
  const first = text(0, 4);
  switch (first) {
    case 'RIFF':
    case 'RF64':
      return text(8, 4) === 'WAVE' ? 'wav' : undefined;
    case 'FORM':
      return text(8, 3) === 'AIF' ? 'aiff' : undefined;
    case 'fLaC':
      return 'flac';
    case 'OggS':
      return 'ogg';
    case '\x1a\x45\xdf\xa3':
      return 'webm';
    case 'caff':
      return 'caf';
    case '0&\xb2u':
      return 'asf';
    case '#!AM':
      return 'amr';
    case '.snd':
      return 'au';
  }
  // An mp4 begins with a box; these are the ones that writers put first.
  return ['ftyp', 'moov', 'mdat', 'styp', 'moof', 'wide', 'skip', 'free'].includes(text(4, 4))
    ? 'mp4'
    : undefined;
}

/** MPEG audio and ADTS have no file header, only frames. Two in a row, the second where the length of the first ends, are no accident. */
function byFrames(bytes: Uint8Array, start: number): AudioFormat | undefined {
  const end = Math.min(bytes.length - 4, start + MP3_SEARCH_BYTES);
  for (let at = start; at < end; at++) {
    if (bytes[at] !== 0xff) continue;
    // A file may be cut within its only frame, which must then be at its start.
    const isFirst = at === start;
    if (isFrame(bytes, at, isFirst, mpegFrameLength)) return 'mp3';
    if (isFrame(bytes, at, isFirst, adtsFrameLength)) return 'aac';
  }
  return undefined;
}

function isFrame(
  bytes: Uint8Array,
  at: number,
  mayStandAlone: boolean,
  frameLength: (bytes: Uint8Array, at: number) => number,
): boolean {
  const length = frameLength(bytes, at);
  if (length === 0) return false;
  const next = at + length;
  return next + 4 > bytes.length ? mayStandAlone : frameLength(bytes, next) > 0;
}

/** Kilobits per second by index, of MPEG 1 layers I, II, III and MPEG 2 layers I, II and III. ISO 11172-3, 13818-3. */
const BITRATES: readonly (readonly number[])[] = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const MPEG1_RATES = [44100, 48000, 32000];

/** Bytes of the MPEG audio frame whose header is at `at`; 0 when there is no header. */
function mpegFrameLength(bytes: Uint8Array, at: number): number {
  const [sync, kind, rates] = [bytes[at], bytes[at + 1], bytes[at + 2]];
  if (sync !== 0xff || (kind & 0xe0) !== 0xe0) return 0;
  const version = (kind >> 3) & 3;
  const layer = 4 - ((kind >> 1) & 3);
  const bitrateIndex = rates >> 4;
  const rateIndex = (rates >> 2) & 3;
  if (version === 1 || layer === 4 || bitrateIndex === 0 || bitrateIndex === 15 || rateIndex === 3) return 0;
  const isMpeg1 = version === 3;
  const table = isMpeg1 ? layer - 1 : layer === 1 ? 3 : 4;
  const bitrate = BITRATES[table][bitrateIndex - 1] * 1000;
  const sampleRate = MPEG1_RATES[rateIndex] >> (isMpeg1 ? 0 : version === 2 ? 1 : 2);
  const padding = (rates >> 1) & 1;
  if (layer === 1) return (Math.floor((12 * bitrate) / sampleRate) + padding) * 4;
  const samplesPerByte = layer === 3 && !isMpeg1 ? 72 : 144;
  return Math.floor((samplesPerByte * bitrate) / sampleRate) + padding;
}

/** Bytes of the ADTS frame whose header is at `at`; 0 when there is no header. ISO 14496-3, 1.A.2. */
function adtsFrameLength(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0xff || (bytes[at + 1] & 0xf6) !== 0xf0) return 0;
  if (((bytes[at + 2] >> 2) & 15) > 12) return 0;
  const length = ((bytes[at + 3] & 3) << 11) | (bytes[at + 4] << 3) | (bytes[at + 5] >> 5);
  return length >= 7 ? length : 0;
}

/** The position behind an ID3v2 tag, or 0 without one. The tag's length is four bytes of seven bits. */
function afterId3(bytes: Uint8Array): number {
  if (bytes.length < 10 || String.fromCharCode(...bytes.subarray(0, 3)) !== 'ID3') return 0;
  const [a, b, c, d] = bytes.subarray(6, 10);
  const size = ((a & 127) << 21) | ((b & 127) << 14) | ((c & 127) << 7) | (d & 127);
  return 10 + size;
}
