import { expect, test } from 'vitest';
import { type GraphInput, unetInputNames } from './conditioning.ts';

const inputs = (ranks: Record<string, number>): GraphInput[] =>
  Object.entries(ranks).map(([name, rank]) => ({ name, rank }));

test('The names of diffusers and Optimum are found in any order', () => {
  const sdxl = {
    time_ids: 2,
    text_embeds: 2,
    encoder_hidden_states: 3,
    timestep: 0,
    timestep_cond: 2,
    sample: 4,
  };
  expect(unetInputNames(inputs(sdxl))).toEqual({
    sample: 'sample',
    timestep: 'timestep',
    text: 'encoder_hidden_states',
    conditions: new Map([
      ['text_embeds', 'text_embeds'],
      ['time_ids', 'time_ids'],
      ['timestep_cond', 'timestep_cond'],
    ]),
  });
});

test('Inputs that come out of a dictionary are found behind its name', () => {
  const { conditions } = unetInputNames(
    inputs({
      sample: 4,
      timestep: 1,
      encoder_hidden_states: 3,
      'added_cond_kwargs.text_embeds': 2,
      added_cond_kwargs_time_ids: 2,
    }),
  );
  expect([...conditions]).toEqual([
    ['text_embeds', 'added_cond_kwargs.text_embeds'],
    ['time_ids', 'added_cond_kwargs_time_ids'],
  ]);
});

test('Other names are found by their rank', () => {
  const { sample, timestep, text } = unetInputNames(inputs({ t: 1, x: 4, context: 3 }));
  expect([sample, timestep, text]).toEqual(['x', 't', 'context']);
});

test('An input that Lehr has no value for is named, and so is a missing one', () => {
  const plain = { sample: 4, timestep: 0, encoder_hidden_states: 3 };
  expect(() => unetInputNames(inputs({ ...plain, class_labels: 1 }))).toThrow(
    'wants an input "class_labels" that Lehr does not know',
  );
  expect(() => unetInputNames(inputs({ sample: 4, timestep: 0 }))).toThrow(
    'has no input "encoder_hidden_states" (of rank 3; it has sample, timestep)',
  );
});

test('A timestep that the exporter took for a constant is missing, and the message says how to export it', () => {
  expect(() => unetInputNames(inputs({ sample: 4, encoder_hidden_states: 3 }))).toThrow(
    'no input "timestep" (of rank 0 or 1; it has sample, encoder_hidden_states). Exporters leave out an argument that is a number and ' +
      'not a tensor, or that is not used: export with a tensor for each of sample, timestep, encoder_hidden_states.',
  );
});
