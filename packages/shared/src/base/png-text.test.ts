import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { pngTexts, withPngText } from './png-text.ts';

const picture = (): Promise<Buffer> =>
  sharp({ create: { width: 2, height: 2, channels: 3, background: '#c83264' } })
    .png()
    .toBuffer();

/** Each from its type on, behind the header. */
function withChunks(png: Buffer, chunks: readonly Buffer[]): Buffer {
  const framed = chunks.map((data) => {
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length - 4, 0);
    frame.writeUInt32BE(crc32(data), 4);
    return Buffer.concat([frame.subarray(0, 4), data, frame.subarray(4)]);
  });
  return Buffer.concat([png.subarray(0, 33), ...framed, png.subarray(33)]);
}

test('A PNG keeps every text that was written into it, and stays the same picture', async () => {
  const plain = await picture();
  const named = withPngText(plain, 'parameters', 'crème brûlée\nSteps: 8');
  const both = withPngText(named, 'lehr', '{"prompt":"円"}');
  expect(Object.fromEntries(pngTexts(both))).toEqual({
    parameters: 'crème brûlée\nSteps: 8',
    lehr: '{"prompt":"円"}',
  });
  expect(both.includes('tEXtparameters\0')).toBe(true);
  expect(both.includes('iTXtlehr\0')).toBe(true);
  const pixels = (png: Buffer): Promise<Buffer> => sharp(png).raw().toBuffer();
  expect(await pixels(both)).toEqual(await pixels(plain));
});

test('Packed texts are read, and one that unpacks to more than a megabyte is left out', async () => {
  const plain = await picture();
  const packed = (type: string, head: string, text: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${type}${head}`, 'latin1'), deflateSync(text)]);
  const chunks = [
    packed('zTXt', 'old\0\0', Buffer.from('é', 'latin1')),
    packed('iTXt', 'new\0\x01\0en\0neu\0', Buffer.from('円')),
    packed('zTXt', 'huge\0\0', Buffer.alloc(2 * 1024 * 1024)),
    Buffer.from('iTXtcut\0\0\0en', 'latin1'),
  ];
  expect(Object.fromEntries(pngTexts(withChunks(plain, chunks)))).toEqual({ old: 'é', new: '円' });
});

test('All texts of a file together have at most a megabyte, however small the chunks are that pack them', async () => {
  const half = deflateSync(Buffer.alloc(512 * 1024, 'a'));
  const packed = Array.from({ length: 400 }, (_, i) =>
    Buffer.concat([Buffer.from(`zTXt${i}\0\0`, 'latin1'), half]),
  );
  expect([...pngTexts(withChunks(await picture(), packed)).keys()]).toEqual(['0', '1']);
  // Those that cannot be unpacked count, too.
  const broken = Array.from({ length: 400 }, () => Buffer.from('zTXtx\0\0no zlib', 'latin1'));
  const last = Buffer.from('tEXtlast\0seen', 'latin1');
  expect(pngTexts(withChunks(await picture(), [...broken, last])).size).toBe(0);
});

test('A file that is no PNG has no texts, and one that ends early has those before its end', async () => {
  expect(pngTexts(Buffer.from('not really a png')).size).toBe(0);
  expect(pngTexts(new Uint8Array()).size).toBe(0);
  const png = withPngText(await picture(), 'parameters', 'a red circle');
  expect(pngTexts(png.subarray(0, 40)).size).toBe(0);
  expect(pngTexts(png.subarray(0, png.length - 20)).get('parameters')).toBe('a red circle');
});
