/**
 * Opens the Whisper folder in argv with a variant of its graphs, in a process of its own, whose memory is that of one model. For each log-mel
 * of argv it answers a line of JSON: the tokens after the prompt, the CPU times of encoder, prompt and steps, and how far the logits after the
 * prompt are from those in the file beside it, which full_size.py wrote.
 */
import { existsSync, readFileSync } from 'node:fs';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import { openWhisperModel } from '../../../apps/worker/src/engine/whisper/folder/whisper-folder.ts';

const [folder, variant, ...mels] = process.argv.slice(2);
const PROMPT = [50258, 50259, 50360, 50364];
const STEPS = 11;

const floats = (file: string): Float32Array => new Float32Array(new Uint8Array(readFileSync(file)).buffer);
/** CPU time since `from`: others may use the cores, too. */
const cpuSeconds = (from?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1e6;
};
const largest = (values: Float32Array): number =>
  values.reduce((best, each, i) => (each > values[best] ? i : best), 0);
const say = (line: object): void =>
  console.log(JSON.stringify({ ...line, peakBytes: process.resourceUsage().maxRSS * 1024 }));

const began = process.cpuUsage();
const { encoder, decoder } = await openWhisperModel(folder, onnxRuntime, {
  providers: ['cpu'],
  threads: 2,
  variant,
});
const { layers, vocabularySize } = decoder.sizes;
say({ openSeconds: cpuSeconds(began), batching: decoder.batching, layers, vocabularySize });

for (const mel of mels) {
  const at = process.cpuUsage();
  const [features] = await encoder.encode([floats(mel)], decoder.sizes.floatType);
  const encodeSeconds = cpuSeconds(at);
  const started = await decoder.start([PROMPT], [features]);
  const logits = started.logits(0, PROMPT.length - 1).slice();
  const startSeconds = cpuSeconds(at) - encodeSeconds;
  const batch = decoder.newBatch();
  batch.push(started.state(0));
  const tokens = [largest(logits)];
  for (let step = 0; step < STEPS; step++) {
    const [next] = await decoder.step(batch, [tokens[step]]);
    batch.advance();
    tokens.push(largest(next));
  }
  const stepSeconds = (cpuSeconds(at) - encodeSeconds - startSeconds) / STEPS;
  say({ tokens, encodeSeconds, startSeconds, stepSeconds, ...distance(logits, `${mel}.logits`) });
}
process.exit(0);

function distance(
  ours: Float32Array,
  file: string,
): { difference?: number; scale?: number; sameFirst?: boolean } {
  if (!existsSync(file)) return {};
  const theirs = floats(file);
  const difference = ours.reduce((most, value, i) => Math.max(most, Math.abs(value - theirs[i])), 0);
  const scale = theirs.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return { difference, scale, sameFirst: largest(ours) === largest(theirs) };
}
