/** A UNet with fused operators beside the same UNet as exported, in one process and in turns: steps, memory and predictions. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type {
  Fusion,
  LoadOptions,
  Provider,
  RuntimeSession,
} from '../../apps/worker/src/engine/runtime/runtime.ts';
import {
  elementCount,
  type FloatType,
  floatTensor,
  floatValues,
  type Tensor,
} from '../../apps/worker/src/engine/runtime/tensor.ts';
import { usedMemory } from './device-machine.ts';
import { type Difference, differenceOf, type Spread, spreadOf } from './figures.ts';
import { buildFullUnet, TEXT_WIDTH } from './full-unet.ts';
import { SharedWeights, WEIGHTS_FILE } from './shared-weights.ts';

/** The second tells what attentions alone gain; on a device without operators of its own, it is the third. */
const FORMS = { exported: false, attentions: 'attentions', fused: true } as const;
type Form = keyof typeof FORMS;
const NAMES = Object.keys(FORMS) as Form[];
const TOKENS = 77;

export interface FusedSteps {
  readonly rows: number;
  readonly side: number;
  readonly fusion: Fusion | undefined;
  readonly forms: Readonly<Record<Form, FormFigures>>;
  /** Of the median step as exported. */
  readonly share: Readonly<Record<Form, number>>;
}

interface FormFigures {
  readonly openMs: number;
  /** Of the card, more than before it was opened alone; null without a card. */
  readonly memoryMiB: { readonly opened: number; readonly ran: number };
  readonly step: Spread;
  /** From the prediction of the graph as exported. */
  readonly difference: Difference;
}

interface Measured {
  readonly path: string;
  readonly provider: Provider;
  readonly rows: number;
  readonly side: number;
  readonly rounds: number;
}

export async function fusedSteps(measured: Measured): Promise<FusedSteps> {
  // What the provider itself takes of the card, it takes with its first session.
  await (await open('exported', measured)).close();
  const alone = await perForm((form) => openAlone(form, measured));
  const sessions = await perForm((form) => open(form, measured));
  const predictions = await perForm((form) => predict(sessions[form], measured));
  const taken: Record<Form, number[]> = { exported: [], attentions: [], fused: [] };
  for (let round = 0; round < measured.rounds; round += 1) {
    for (const form of NAMES) {
      const startedAt = performance.now();
      await predict(sessions[form], measured);
      taken[form].push(performance.now() - startedAt);
    }
  }
  const { fusion } = sessions.fused;
  for (const form of NAMES) await sessions[form].close();
  const forms = await perForm(async (form) => ({
    ...alone[form],
    step: spreadOf(taken[form]),
    difference: differenceOf(predictions[form], predictions.exported),
  }));
  const share = await perForm(async (form) => forms[form].step.median / forms.exported.step.median);
  return { rows: measured.rows, side: measured.side, fusion, forms, share };
}

/** One after the other: two at a time would share the device. */
async function perForm<T>(make: (form: Form) => Promise<T>): Promise<Record<Form, T>> {
  const [exported, attentions] = [await make('exported'), await make('attentions')];
  return { exported, attentions, fused: await make('fused') };
}

const open = (form: Form, { path, provider }: Measured): Promise<RuntimeSession> => {
  const options: LoadOptions = { providers: [provider], fuses: FORMS[form] };
  return onnxRuntime.load({ path }, options);
};

async function openAlone(form: Form, measured: Measured): Promise<Pick<FormFigures, 'openMs' | 'memoryMiB'>> {
  const before = usedMemory();
  const startedAt = performance.now();
  const session = await open(form, measured);
  const openMs = performance.now() - startedAt;
  const opened = usedMemory() - before;
  await predict(session, measured);
  const ran = usedMemory() - before;
  await session.close();
  return { openMs, memoryMiB: { opened, ran } };
}

async function predict(session: RuntimeSession, { rows, side }: Measured): Promise<Float32Array> {
  const dims: Record<string, readonly number[]> = {
    sample: [rows, 4, side / 8, side / 8],
    encoder_hidden_states: [rows, TOKENS, TEXT_WIDTH],
  };
  const feeds = session.inputs.map(({ name, type }): [string, Tensor] => {
    if (type === 'int64') return [name, { type, data: BigInt64Array.of(500n), dims: [] }];
    const length = elementCount(dims[name]);
    const values = Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i));
    return [name, floatTensor(type as FloatType, values, dims[name])];
  });
  const [prediction] = Object.values(await session.run(Object.fromEntries(feeds)));
  return floatValues(prediction);
}

/** Two of the four levels of Stable Diffusion, as wide as its first one: small enough for any device. Returns the path. */
export async function writeNarrowUnet(folder: string, type: FloatType): Promise<string> {
  const path = join(folder, `narrow-${type}`, 'model.onnx');
  await mkdir(dirname(path), { recursive: true });
  const weights = new SharedWeights(type, 640 * 320 * 9);
  await writeFile(path, buildFullUnet(type, weights, [320, 320]));
  await weights.write(join(dirname(path), WEIGHTS_FILE));
  return path;
}
