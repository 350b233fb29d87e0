/** Media that callers send inside their requests, as data: URIs. */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';

const SPEECH = new URL('../../test/golden/samples/speech/en_circle.wav', import.meta.url);
/** The words of the model are not what is tested, so a second of speech is enough. */
const WAV_BYTES = 44 + 2 * 16_000;

export async function inlineAudio(): Promise<string> {
  const bytes = await readFile(SPEECH);
  return `data:audio/wav;base64,${bytes.subarray(0, WAV_BYTES).toString('base64')}`;
}

export async function inlinePicture(): Promise<string> {
  const picture = sharp({ create: { width: 64, height: 64, channels: 3, background: '#c83264' } });
  return `data:image/png;base64,${(await picture.png().toBuffer()).toString('base64')}`;
}
