import { systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { UploadPace } from '../../http/bodies/body-reads.ts';
import { readMultipart } from './multipart.ts';

const part = (name: string, bytes: number, filename?: string): string =>
  `--x\r\ncontent-disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n${'a'.repeat(bytes)}\r\n`;

/** A request whose body arrives in pieces of so many bytes. */
function inPieces(body: string, bytes: number): Request {
  const whole = Buffer.from(body);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < whole.byteLength; at += bytes) controller.enqueue(whole.subarray(at, at + bytes));
      controller.close();
    },
  });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  return new Request('http://lehr/', { method: 'POST', headers, body: stream, duplex: 'half' });
}

const read = (body: string, bytes: number) =>
  readMultipart(inPieces(body, bytes), { maxFileBytes: 100, maxFiles: 4 }, new UploadPace(systemClock));

const LAST = '--x--\r\n';

test.each([1, 7, 64, 10_000])(
  'A body that is too large is refused with the name of the part that passes the limit, in pieces of %i bytes',
  async (bytes) => {
    const prompt = part('prompt', 12);
    const small = part('image', 10, 'a.png');
    const bodies = {
      '/mask': [
        prompt + small + part('mask', 101, 'b.png') + part('size', 3),
        part('mask', 300, 'b.png') + small,
      ],
      // Together they are too large.
      '/second': [part('first', 60, 'a') + part('empty', 0) + part('second', 60, 'b')],
      '/image': [part('image[]', 5000, 'a.png') + part('mask', 10, 'b.png')],
      '/prompt': [part('prompt', 70_000)],
    };
    for (const [pointer, each] of Object.entries(bodies)) {
      for (const body of each) {
        const refused = expect(read(body + LAST, bytes)).rejects;
        await refused.toMatchObject({ code: 'too-large', problems: [{ pointer }] });
      }
    }
    const { files, fields } = await read(prompt + small + LAST, bytes);
    expect([files.map(({ field }) => field), fields.map(([name]) => name)]).toEqual([['image'], ['prompt']]);
  },
);

test.each([1, 7, 64, 10_000])(
  'A streamed file arrives apart from the other parts, in pieces of %i bytes',
  async (bytes) => {
    const content = `{"a":1}\r\n--y\r\n\r\n--\n${'b'.repeat(300)}\r\n-`;
    const file = `--x\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n${content}\r\n`;
    const orders = [
      [part('purpose', 5), file, part('other', 9, 'b')],
      [file, part('purpose', 5), part('other', 9, 'b')],
      [part('other', 9, 'b'), part('purpose', 5), file],
    ];
    for (const parts of orders) {
      const received: Uint8Array[] = [];
      const streamed = { field: 'file', write: async (chunk: Uint8Array) => void received.push(chunk) };
      const limits = { maxFileBytes: 100, maxFiles: 4 };
      const request = inPieces(parts.join('') + LAST, bytes);
      const body = await readMultipart(request, limits, new UploadPace(systemClock), streamed);
      expect(Buffer.concat(received).toString()).toBe(content);
      expect(body.fields).toEqual([['purpose', 'aaaaa']]);
      const files = body.files.map(({ field, filename, bytes: own }) => [field, filename, own.byteLength]);
      expect(files.sort()).toEqual([
        ['file', 'a.jsonl', 0],
        ['other', 'b', 9],
      ]);
    }
  },
);

test('A body that ends within its streamed file is refused', async () => {
  const cut = '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nlines and lines';
  const streamed = { field: 'file', write: async () => {} };
  const reading = readMultipart(
    inPieces(cut, 5),
    { maxFileBytes: 100, maxFiles: 4 },
    new UploadPace(systemClock),
    streamed,
  );
  await expect(reading).rejects.toMatchObject({ code: 'invalid-request' });
});
