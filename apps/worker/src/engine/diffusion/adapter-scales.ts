/** How strongly adapters act on a row of a UNet or of a text encoder. */
import type { Tensor } from '../runtime/tensor.ts';

export interface AdapterScale {
  /** As models.yaml names it. */
  readonly name: string;
  /** 1 is as it was trained, 0 is nothing. */
  readonly scale: number;
}

interface AdaptedRow {
  readonly adapters?: readonly AdapterScale[] | undefined;
}

/** The scale of each adapter of a graph for one row: 0 for those that do not act on it. */
export const scalesOf = (columns: readonly string[], { adapters = [] }: AdaptedRow): number[] =>
  columns.map((column) => adapters.find(({ name }) => name === column)?.scale ?? 0);

/** `[rows, adapters]`. */
export function stackScales(columns: readonly string[], rows: readonly AdaptedRow[]): Tensor {
  const data = Float32Array.from(rows.flatMap((row) => scalesOf(columns, row)));
  return { type: 'float32', data, dims: [rows.length, columns.length] };
}
