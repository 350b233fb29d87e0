import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode, type GraphProto, toNumber } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TinyWhisperOptions, writeTinyWhisper } from './tiny-whisper.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-tiny-whisper-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const filesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(root, name)).isFile())
    .sort();

function graphOf(name: string): GraphProto {
  const { graph } = decode('ModelProto', readFileSync(join(folder, name)));
  if (!graph) throw new Error('Wanted a graph.');
  return graph;
}

const signature = (values: GraphProto['input']) =>
  values?.map(({ name, type }) => {
    const { elemType, shape } = type?.tensorType ?? {};
    return [name, elemType, shape?.dim?.map(({ dimParam, dimValue }) => dimParam || toNumber(dimValue))];
  });

const CONFIGS = [
  'config.json',
  'generation_config.json',
  'preprocessor_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
];
const layouts: [TinyWhisperOptions, string[]][] = [
  [{}, ['decoder_model_merged.onnx', 'encoder_model.onnx']],
  [
    { decoder: 'split', graphs: 'onnx' },
    ['onnx/decoder_model.onnx', 'onnx/decoder_with_past_model.onnx', 'onnx/encoder_model.onnx'],
  ],
  [{ variant: '_fp16' }, ['decoder_model_merged_fp16.onnx', 'encoder_model_fp16.onnx']],
  [
    { externalData: true },
    [
      'decoder_model_merged.onnx',
      'decoder_model_merged.onnx_data',
      'encoder_model.onnx',
      'encoder_model.onnx_data',
    ],
  ],
];

test.each(layouts)('The files of %o are those of an Optimum export, and small', async (options, graphs) => {
  await writeTinyWhisper(folder, options);
  expect(filesIn(folder)).toEqual([...CONFIGS, ...graphs].sort());
  const bytes = filesIn(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes).toBeLessThan(1_000_000);
});

test('Inputs and outputs have the names and shapes of an Optimum export', async () => {
  await writeTinyWhisper(folder, { crossAttentions: true });
  expect(signature(graphOf('encoder_model.onnx').input)).toEqual([
    ['input_features', 1, ['batch_size', 80, 'encoder_sequence_length']],
  ]);
  const { input, output } = graphOf('decoder_model_merged.onnx');
  expect(signature(input)?.slice(0, 3)).toEqual([
    ['input_ids', 7, ['batch_size', 'decoder_sequence_length']],
    ['encoder_hidden_states', 1, ['batch_size', 'encoder_sequence_length / 2', 32]],
    ['past_key_values.0.decoder.key', 1, ['batch_size', 2, 'past_decoder_sequence_length', 16]],
  ]);
  expect(signature(input)?.at(-1)).toEqual(['use_cache_branch', 9, [1]]);
  expect(output?.map(({ name }) => name)).toEqual([
    'logits',
    ...[0, 1].flatMap((layer) =>
      ['decoder.key', 'decoder.value', 'encoder.key', 'encoder.value'].map(
        (name) => `present.${layer}.${name}`,
      ),
    ),
    'cross_attentions.0',
    'cross_attentions.1',
  ]);
});

test('The same options give the same bytes, and another seed gives other graphs', async () => {
  const hashes = async (name: string, options: TinyWhisperOptions) => {
    const root = join(folder, name);
    await writeTinyWhisper(root, options);
    return filesIn(root).map((file) =>
      createHash('sha256')
        .update(readFileSync(join(root, file)))
        .digest('hex'),
    );
  };
  const first = await hashes('a', { seed: 7 });
  expect(await hashes('b', { seed: 7 })).toEqual(first);
  const other = await hashes('c', { seed: 8 });
  const changed = filesIn(join(folder, 'a')).filter((_, i) => first[i] !== other[i]);
  expect(changed).toEqual(['decoder_model_merged.onnx', 'encoder_model.onnx']);
});
