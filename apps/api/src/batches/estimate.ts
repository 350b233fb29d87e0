/** What a batch would take, before it is made: how many jobs, and about how much time of devices. Nothing is stored. */
import { setImmediate } from 'node:timers/promises';
import { type BatchEstimate, type BatchRequest, LehrError } from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import { refusal } from '../base/field-problems.ts';
import type { ModelSharesView } from '../fleet/fleet-view.ts';
import type { Files } from '../jobs/files/files.ts';
import { costsOf, type ModelCost, type SubmitParts } from '../jobs/submit.ts';
import type { BatchEndpoints } from './endpoints.ts';
import { BadLines, linesOfFile } from './read-lines.ts';
import { pricedLines, sweepCount } from './sweep.ts';

export interface EstimateParts extends SubmitParts {
  readonly files: Files;
  readonly batchEndpoints: BatchEndpoints;
  readonly modelShares: ModelSharesView;
  /** Of an hour of device time. */
  readonly devicePrice: number | undefined;
  readonly currency: string | undefined;
}

/** Of a batch with more lines, at least half as many are priced, evenly spread over it. */
const MAX_PRICED = 256;
const READ_AT_ONCE = 100;
const HOUR_S = 3600;

/** Throws `invalid-input` for a file whose lines are not valid. The other sources have been checked. */
export async function estimateBatch(
  parts: EstimateParts,
  caller: Caller,
  request: BatchRequest,
): Promise<BatchEstimate> {
  const { devicePrice, currency } = parts;
  const sample = await sampleOf(parts, caller, request);
  const total = request.sweep ? sweepCount(request.sweep) : sample.lines;
  const secondsOf = new Map<string, number>();
  for (const { model, cost } of sample.costs.flat())
    secondsOf.set(model, (secondsOf.get(model) ?? 0) + ((cost / 1000) * total) / sample.costs.length);
  let device = 0;
  let duration = 0;
  for (const [model, seconds] of secondsOf) {
    device += seconds;
    duration += seconds / (await parts.modelShares.of(model)).workers;
  }
  return {
    object: 'batch.estimate',
    total,
    priced: sample.costs.length,
    is_sample: sample.step > 1,
    refused: sample.refused,
    device_s: rounded(device),
    duration_s: Number.isFinite(duration) ? rounded(duration) : null,
    ...(devicePrice !== undefined && { price: rounded((device / HOUR_S) * devicePrice), currency }),
  };
}

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

interface Sample {
  lines: number;
  /** Every so many lines one is priced. */
  step: number;
  costs: (readonly ModelCost[])[];
  refused: number;
}

/** Prices every line, and each time that these are too many every second of those so far: no line is kept, and a file is read once. */
async function sampleOf(parts: EstimateParts, caller: Caller, request: BatchRequest): Promise<Sample> {
  const sample: Sample = { lines: 0, step: 1, costs: [], refused: 0 };
  for await (const body of bodiesOf(parts, caller, request)) {
    if (sample.lines % sample.step === 0) {
      const costs = await costsOfLine(parts, caller, request, body);
      if (!costs) sample.refused += 1;
      sample.costs.push(costs ?? []);
    }
    sample.lines += 1;
    if (sample.lines % READ_AT_ONCE === 0) await setImmediate();
    if (sample.costs.length <= MAX_PRICED) continue;
    sample.costs = sample.costs.filter((_, i) => i % 2 === 0);
    sample.step *= 2;
  }
  return sample;
}

/** Undefined for a line that would be refused. */
async function costsOfLine(
  parts: EstimateParts,
  caller: Caller,
  { endpoint }: BatchRequest,
  body: unknown,
): Promise<readonly ModelCost[] | undefined> {
  try {
    const request = await parts.batchEndpoints[endpoint]?.requestOf(body, caller);
    return request && (await costsOf(parts, caller, request));
  } catch (error) {
    if (error instanceof LehrError && !error.retryable) return undefined;
    throw error;
  }
}

async function* bodiesOf(
  { files }: EstimateParts,
  { tenant, limits }: Caller,
  { sweep, requests, input_file_id, endpoint }: BatchRequest,
): AsyncGenerator<unknown> {
  if (sweep) yield* pricedLines(sweep);
  if (requests) yield* requests;
  if (input_file_id === undefined) return;
  const file = await files.find(tenant, input_file_id);
  try {
    for await (const { body } of linesOfFile(
      await files.open(tenant, file),
      endpoint,
      limits.max_batch_lines,
    ))
      yield body;
  } catch (error) {
    if (!(error instanceof BadLines)) throw error;
    const problems = error.errors.map(({ line, message }) => ({
      pointer: '/input_file_id',
      detail: line === null ? message : `line ${line}: ${message}`,
    }));
    throw refusal('invalid-input', problems);
  }
}
