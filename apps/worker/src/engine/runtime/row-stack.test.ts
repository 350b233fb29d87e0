import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowStack } from './row-stack.ts';
import { FLOAT_TYPES, floatTensor } from './tensor.ts';

const LENGTH = 3;
const ROWS = Array.from({ length: 5 }, (_, i) => Float32Array.of(i, i + 0.25, -i));

test('A stack of constant rows holds the rows of the last call, whatever joined and left before', () => {
  const batches = fc.array(fc.array(fc.nat(ROWS.length - 1), { minLength: 1, maxLength: 6 }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.constantFrom(...FLOAT_TYPES), batches, (type, calls) => {
      const stack = new RowStack({ constant: true });
      for (const call of calls) {
        const rows = call.map((row) => ROWS[row]);
        const dims = [rows.length, LENGTH];
        const values = Float32Array.from(rows.flatMap((row) => [...row]));
        expect(stack.stack(type, rows, dims)).toEqual(floatTensor(type, values, dims));
      }
    }),
  );
});

test('A constant row that stays at its place is not copied again', () => {
  const stack = new RowStack({ constant: true });
  const row = Float32Array.of(1, 2, 3);
  stack.stack('float32', [row, ROWS[1]], [2, LENGTH]);
  row.fill(9);
  expect([...stack.stack('float32', [row, ROWS[2]], [2, LENGTH]).data]).toEqual([1, 2, 3, ...ROWS[2]]);
  expect([...stack.stack('float32', [ROWS[2], row], [2, LENGTH]).data]).toEqual([...ROWS[2], 9, 9, 9]);
});

test('A row that changes is read again at every call', () => {
  const stack = new RowStack();
  const row = Float32Array.of(1, 2, 3);
  stack.stack('float16', [row], [1, LENGTH]);
  row.fill(0.5);
  expect(stack.stack('float16', [row], [1, LENGTH])).toEqual(floatTensor('float16', row, [1, LENGTH]));
});
