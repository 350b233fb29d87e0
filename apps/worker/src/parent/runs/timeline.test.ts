import { expect, test } from 'vitest';
import { deviceMsOf, metricsOf, timingsOf } from './timeline.ts';

const picture = (
  submittedAt: number,
  marks: [number, number, number],
  encodedAt: number,
  uploadedAt: number,
) => ({
  submittedAt,
  engine: { textMs: 12, startedAt: marks[0], denoisedAt: marks[1], decodedAt: marks[2], decodeMs: 0 },
  encodedAt,
  uploadedAt,
});

test('The parts of one picture follow one another and sum to the total time', () => {
  const timings = timingsOf(250, 1000, [picture(1001, [20, 520, 780], 1790.4, 1830.6)]);
  expect(timings).toEqual({
    queued: 250,
    admitted: 9,
    text: 12,
    denoise: 500,
    decode: 260,
    encode: 9,
    upload: 41,
  });
  expect(metricsOf(timings, 1, 'worker')).toMatchObject({ total_ms: 250 + 831, queue_ms: 250, run_ms: 831 });
});

test('With several pictures a part lasts until the last picture has passed it', () => {
  const pictures = [picture(1001, [20, 520, 780], 1790, 1830), picture(1001, [100, 900, 1200], 2210, 2240)];
  const timings = timingsOf(0, 1000, pictures);
  expect(timings).toMatchObject({ denoise: 880, decode: 300, upload: 30 });
  expect(metricsOf(timings, 1, 'worker').total_ms).toBe(1240);
});

test('Parts are never negative, even when a later picture was encoded before an earlier one was decoded', () => {
  const pictures = [picture(1000, [1, 2, 3], 1004, 1005), picture(1000, [1, 500, 501], 1502, 1503)];
  expect(Math.min(...Object.values(timingsOf(-3, 1000, pictures)))).toBeGreaterThanOrEqual(0);
});

test('The device time of a job is that of its pictures together, and unknown when one continued from a checkpoint', () => {
  const [first, second] = [picture(1, [20, 520, 780], 790, 830), picture(1, [20, 520, 780], 790, 830)];
  const measured = (deviceMs: number) => ({ engine: { ...first.engine, deviceMs } });
  expect(deviceMsOf([measured(100.0004), measured(20)])).toBe(120);
  expect(deviceMsOf([measured(100), second])).toBeUndefined();
});
