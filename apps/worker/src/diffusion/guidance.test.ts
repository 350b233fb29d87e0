import { expect, test } from 'vitest';
import { applyGuidance } from './guidance.ts';

test("Guidance moves the prompt's prediction away from the negative prompt's prediction by the scale", () => {
  const negative = Float32Array.of(1, 2);
  const prompt = Float32Array.of(3, -4);
  applyGuidance(negative, prompt, 7.5);
  expect([...prompt]).toEqual([1 + 7.5 * (3 - 1), 2 + 7.5 * (-4 - 2)]);
  expect([...negative]).toEqual([1, 2]);
});

test("Guidance of scale 1 keeps the prompt's prediction, and of scale 0 gives the negative prompt's", () => {
  const prompt = Float32Array.of(0.75);
  applyGuidance(Float32Array.of(0.25), prompt, 1);
  expect(prompt[0]).toBe(0.75);
  applyGuidance(Float32Array.of(0.25), prompt, 0);
  expect(prompt[0]).toBe(0.25);
});
