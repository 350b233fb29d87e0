import { expect, test } from 'vitest';
import { chooseFiles } from './choose-files.ts';
import type { RemoteFile } from './remote.ts';

const files = (...paths: string[]): RemoteFile[] => paths.map((path) => ({ path, bytes: 1 }));
const targets = (paths: string[], variant?: string): string[] =>
  chooseFiles(files(...paths), variant)
    .files.map(({ target }) => target)
    .sort();

const WHISPER = ['config.json', 'generation_config.json', 'preprocessor_config.json', 'tokenizer.json'];
const DIFFUSION = [
  'model_index.json',
  'scheduler/scheduler_config.json',
  'tokenizer/vocab.json',
  'tokenizer/merges.txt',
  'text_encoder/model.onnx',
  'unet/model.onnx',
  'vae_decoder/model.onnx',
];

test('Of a Whisper folder with many exports, the plain graphs and their data are taken', () => {
  const graphs = ['encoder_model', 'decoder_model_merged', 'decoder_model', 'decoder_with_past_model'];
  const all = graphs.flatMap((graph) =>
    ['', '_fp16', '_quantized'].flatMap((variant) => [
      `onnx/${graph}${variant}.onnx`,
      `onnx/${graph}${variant}.onnx_data`,
    ]),
  );
  expect(targets([...WHISPER, ...all, 'model.safetensors', 'README.md'])).toEqual(
    [
      ...WHISPER,
      'onnx/decoder_model_merged.onnx',
      'onnx/decoder_model_merged.onnx_data',
      'onnx/encoder_model.onnx',
      'onnx/encoder_model.onnx_data',
    ].sort(),
  );
});

test('A variant of Whisper keeps the names of its data, to which its graphs refer', () => {
  const all = ['encoder_model_fp16', 'decoder_model_merged_fp16', 'encoder_model'];
  const paths = all.flatMap((graph) => [`${graph}.onnx`, `${graph}.onnx_data`]);
  expect(targets([...WHISPER, ...paths], 'fp16').filter((path) => path.includes('onnx'))).toEqual([
    'decoder_model_merged.onnx',
    'decoder_model_merged_fp16.onnx_data',
    'encoder_model.onnx',
    'encoder_model_fp16.onnx_data',
  ]);
});

test('Data of Whisper that is not named after a graph is taken once, and files of an unfinished fetch are not', () => {
  const graphs = ['onnx/encoder_model.onnx', 'onnx/decoder_model_merged.onnx'];
  const data = ['onnx/weights.pb', 'onnx/onnx__MatMul_8001'];
  const unfinished = ['onnx/weights.pb.part', 'onnx/encoder_model.onnx.part'];
  expect(targets([...WHISPER, ...graphs, ...data, ...unfinished])).toEqual(
    [...WHISPER, ...graphs, ...data].sort(),
  );
});

test('Without a merged decoder, the decoder and the one with its past are taken', () => {
  const pair = ['encoder_model.onnx', 'decoder_model.onnx', 'decoder_with_past_model.onnx'];
  expect(targets([...WHISPER, ...pair])).toEqual([...WHISPER, ...pair].sort());
  expect(() => targets([...WHISPER, ...pair.slice(0, 2)])).toThrow(
    /no decoder_model_merged\.onnx.*lehr models export/,
  );
});

test('A diffusion folder gives its graphs with data of any name, and no other formats or components', () => {
  const data = ['unet/weights.pb', 'unet/onnx__MatMul_8001', 'unet/down_blocks.0.weight'];
  const rest = [
    ...data,
    '.gitattributes',
    'unet/.gitattributes',
    'unet/openvino_model.bin',
    'unet/model.safetensors',
    'safety_checker/model.onnx',
  ];
  expect(targets([...DIFFUSION, ...rest])).toEqual([...DIFFUSION, ...data].sort());
});

test('A variant of a diffusion folder takes the data of its graphs alone, and every graph must have it', () => {
  const graphs = ['text_encoder/model', 'unet/model', 'vae_decoder/model'];
  const half = graphs.flatMap((graph) => [`${graph}.fp16.onnx`, `${graph}.fp16.onnx_data`]);
  const all = [...DIFFUSION, 'unet/model.onnx_data', 'unet/model.onnx.data', ...half];
  expect(targets(all, 'fp16').filter((path) => path.includes('onnx'))).toEqual(
    graphs.flatMap((graph) => [`${graph}.fp16.onnx_data`, `${graph}.onnx`]),
  );
  expect(targets(all).filter((path) => path.startsWith('unet/'))).toEqual([
    'unet/model.onnx',
    'unet/model.onnx.data',
    'unet/model.onnx_data',
  ]);
  const withoutOne = all.filter((path) => path !== 'vae_decoder/model.fp16.onnx');
  expect(() => targets(withoutOne, 'fp16')).toThrow(/no vae_decoder\/model\.onnx in the variant "fp16"/);
});

