/**
 * A program that runs one graph, so that its memory can be read from the process. Opens the path in argv, `fused` or `exported`, with
 * inputs of the dimensions that argv has as JSON (others have one value), and answers requests, one line of JSON each:
 *
 *   {}                              what opening took
 *   { "keep": FILE, "runs": N }     runs the graph N times and writes its first output to the file
 *   { "compare": FILE, "runs": N }  runs it, and compares the output with the file's
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

const [path, form, dimensions] = process.argv.slice(2);
const DIMS = JSON.parse(dimensions) as Readonly<Record<string, readonly number[]>>;

/** Values of an input by its name; those that are not here get floats between -1 and 1. */
const VALUES: Readonly<Record<string, (index: number) => number>> = {
  timestep: () => 500,
  input_ids: (index) => 1000 + ((index * 37) % 1000),
  attention_mask: () => 1,
  token_type_ids: () => 0,
};

const inputOf = ({ name, type, dims: declared }: ValueInfo): Tensor => {
  const dims = DIMS[name] ?? declared.map(() => 1);
  const fill = VALUES[name] ?? ((index) => Math.sin(index * index * 0.7 + index));
  const values = Array.from({ length: elementCount(dims) }, (_, index) => fill(index));
  return type === 'int64'
    ? { type, data: BigInt64Array.from(values, BigInt), dims }
    : { type: 'float32', data: Float32Array.from(values), dims };
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
  const { keep, compare, runs = 1 } = JSON.parse(line) as { keep?: string; compare?: string; runs?: number };
  if (keep === undefined && compare === undefined) {
    answer({ ...opening, fused: session.fusion?.attentions ?? 0 });
    continue;
  }
  const { result, ...times } = await measured(async () => {
    for (let run = 1; run < runs; run++) await session.run(feeds);
    return session.run(feeds);
  });
  const prediction = result[session.outputs[0].name].data;
  if (!(prediction instanceof Float32Array)) throw new Error('Wanted a graph in float32.');
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
