/** transformers.js in a separate process: `files` in, texts and seconds out, one line of JSON each, like serve.py. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { env, pipeline } from '@huggingface/transformers';
import { plainWaveform } from '../../../test/support/audio-golden.ts';

interface Request {
  readonly files: readonly string[];
}

const [folder, dtype, threads] = process.argv.slice(2);
env.localModelPath = dirname(folder);
env.allowRemoteModels = false;
const transcribe = await pipeline('automatic-speech-recognition', folder.slice(dirname(folder).length + 1), {
  dtype: dtype as 'fp32' | 'q8',
  device: 'cpu',
  subfolder: '',
  local_files_only: true,
  session_options: { intraOpNumThreads: Number(threads) },
});

for await (const line of createInterface({ input: process.stdin })) {
  const { files } = JSON.parse(line) as Request;
  const startedAt = performance.now();
  const texts = await Promise.all(files.map(textOf));
  const seconds = (performance.now() - startedAt) / 1000;
  const answer = { texts, seconds, peak_mb: process.resourceUsage().maxRSS / 1024 };
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
}

async function textOf(file: string): Promise<string> {
  const waveform = plainWaveform(new Uint8Array(await readFile(file)));
  const options = { language: 'en', task: 'transcribe', return_timestamps: true, chunk_length_s: 30 };
  const result = await transcribe(waveform, options);
  return (Array.isArray(result) ? result[0] : result).text.trim();
}
