/** `lehr tune`: tunes a version of models.yaml on this machine, and enters what was found. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import {
  LehrError,
  type ModelEntry,
  type ModelRef,
  rowsPerSample,
  type TunedSettings,
  withTuned,
} from '@lehr/shared';
import { acquireLock, versionFolder } from '@lehr/shared/model-cache';
import { bytesOf, type FilesState, filesState } from '../../engine/folder/files-state.ts';
import { ROW_LADDER } from '../../engine/lanes/row-cap.ts';
import { randomArrivals, recordedArrivals } from '../tune/arrivals.ts';
import { type Space, threadCounts } from '../tune/candidate.ts';
import type { Goal, UsualJob } from '../tune/goal.ts';
import { Journal } from '../tune/journal.ts';
import { type Plan, SEARCH, WHOLE_GRID } from '../tune/search.ts';
import { RUNS_OF_A_STEP, type TrialAnswer, type TunedModel } from '../tune/trial.ts';
import { TrialPool } from '../tune/trial-pool.ts';
import { type Tuning, tune } from '../tune/tune.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';

export interface TuneRequest {
  /** `name` or `name@version`. */
  readonly model: string;
  readonly goal: Goal;
  /** Also the other exports in the folder of a speech or text model, whose results differ. */
  readonly variants: boolean;
  /** Measures every candidate fully. */
  readonly grid: boolean;
  /** So many workers at most share a device. */
  readonly workers: number;
  /** Jobs per second, or the absolute path of a file of recorded jobs; undefined for all that the device can do, or one job alone. */
  readonly arrivals?: number | string | undefined;
  /** Absolute path of the report; undefined for the usual place. */
  readonly report?: string | undefined;
}

export interface EnterTunedRequest {
  readonly model: string;
  readonly device: TunedDevice;
  readonly settings: TunedSettings;
}
type TunedDevice = NonNullable<TunedSettings['device']>;

const LOCK_WAIT_MS = 10_000;
/** Tokens of a window of ordinary speech. */
const WINDOW_TOKENS = 100;
/** Of a text: a sentence, as in the warm-up of a worker. */
const TEXT_TOKENS = 32;

export async function tuneModel(
  request: TuneRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const wanted = await findModel(request.model, settings);
  const { arrivals } = request;
  const times =
    typeof arrivals === 'string' ? await recordedArrivals(arrivals) : randomArrivals(arrivals ?? 0);
  const found = arrivals === undefined ? wanted : { ...wanted, job: { ...wanted.job, arrivals: times } };
  const place = join(settings.home, 'tune', `${found.ref.name}@${found.ref.version}-${request.goal}`);
  await mkdir(dirname(place), { recursive: true });
  // Two searches would share the journal, and disturb each other's measurements.
  const lock = await acquireLock(`${place}.lock`, AbortSignal.timeout(LOCK_WAIT_MS), () => {}).catch(
    (cause) => {
      throw new LehrError('conflict', `Another lehr tune works on ${request.model}.`, { cause });
    },
  );
  try {
    await search(found, request, place, settings, report);
  } finally {
    await lock.release();
  }
}

async function search(
  found: Found,
  request: TuneRequest,
  place: string,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { goal, grid } = request;
  const space = spaceOf(found, request, settings);
  // What failed may work now: a library was missing, or memory.
  const succeeded = (answer: TrialAnswer): boolean => !('failure' in answer);
  const files = await filesState(found.model.folder);
  const plan = grid ? WHOLE_GRID : SEARCH;
  const subject = subjectOf(found, space, plan, files);
  const journal = await Journal.open(`${place}.jsonl`, subject, succeeded);
  if (journal.size > 0) report({ type: 'continued', measurements: journal.size });
  const startedAt = performance.now();
  const trials = new TrialPool(found.model, bytesOf(files));
  const tuning = await tune({
    job: found.job,
    goal,
    space,
    plan,
    journal,
    trials,
    onProgress: (done, total) => report({ type: 'tuning', done, total }),
  }).finally(() => trials.close());
  const path = request.report ?? `${place}.json`;
  const model = `${found.ref.name}@${found.ref.version}`;
  const device = settings.providers[0];
  const head = { model, goal, device, seconds: (performance.now() - startedAt) / 1000 };
  const tuned = tunedOf(tuning, found, goal, device);
  const whole = { ...head, machine: machine(), measured_at: new Date().toISOString(), tuned, ...tuning };
  await writeWhole(path, `${JSON.stringify(whole, undefined, 2)}\n`);
  await journal.remove();
  const { chosen, costs, failed } = tuning;
  const { task } = found.model;
  const written = { report: path, models_file: settings.modelsFile };
  report({ type: 'tuned', task, settings: tuned, chosen, costs, failed, ...head, ...written });
}

/** Enters the settings in models.yaml, of which everything else stays. */
export async function enterTuned(request: EnterTunedRequest, settings: ToolSettings): Promise<ToolEvent> {
  const [name, version = ''] = request.model.split('@');
  await changeModelsFile(settings, (text) =>
    withTuned(text, { name, version }, request.device, request.settings),
  );
  return { type: 'entered', models_file: settings.modelsFile };
}

