import { SAMPLER_NAMES, type TextToImageInput } from '@lehr/shared';
import { expect, test } from 'vitest';
import { infotextOf, parseInfotext } from './infotext.ts';
import { samplerOf, webUiNames } from './samplers.ts';

const INPUT: TextToImageInput = {
  prompt: 'a red circle,\non (blue:1.2)',
  negative_prompt: 'green\nyellow',
  width: 64,
  height: 96,
  steps: 8,
  guidance: 4.5,
  seed: 7,
  sampler: 'dpmpp_2m_karras',
  n: 1,
  output_format: 'png',
  embed_prompt: false,
};

test('The text of a picture is that of the web UI, and is read back field by field', () => {
  const text = infotextOf({ ...INPUT, strength: 0.5 }, 8, 'tiny@1');
  expect(text).toBe(
    'a red circle,\non (blue:1.2)\nNegative prompt: green\nyellow\n' +
      'Steps: 8, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 4.5, Seed: 8, Size: 64x96, Model: tiny@1, Denoising strength: 0.5',
  );
  expect(parseInfotext(text)).toEqual({
    Prompt: 'a red circle,\non (blue:1.2)',
    'Negative prompt': 'green\nyellow',
    Steps: '8',
    Sampler: 'DPM++ 2M',
    'Schedule type': 'Karras',
    'CFG scale': '4.5',
    Seed: '8',
    'Size-1': '64',
    'Size-2': '96',
    Model: 'tiny@1',
    'Denoising strength': '0.5',
  });
});

test('Adapters are tags behind the prompt', () => {
  const adapters = [
    { name: 'ink', scale: 0.8 },
    { name: 'film', scale: 1 },
  ];
  const { Prompt } = parseInfotext(infotextOf({ ...INPUT, adapters }, 7, 'tiny@1'));
  expect(Prompt).toBe(`${INPUT.prompt} <lora:ink:0.8> <lora:film:1>`);
});

test.each([
  ['', '', ''],
  ['a red circle', 'a red circle', ''],
  ['a circle, steps: 3, of: 4', 'a circle, steps: 3, of: 4', ''],
  ['Negative prompt: green', '', 'green'],
])('The text %j has no fields, and its prompts are %j and %j', (text, prompt, negative) => {
  expect(parseInfotext(text)).toEqual({ Prompt: prompt, 'Negative prompt': negative });
});

test('A value with a comma is in quotes', () => {
  const text = 'x\nSteps: 8, Sampler: Euler, Lora hashes: "a: 1, \\"b\\": 2", Seed: 1';
  expect(parseInfotext(text)).toMatchObject({ 'Lora hashes': 'a: 1, "b": 2', Seed: '1' });
});

test('A megabyte without a separator is read in less than a second', () => {
  const startedAt = performance.now();
  expect(parseInfotext('a b'.repeat(350_000)).Prompt).toHaveLength(1_050_000);
  parseInfotext(`a: "${'\\'.repeat(1_000_000)}`);
  expect(performance.now() - startedAt).toBeLessThan(1000);
});

const ALL = { samplers: [...SAMPLER_NAMES] };

test('Every sampler of Lehr has a name of the web UI, which leads back to it', () => {
  for (const sampler of SAMPLER_NAMES) {
    const { name, scheduler } = webUiNames(sampler);
    expect(samplerOf(ALL, name, scheduler), sampler).toBe(sampler);
  }
});

test.each([
  ['Euler a', undefined, 'euler_a'],
  ['euler A', 'automatic', 'euler_a'],
  ['k_euler', '', 'euler'],
  ['DPM++ 2M', undefined, 'dpmpp_2m_karras'],
  ['DPM++ 2M', 'Uniform', 'dpmpp_2m'],
  ['DPM++ 2M', 'karras', 'dpmpp_2m_karras'],
  ['DPM++ 2M Karras', 'Automatic', 'dpmpp_2m_karras'],
  ['DPM++ 2M SDE Karras', undefined, 'dpmpp_2m_sde_karras'],
  ['', undefined, undefined],
])('The sampler %j with the scheduler %j is %s', (name, scheduler, sampler) => {
  expect(samplerOf(ALL, name, scheduler)).toBe(sampler);
});

test('Automatic is a spacing that the model offers', () => {
  expect(samplerOf({ samplers: ['dpmpp_2m'] }, 'DPM++ 2M', 'Automatic')).toBe('dpmpp_2m');
});

test('An unknown sampler and a spacing that a sampler does not have are refused with what there is', () => {
  expect(() => samplerOf(ALL, 'Restart', undefined)).toThrow(/Sampler not found: "Restart".*Euler a/);
  expect(() => samplerOf(ALL, 'Euler', 'Karras')).toThrow(
    'scheduler must be one of: Automatic, Uniform with Euler',
  );
});
