/** Exports of Whisper that Optimum made: opened as they are, they write what transformers writes in PyTorch. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { largestDifference } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { openWhisperModel } from '../../apps/worker/src/engine/whisper/folder/whisper-folder.ts';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { decode, encode, type GraphProto } from '../../packages/onnx-model/src/index.ts';
import { plainWaveform, sampleFile } from '../support/audio-golden.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { openWhisperEngine } from '../support/whisper-engine.ts';
import { recorded, recordedAttention, unpackExport, windowOf } from '../support/whisper-exports.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;

async function unpacked(form: string): Promise<string> {
  const folder = join(await tempFolder('whisper-export'), form);
  unpackExport(form, folder);
  return folder;
}

async function open(form: string) {
  const engine = await openWhisperEngine(await unpacked(form), { rowCap: 16, threads: 1 });
  onTestFinished(() => engine.close());
  return engine;
}

test.each(['merged', 'pair', 'words'])(
  'Windows in one batch of the export %s get the tokens that PyTorch writes for each alone',
  async (form) => {
    const engine = await open(form);
    const results = await engine.write(recorded.cases.map((each) => windowOf(engine, each)));
    expect(results.map(({ tokens }) => tokens)).toEqual(recorded.cases.map(({ tokens }) => tokens));
    expect(Math.max(...results.map(({ batchSize }) => batchSize))).toBeGreaterThan(4);
  },
);

/** In half precision and int8 a close decision can fall differently on another machine, and all later tokens with it. */
const FIRST_TOKENS = 8;

test.each(['fp16', 'int8'] as const)(
  'Windows of the export %s begin with the tokens of PyTorch, or for int8 of Optimum with the same graphs',
  async (form) => {
    const engine = await open(form);
    let equal = 0;
    for (const each of recorded.cases) {
      // Alone: int8 graphs round by the largest value of a batch.
      const [{ tokens }] = await engine.write([windowOf(engine, each)]);
      const wanted = form === 'int8' ? each.int8 : each.tokens;
      if (tokens.slice(0, FIRST_TOKENS).join() === wanted.slice(0, FIRST_TOKENS).join()) equal += 1;
    }
    expect(equal).toBeGreaterThanOrEqual(0.75 * recorded.cases.length);
  },
);

test.each(['merged', 'pair', 'words', 'fp16', 'int8'])(
  'The graphs of the export %s are rewired, so that rows of different lengths share calls',
  async (form) => {
    const model = await openWhisperModel(await unpacked(form), onnxRuntime, CPU);
    onTestFinished(() => model.close());
    expect(model.decoder.batching).toEqual({ mode: 'rows' });
    expect(model.alignment?.heads.length).toBe(form === 'words' ? 2 : undefined);
  },
);

/** Multiplies all weights of matrices, so that small differences of rounding become large ones, as with Whisper base's real weights. */
function sharpen(file: string, factor: number): void {
  const model = decode('ModelProto', readFileSync(file));
  const change = ({ initializer, node }: GraphProto): void => {
    for (const each of initializer ?? []) {
      if (/MatMul.*_scale/.test(each.name ?? '')) each.floatData = each.floatData?.map((v) => v * factor);
    }
    for (const { attribute } of node ?? []) for (const { g } of attribute ?? []) if (g) change(g);
  };
  if (model.graph) change(model.graph);
  writeFileSync(file, encode('ModelProto', model));
}

/** A runtime in which the decoder's calls with several rows return the logits of the first row for all of them. */
const mixingRuntime: InferenceRuntime = {
  load: async (source, options) => {
    const session = await onnxRuntime.load(source, options);
    return {
      ...session,
      inputs: session.inputs,
      outputs: session.outputs,
      close: () => session.close(),
      run: async (feeds, outputs) => {
        const results = await session.run(feeds, outputs);
        const { data, dims } = results.logits ?? {};
        if (data instanceof Float32Array && dims && dims[0] > 1) {
          const length = data.length / dims[0];
          for (let row = 1; row < dims[0]; row++) data.copyWithin(row * length, 0, length);
        }
        return results;
      },
    };
  },
};

test('A quantized decoder whose logits depend much on rounding is rewired too', async () => {
  const folder = await unpacked('int8');
  sharpen(join(folder, 'decoder_model_merged.onnx'), 4);
  const model = await openWhisperModel(folder, onnxRuntime, CPU);
  onTestFinished(() => model.close());
  expect(model.decoder.batching).toEqual({ mode: 'rows' });
});

test('A quantized decoder that mixes rows up runs aligned, with the reason', async () => {
  const model = await openWhisperModel(await unpacked('int8'), mixingRuntime, CPU);
  onTestFinished(() => model.close());
  expect(model.decoder.batching).toEqual({
    mode: 'aligned',
    reason: expect.stringMatching(/^a text beside another one, .* differs from the same text/),
  });
});

test('The attention to the audio that the export with cross-attentions returns is that of PyTorch', async () => {
  const model = await openWhisperModel(await unpacked('words'), onnxRuntime, CPU);
  onTestFinished(() => model.close());
  const waveform = plainWaveform(sampleFile(`speech/${recorded.cases[0].sample}.wav`));
  const [features] = await model.encoder.encode([logMelWindow(waveform, 0, model.frontEnd)], 'float32');
  const layers = await model.decoder.attend(recorded.attention_tokens, features, [0, 1]);
  const ours = Float32Array.from(layers.flatMap(({ weights }) => [...weights]));
  const theirs = recordedAttention();
  expect(ours.length).toBe(theirs.length);
  // Rounding of float32, and of the log-mel, which Lehr computes by itself.
  expect(largestDifference(ours, theirs)).toBeLessThan(1e-3);
});
