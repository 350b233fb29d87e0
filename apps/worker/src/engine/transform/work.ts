/** The rows that one picture is for a graph, and what their results make. */
import { LehrError } from '@lehr/shared';
import type { TransformResult } from '../protocol/messages.ts';
import type { PictureSize } from '../values/resize.ts';
import type { Reading, TransformModel } from './folder/transform-folder.ts';
import { JoinedPicture } from './joined-picture.ts';
import { prepared, preparedSize, shownPart, toPixelValues, toValues } from './preparation.ts';
import { checkFinite, classOf, maskOf, planeOf } from './results.ts';
import { cutTile, planTiles } from './tiles.ts';
import type { RowOutput } from './transform-graph.ts';

export interface Picture extends PictureSize {
  /** RGB, 8 bits, row-major, height x width x 3. */
  readonly pixels: Uint8Array;
}

export interface Work {
  readonly rows: number;
  /** Of each row. */
  readonly size: PictureSize;
  /** What the graph takes. */
  row(index: number): Float32Array;
  /** Takes the results in the order of the rows. Throws LehrError `numeric-error`, and `engine-failed` for another shape. */
  add(output: RowOutput): void;
  /** Of all rows. */
  result(): TransformResult;
}

/** `topK`: labels, of a result that is a class. */
export function workOf(model: TransformModel, picture: Picture, topK: number): Work {
  const { reading, graph, preparation } = model;
  if (reading.kind === 'picture') return tiledWork(model, reading, picture);
  return wholeWork(model, picture, (output) =>
    reading.kind === 'mask'
      ? maskOf(output, graph.layout, reading.scale, { picture, used: shownPart(preparation, picture) })
      : classOf(output, reading, topK),
  );
}

function tiledWork(
  { graph, preparation }: TransformModel,
  { tile, scale }: Extract<Reading, { kind: 'picture' }>,
  picture: Picture,
): Work {
  const plan = planTiles(picture, tile);
  const joined = new JoinedPicture(picture, plan, scale);
  const { rows, columns } = plan;
  return {
    rows: rows.length * columns.length,
    size: tile,
    row: (index) => {
      const place = {
        top: rows[Math.floor(index / columns.length)].at,
        left: columns[index % columns.length].at,
      };
      return toValues(cutTile(picture.pixels, picture, { ...place, ...tile }), preparation, graph.layout);
    },
    add: (output) => {
      checkFinite(output);
      const plane = planeOf(output.dims, graph.layout);
      if (plane.width !== tile.width * scale || plane.height !== tile.height * scale) {
        const sizes = `${tile.width}x${tile.height} pixels ${plane.width}x${plane.height}`;
        throw new LehrError('engine-failed', `The graph made of ${sizes}, wanted ${scale} times the size.`);
      }
      const values = toPixelValues(output.values, plane.channels, preparation, graph.layout);
      joined.add(values, plane.width);
    },
    result: () => {
      const { pixels, width, height } = joined;
      return { kind: 'picture', pixels: new Uint8Array(pixels.buffer), width, height };
    },
  };
}

function wholeWork(
  { graph, preparation }: TransformModel,
  picture: Picture,
  read: (output: RowOutput) => TransformResult,
): Work {
  let result: TransformResult | undefined;
  return {
    rows: 1,
    size: preparedSize(preparation, picture),
    row: () => toValues(prepared(picture.pixels, picture, preparation), preparation, graph.layout),
    add: (output) => {
      checkFinite(output);
      result = read(output);
    },
    result: () => {
      if (!result) throw new Error('A picture without a result has ended. This is a bug in Lehr.');
      return result;
    },
  };
}
