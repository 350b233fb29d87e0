import { type DiffusionModelEntry, parseRegistry, type TextToImageRequest } from '@lehr/shared';
import { expect, test } from 'vitest';
import { checkAdapters } from './complete-adapters.ts';
import { completeInput } from './complete-input.ts';

const entryOf = (adapters = '', more = ''): DiffusionModelEntry =>
  parseRegistry(
    `models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }], adapters: [${adapters}]${more} }]`,
  ).resolve('diffusion', 'm', 0).model;
const INK = '{ name: ink, path: i.safetensors, scale: 0.7 }';
const MODEL = entryOf(`${INK}, { name: old_film, path: o.safetensors }, { name: x, path: x.safetensors }`);

const of = (request: Partial<TextToImageRequest>, model = MODEL) => {
  const { prompt, adapters } = completeInput({ prompt: 'a cat', ...request }, model);
  return { prompt, adapters };
};
const weighted = (prompt: string, more: Partial<TextToImageRequest> = {}, model = MODEL) =>
  of({ prompt, prompt_syntax: 'weighted', ...more }, model);
const problemsOf = (make: () => unknown): readonly { pointer: string; detail: string }[] => {
  try {
    make();
  } catch (error) {
    return (error as { problems: readonly { pointer: string; detail: string }[] }).problems;
  }
  return [];
};

test('The adapters of a request get the scale of the model where they have none, and 1 where it has none', () => {
  const adapters = [{ name: 'ink' }, { name: 'x' }, { name: 'old_film', scale: -0.5 }];
  expect(of({ adapters }).adapters).toEqual([
    { name: 'ink', scale: 0.7 },
    { name: 'x', scale: 1 },
    { name: 'old_film', scale: -0.5 },
  ]);
});

test('The input of a picture without adapters says nothing of them, whatever its model has', () => {
  const plain = completeInput({ prompt: 'a cat', seed: 1 }, entryOf());
  for (const request of [{}, { adapters: [] }]) {
    const input = completeInput({ prompt: 'a cat', seed: 1, ...request }, MODEL);
    expect(JSON.stringify(input)).toBe(JSON.stringify(plain));
  }
});

test('A tag in a weighted prompt is an adapter and no text, after those of the list', () => {
  expect(weighted('a (cat:1.2) <lora:ink:0.8>', { adapters: [{ name: 'x' }] })).toEqual({
    prompt: 'a (cat:1.2)',
    adapters: [
      { name: 'x', scale: 1 },
      { name: 'ink', scale: 0.8 },
    ],
  });
  expect(weighted('<lora:ink>')).toEqual({ prompt: '', adapters: [{ name: 'ink', scale: 0.7 }] });
  // As the file was named that became the adapter.
  expect(weighted('cat <lora:Old_Film:1>').adapters).toEqual([{ name: 'old_film', scale: 1 }]);
  expect(weighted(' a cat ')).toEqual({ prompt: ' a cat ', adapters: undefined });
});

test('Where prompts are plain a tag is text, and where the model reads them as weighted it is an adapter', () => {
  const prompt = 'a cat <lora:nothing:1>';
  expect(of({ prompt })).toEqual({ prompt, adapters: undefined });
  const model = entryOf(INK, ', defaults: { prompt_syntax: weighted }');
  expect(of({ prompt: 'a cat <lora:ink:2>' }, model).adapters).toEqual([{ name: 'ink', scale: 2 }]);
});

test('An unknown name is refused where it is written, with the names that there are', () => {
  const detail = 'must be one of: ink, old_film, x';
  expect(problemsOf(() => of({ adapters: [{ name: 'x' }, { name: 'Ink' }] }))).toEqual([
    { pointer: '/input/adapters/1/name', detail },
  ]);
  expect(problemsOf(() => weighted('<lora:oil>'))).toEqual([
    { pointer: '/input/prompt', detail: `has <lora:oil>; the name ${detail}` },
  ]);
  expect(problemsOf(() => of({ adapters: [{ name: 'x' }] }, entryOf()))).toEqual([
    { pointer: '/input/adapters/0/name', detail: 'is unknown: m has no adapters' },
  ]);
});

test.each([
  ['<lora:ink:0.5:0.7>', 'has two numbers'],
  ['<lora:ink:11>', 'the number must be from -10 to 10'],
  ['<lora:ink:strong>', 'has no number behind its name'],
  ['<lora:ink><lora:ink:2>', 'names the adapter ink a second time'],
])('The prompt %s is refused: %s', (prompt, detail) => {
  expect(problemsOf(() => weighted(prompt))).toEqual([
    { pointer: '/input/prompt', detail: expect.stringContaining(detail) },
  ]);
});

test('One adapter cannot be in the list twice, and not in the list and the prompt', () => {
  const [twice] = problemsOf(() => of({ adapters: [{ name: 'x' }, { name: 'x', scale: 2 }] }));
  expect(twice).toMatchObject({ pointer: '/input/adapters/1/name' });
  const [both] = problemsOf(() => weighted('cat <lora:x>', { adapters: [{ name: 'x' }] }));
  expect(both).toMatchObject({ pointer: '/input/prompt' });
});

test('A weighted negative prompt names no adapters', () => {
  expect(problemsOf(() => weighted('cat', { negative_prompt: 'dog <lora:x>' }))).toEqual([
    { pointer: '/input/negative_prompt', detail: expect.stringContaining('named in the prompt') },
  ]);
  expect(of({ negative_prompt: 'dog <lora:x>' }).adapters).toBeUndefined();
});

test('A picture has at most eight adapters, those of its prompt among them', () => {
  const names = Array.from({ length: 9 }, (_, i) => `a${i}`);
  const model = entryOf(names.map((name) => `{ name: ${name}, path: a.safetensors }`).join(', '));
  const adapters = names.slice(1).map((name) => ({ name }));
  expect(weighted('cat', { adapters }, model).adapters).toHaveLength(8);
  expect(problemsOf(() => weighted('cat <lora:a0>', { adapters }, model))).toEqual([
    { pointer: '/input/prompt', detail: 'makes 9 adapters of one picture; at most 8 are allowed' },
  ]);
});

test('A job whose adapter was removed cannot be repeated', () => {
  const { adapters } = of({ adapters: [{ name: 'ink' }] });
  checkAdapters({ adapters }, MODEL);
  checkAdapters({}, entryOf());
  expect(() => checkAdapters({ adapters }, entryOf())).toThrow('used the adapter ink, which m no longer has');
});