interface Found {
  readonly ref: ModelRef;
  readonly model: TunedModel;
  readonly job: UsualJob;
  /** The suffix of the graph files that the model has now; undefined for pictures. */
  readonly variant: string | undefined;
}

async function findModel(wanted: string, settings: ToolSettings): Promise<Found> {
  const registry = await readModelsFile(settings);
  if (!registry) {
    throw new LehrError(
      'model-not-found',
      `There is no ${settings.modelsFile}; set LEHR_MODELS to the models.yaml that the worker reads.`,
    );
  }
  const entry = registry.named(wanted);
  const { model, ref } = registry.resolve(entry?.task ?? 'diffusion', wanted, 0);
  const version = model.versions.find((each) => each.version === ref.version) ?? model.versions[0];
  const folder = versionFolder(version, placesOf(settings));
  if (!existsSync(folder)) {
    throw new LehrError('model-unavailable', `${folder} is not there; lehr models pull fetches a model.`);
  }
  return { ref, ...asTuned(model, folder) };
}

function asTuned(model: ModelEntry, folder: string): Omit<Found, 'ref'> {
  switch (model.task) {
    case 'diffusion': {
      const { width, height, steps, guidance } = model.defaults;
      const rows = rowsPerSample(guidance, model.guidance);
      const tuned = { task: 'diffusion', folder, width, height } as const;
      return { model: tuned, job: { rows, steps }, variant: undefined };
    }
    case 'whisper':
      return {
        model: { task: 'whisper', folder },
        job: { rows: 1, steps: WINDOW_TOKENS },
        variant: model.variant ?? '',
      };
    case 'text':
      return {
        model: { task: 'text', folder, tokens: TEXT_TOKENS },
        job: { rows: 1, steps: 1 / RUNS_OF_A_STEP },
        variant: model.variant ?? '',
      };
    case 'transform':
      throw new LehrError(
        'invalid-request',
        "The model's task is transform; lehr tune is for models of the tasks diffusion, whisper and text.",
      );
  }
}

function spaceOf(
  { model, job, variant }: Found,
  { goal, variants, workers, arrivals }: TuneRequest,
  { providers, threads }: ToolSettings,
): Space {
  // The fewest rows are best for one job alone, and for the memory.
  const isFull = goal === 'throughput' || arrivals !== undefined;
  const rowCaps = isFull ? ROW_LADDER.filter((rows) => rows >= job.rows) : [job.rows];
  const cores = availableParallelism();
  return {
    devices: providers,
    threads: threads === undefined ? threadCounts(cores) : [threads],
    workers: Array.from({ length: workers }, (_, i) => i + 1),
    cores,
    // At lower levels an int8 export overflows on processors without VNNI (runtime/exact-int8.ts).
    optimizations: ['extended', 'all'],
    variants: variant === undefined ? [] : variants ? variantsIn(model, variant) : [variant],
    rowCaps,
  };
}

/** The suffixes of the graphs in the folder, the present one first. */
function variantsIn({ task, folder }: TunedModel, present: string): string[] {
  const graph = task === 'text' ? 'model' : 'encoder_model';
  const named = new RegExp(`^${graph}(_[a-z0-9_]{1,32})?\\.onnx$`);
  const places = [folder, join(folder, 'onnx')].filter((place) => existsSync(place));
  const found = places.flatMap((place) => readdirSync(place).flatMap((name) => named.exec(name)?.[1] ?? []));
  const plain = places.some((place) => existsSync(join(place, `${graph}.onnx`))) ? [''] : [];
  return [...new Set([present, ...plain, ...found])];
}

/** What models.yaml gets for workers whose first device is `first`. */
function tunedOf(
  { chosen: { candidate } }: Tuning,
  { job, model }: Found,
  goal: Goal,
  first: TunedDevice,
): TunedSettings {
  const { device, threads, optimization, variant } = candidate.session;
  return {
    ...(device !== first && { device }),
    ...(threads !== undefined && { threads }),
    // A worker that serves one job after the other in the least time still batches what waits. Texts have many lengths, and a worker measures how many
    // tokens a run should have.
    ...((goal !== 'latency' || job.arrivals) && model.task !== 'text' && { row_cap: candidate.rowCap }),
    optimization,
    ...(variant !== undefined && { variant }),
  };
}

const machine = () => ({
  cpu: cpus().at(0)?.model ?? 'unknown',
  cores: availableParallelism(),
  node: process.version,
});

/** Measurements are used again only for the same files, settings and machine. */
function subjectOf({ model, job }: Found, space: Space, plan: Plan, files: FilesState): string {
  const subject = JSON.stringify({ model, job, space, plan, files: [...files], machine: machine() });
  return createHash('sha256').update(subject).digest('hex');
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.${process.pid}`, text);
  await rename(`${path}.${process.pid}`, path);
}