test('A folder with a second text encoder gives both', () => {
  const second = ['text_encoder_2/model.onnx', 'tokenizer_2/vocab.json'];
  expect(targets([...DIFFUSION, ...second])).toEqual([...DIFFUSION, ...second].sort());
});

test('A folder without ONNX graphs is refused with the command that makes them', () => {
  const torch = DIFFUSION.map((path) => path.replace('model.onnx', 'model.safetensors'));
  expect(() => targets(torch)).toThrow(
    /no text_encoder\/model\.onnx, unet\/model\.onnx, vae_decoder\/model\.onnx\. It has no ONNX graphs\. .*lehr models export/,
  );
  expect(() => targets(['pytorch_model.bin'])).toThrow(
    /neither a model_index.json.*it has pytorch_model.bin/,
  );
});

const TEXT = ['config.json', 'tokenizer.json'];

test('Of a text folder, one graph with its data, the tokenizer and the modules of sentence-transformers are taken', () => {
  const modules = ['modules.json', '1_Pooling/config.json', 'sentence_bert_config.json'];
  const all = [
    'onnx/model.onnx',
    'onnx/model_quantized.onnx',
    'onnx/model.onnx_data',
    'model.safetensors',
    'vocab.txt',
  ];
  expect(targets([...TEXT, ...modules, ...all])).toEqual(
    [...TEXT, ...modules, 'onnx/model.onnx', 'onnx/model.onnx_data'].sort(),
  );
  expect(targets([...TEXT, ...all], 'quantized')).toContain('onnx/model.onnx');
  expect(chooseFiles(files(...TEXT, 'model.onnx'), undefined).task).toBe('text');
});

test('A text folder without a graph is refused with the command that makes it', () => {
  expect(() => targets([...TEXT, 'model.safetensors'])).toThrow(/no model\.onnx.*lehr models export/);
});

test('A VAE encoder is taken where there is one in the variant, and not missed where there is none', () => {
  const encoder = ['vae_encoder/config.json', 'vae_encoder/model.onnx', 'vae_encoder/model.onnx_data'];
  expect(targets([...DIFFUSION, ...encoder])).toEqual([...DIFFUSION, ...encoder].sort());
  const half = DIFFUSION.map((path) => path.replace('model.onnx', 'model_fp16.onnx'));
  expect(targets([...half, ...encoder], 'fp16')).toEqual([...DIFFUSION].sort());
});

test('Of a refiner, the second text encoder is taken, and a source without its VAE encoder is refused', () => {
  const refiner = DIFFUSION.map((path) =>
    path.replace('tokenizer/', 'tokenizer_2/').replace('text_encoder/', 'text_encoder_2/'),
  );
  const encoder = 'vae_encoder/model.onnx';
  expect(targets([...refiner, encoder])).toEqual([...refiner, encoder].sort());
  expect(() => targets(refiner)).toThrow('has no vae_encoder/model.onnx');
});

test('Of a folder that transforms pictures, one graph with its data and the configs are taken', () => {
  const configs = ['config.json', 'preprocessor_config.json'];
  const graphs = ['onnx/model.onnx', 'onnx/model.onnx_data', 'onnx/model_fp16.onnx'];
  const all = [...configs, ...graphs, 'model.safetensors', 'README.md'];
  expect(chooseFiles(files(...all), undefined).task).toBe('transform');
  expect(targets(all)).toEqual([...configs, 'onnx/model.onnx', 'onnx/model.onnx_data'].sort());
  expect(targets(all, 'fp16')).toEqual([...configs, 'onnx/model.onnx'].sort());
  expect(() => targets(all, 'int4')).toThrow(/no model\.onnx in the variant "int4"/);
});

test('The only graph of a source without configs becomes model.onnx, with its data beside it', () => {
  expect(targets(['weights/x4plus.onnx', 'weights/x4plus.onnx.data', 'LICENSE'])).toEqual([
    'model.onnx',
    'x4plus.onnx.data',
  ]);
  expect(() => targets(['x2.onnx', 'x4.onnx'])).toThrow(/nor one graph.*it has x2\.onnx, x4\.onnx/);
});
