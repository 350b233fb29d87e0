/** Embeds texts with transformers.js in a separate process: `{alone}` or `{together, batch}` in, milliseconds out, a line of JSON each. */
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { env, pipeline } from '@huggingface/transformers';

interface Request {
  readonly alone?: readonly string[];
  readonly together?: readonly string[];
  readonly batch?: number;
}

const [folder, threads] = process.argv.slice(2);
env.localModelPath = dirname(folder);
env.allowRemoteModels = false;
const extract = await pipeline('feature-extraction', folder.slice(dirname(folder).length + 1), {
  dtype: 'fp32',
  device: 'cpu',
  subfolder: '',
  local_files_only: true,
  session_options: { intraOpNumThreads: Number(threads) },
});
const embed = (texts: readonly string[]) => extract([...texts], { pooling: 'mean', normalize: true });

for await (const line of createInterface({ input: process.stdin })) {
  const { alone = [], together = [], batch = 1 } = JSON.parse(line) as Request;
  const answer: number[] = [];
  for (const text of alone) answer.push(await timed(() => embed([text])));
  if (together.length > 0) {
    const all = await timed(async () => {
      for (let at = 0; at < together.length; at += batch) await embed(together.slice(at, at + batch));
    });
    answer.push(all);
  }
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
