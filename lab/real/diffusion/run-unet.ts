/**
 * A program that runs one UNet, so that its memory can be read from the process. Opens the path in argv, `fused` or `exported`, and answers
 * requests, one line of JSON each:
 *
 *   {}                     what opening took
 *   { "keep": FILE }       runs two rows of 512x512 and writes the prediction to the file
 *   { "compare": FILE }    runs them, and compares the prediction with the file's
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import type { RuntimeSession, ValueInfo } from '../../../apps/worker/src/engine/runtime/runtime.ts';
import {
  elementCount,
  largestDifference,
  type Tensor,
} from '../../../apps/worker/src/engine/runtime/tensor.ts';

const [path, form] = process.argv.slice(2);
const ROWS = 2;
const DIMS: Readonly<Record<string, readonly number[]>> = {
  sample: [ROWS, 4, 64, 64],
  encoder_hidden_states: [ROWS, 77, 768],
};

const inputOf = ({ name, type, dims }: ValueInfo): Tensor => {
  if (name === 'timestep') {
    const size = elementCount(dims.map(() => 1));
    return type === 'int64'
      ? { type, data: new BigInt64Array(size).fill(500n), dims: dims.map(() => 1) }
      : { type: 'float32', data: new Float32Array(size).fill(500), dims: dims.map(() => 1) };
  }
  const data = Float32Array.from({ length: elementCount(DIMS[name]) }, (_, i) => Math.sin(i * i * 0.7 + i));
  return { type: 'float32', data, dims: DIMS[name] };
};

const residentPeak = (): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;

/** From then on the peak of resident memory is counted anew (man 5 proc_pid_clear_refs). */
const forgetPeak = (): void => writeFileSync('/proc/self/clear_refs', '5');

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

async function measured<T>(work: () => Promise<T>) {
  const [startedAt, cpuAtStart] = [performance.now(), cpuSeconds()];
  const result = await work();
  return { result, seconds: (performance.now() - startedAt) / 1000, cpu_seconds: cpuSeconds() - cpuAtStart };
}

const { result: session, ...opening } = await measured<RuntimeSession>(() =>
  onnxRuntime.load({ path }, { providers: ['cpu'], fuses: form === 'fused' }),
);
const feeds = Object.fromEntries(session.inputs.map((input) => [input.name, inputOf(input)]));
// ONNX Runtime keeps the memory of a run for the next one.
const openedBytes = process.memoryUsage().rss;
forgetPeak();
const answer = (value: object): void => console.log(JSON.stringify({ answer: value }));

for await (const line of createInterface({ input: process.stdin })) {
  const { keep, compare } = JSON.parse(line) as { keep?: string; compare?: string };
  if (keep === undefined && compare === undefined) {
    answer({ ...opening, fused: session.fusion?.attentions ?? 0 });
    continue;
  }
  const { result, ...times } = await measured(() => session.run(feeds));
  const [{ data: prediction }] = Object.values(result);
  if (!(prediction instanceof Float32Array)) throw new Error('Wanted a UNet in float32.');
  const difference = compare === undefined ? 0 : shareOfDifference(floatsOf(compare), prediction);
  if (keep !== undefined) writeFileSync(keep, prediction);
  answer({ ...times, working_bytes: residentPeak() - openedBytes, difference });
}

function floatsOf(file: string): Float32Array {
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** The largest difference, over the largest value. */
function shareOfDifference(wanted: Float32Array, found: Float32Array): number {
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largestDifference(wanted, found) / largest;
}
