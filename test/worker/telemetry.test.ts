/** ONNX Runtime's reports to its makers, in a process of the built worker. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const DOORWAY = new URL('../../apps/worker/dist/engine/runtime/onnx.js', import.meta.url);
const GRAPH = new URL(
  '../../packages/demo-models/models/demo-diffusion/text_encoder/model.onnx',
  import.meta.url,
);

test('A process that opens a graph reports nothing of it and keeps no identifier of the machine', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lehr-home-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const program = `
    import { onnxRuntime } from ${JSON.stringify(DOORWAY.href)};
    const session = await onnxRuntime.load({ path: ${JSON.stringify(fileURLToPath(GRAPH))} }, { providers: ['cpu'] });
    await session.close();
    console.log(session.provider);`;
  // Without the variables of a CI service, with which ONNX Runtime reports nothing.
  const env = { PATH: process.env.PATH, HOME: home };
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { env },
  );
  expect({ stdout, stderr }).toEqual({ stdout: 'cpu\n', stderr: '' });
  expect(readdirSync(home)).toEqual([]);
}, 60_000);
