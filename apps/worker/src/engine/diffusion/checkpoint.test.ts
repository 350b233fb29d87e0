import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeCheckpoint, encodeCheckpoint, type SampleState, UnusableCheckpoint } from './checkpoint.ts';
import { SeededNoise } from './noise.ts';

const IDENTITY = 'a digest';

/** Any bits that a float32 can have but NaN, whose bits JavaScript may change. */
const latent = (length: number) =>
  fc.float32Array({ minLength: length, maxLength: length, noNaN: true }) as fc.Arbitrary<Float32Array>;

const states: fc.Arbitrary<SampleState> = fc
  .record({ values: fc.integer({ min: 1, max: 40 }), history: fc.integer({ min: 0, max: 3 }) })
  .chain(({ values, history }) =>
    fc.record({
      latent: latent(values),
      sampler: fc.record({
        call: fc.integer({ min: 0, max: 1000 }),
        history: fc.array(latent(values), { minLength: history, maxLength: history }),
      }),
      noise: fc
        .record({ seed: fc.integer({ min: 0 }), drawn: fc.integer({ min: 0, max: 50 }) })
        .map(({ seed, drawn }) => {
          const noise = new SeededNoise(seed);
          noise.draw(drawn);
          return noise.state();
        }),
    }),
  );

test('Every state is read back with the same bits, wherever its bytes begin in memory', () => {
  fc.assert(
    fc.property(states, fc.integer({ min: 0, max: 7 }), (state, offset) => {
      const bytes = encodeCheckpoint(IDENTITY, state);
      const moved = new Uint8Array(bytes.length + offset);
      moved.set(bytes, offset);
      const read = decodeCheckpoint(moved.subarray(offset), IDENTITY);
      expect(read).toEqual(state);
    }),
    { numRuns: 100 },
  );
});

test('A checkpoint with a changed byte, a part of one and other bytes are refused with a reason', () => {
  const [state] = fc.sample(states, { numRuns: 1, seed: 7 });
  const bytes = encodeCheckpoint(IDENTITY, state);
  const refused = (damaged: Uint8Array): void => {
    expect(() => decodeCheckpoint(damaged, IDENTITY)).toThrow(UnusableCheckpoint);
  };
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const damaged = Uint8Array.from(bytes);
      damaged[at] ^= change;
      refused(damaged);
    }),
  );
  fc.assert(fc.property(fc.nat(bytes.length - 1), (length) => refused(bytes.subarray(0, length))));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), refused));
});

test('The state of another input, of or of other weights is refused', () => {
  const [state] = fc.sample(states, { numRuns: 1, seed: 7 });
  const bytes = encodeCheckpoint(IDENTITY, state);
  expect(() => decodeCheckpoint(bytes, 'another digest')).toThrow(
    /another input, another model or other weights/,
  );
});
