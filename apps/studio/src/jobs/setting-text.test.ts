import { expect, test } from 'vitest';
import { settingText } from './setting-text.ts';

test('Adapters and controls of a job are written with their strengths, and a control with the steps it guides', () => {
  const adapters = [
    { name: 'night', scale: 1 },
    { name: 'outline', scale: 0.5 },
  ];
  expect(settingText('adapters', adapters)).toBe('night 1, outline 0.5');
  const control = [
    { name: 'shapes', image: 'data:', scale: 1, start: 0, end: 1 },
    { name: 'shapes', image: 'data:', scale: 0.8, start: 0.1, end: 0.6, preprocess: 'canny' },
  ];
  expect(settingText('control', control)).toBe('shapes 1, shapes of canny 0.8, steps 10 % to 60 %');
});

test('Any other field is written as it is', () => {
  expect([settingText('steps', 20), settingText('expand', { left: 64 })]).toEqual(['20', '{"left":64}']);
});
