import { expect, test } from 'vitest';
import { holdMsOf } from './call-headers.ts';

const PARTS = { holdMs: 120_000 };
const hold = (headers: Parameters<typeof holdMsOf>[1]): number => holdMsOf(PARTS, headers);

test('A call is held for one second less than its client waits, in the header of either client', () => {
  expect(hold({ 'x-stainless-timeout': '6' })).toBe(5000);
  expect(hold({ 'x-stainless-read-timeout': '6' })).toBe(5000);
  expect(hold({ 'x-stainless-read-timeout': '2.5' })).toBe(1500);
});

test('A call with both headers is held for the shorter timeout', () => {
  expect(hold({ 'x-stainless-timeout': '600', 'x-stainless-read-timeout': '3' })).toBe(2000);
  expect(hold({ 'x-stainless-timeout': '3', 'x-stainless-read-timeout': '600' })).toBe(2000);
});

test('A header that is no number changes nothing, and the other header holds', () => {
  expect(hold({})).toBe(120_000);
  expect(hold({ 'x-stainless-timeout': 'inf' })).toBe(120_000);
  expect(hold({ 'x-stainless-timeout': 'soon', 'x-stainless-read-timeout': '3' })).toBe(2000);
});

test('A call is never held for longer than the server holds calls, and always for a moment', () => {
  expect(hold({ 'x-stainless-read-timeout': '600.0' })).toBe(120_000);
  expect(hold({ 'x-stainless-timeout': '0' })).toBe(100);
});
