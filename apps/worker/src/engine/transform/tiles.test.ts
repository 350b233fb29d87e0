import { expect, test } from 'vitest';
import { JoinedPicture } from './joined-picture.ts';
import { cutTile, mirrored, planSpans, planTiles } from './tiles.ts';

test.each([
  [300, 256],
  [257, 256],
  [480, 256],
  [481, 256],
  [5000, 256],
  [64, 16],
  [33, 32],
  [100, 8],
])('Tiles cover a side of %i pixels once, with seams away from the edges of tiles of %i', (length, tile) => {
  const spans = planSpans(length, tile);
  expect(spans[0]).toMatchObject({ at: 0, from: 0, ramp: 0 });
  expect(spans[spans.length - 1]).toMatchObject({ at: length - tile, to: length });
  for (const [i, span] of spans.entries()) {
    expect(span.from).toBeGreaterThanOrEqual(span.at);
    expect(span.to).toBeLessThanOrEqual(span.at + tile);
    if (i === 0) continue;
    const before = spans[i - 1];
    // The seam is all that two neighbours share.
    expect(span.from + span.ramp).toBe(before.to);
    const dropped = Math.min(span.from - span.at, before.at + tile - before.to);
    expect(dropped).toBeGreaterThanOrEqual(Math.floor(tile / 32));
    expect(span.from).toBeGreaterThanOrEqual(before.from + before.ramp);
  }
});

test('A picture that fits into a tile is one tile, down to one pixel', () => {
  expect(planSpans(256, 256)).toEqual([{ at: 0, from: 0, to: 256, ramp: 0 }]);
  expect(planSpans(1, 256)).toEqual([{ at: 0, from: 0, to: 1, ramp: 0 }]);
});

test('Beyond its edge, a picture is continued by its mirror image', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7].map((at) => mirrored(at, 3))).toEqual([0, 1, 2, 2, 1, 0, 0, 1]);
  const pixels = Uint8Array.of(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4);
  const tile = cutTile(pixels, { width: 2, height: 2 }, { top: 0, left: 0, width: 5, height: 3 });
  const reds = tile.filter((_, i) => i % 3 === 0);
  expect([...reds]).toEqual([1, 2, 2, 1, 1, 3, 4, 4, 3, 3, 3, 4, 4, 3, 3]);
});

test('Tiles that agree join to the picture that they were cut from', () => {
  const picture = { width: 77, height: 41 };
  const pixels = Uint8Array.from({ length: 77 * 41 * 3 }, (_, i) => (i * 7919) % 256);
  const tile = { width: 16, height: 16 };
  const plan = planTiles(picture, tile);
  const joined = new JoinedPicture(picture, plan, 1);
  for (const row of plan.rows) {
    for (const column of plan.columns) {
      joined.add(Float32Array.from(cutTile(pixels, picture, { top: row.at, left: column.at, ...tile })), 16);
    }
  }
  expect(new Uint8Array(joined.pixels)).toEqual(pixels);
});

test('Tiles that differ go over into each other without a step', () => {
  const picture = { width: 60, height: 60 };
  const tile = { width: 32, height: 32 };
  const plan = planTiles(picture, tile);
  expect([plan.rows.length, plan.columns.length]).toEqual([2, 2]);
  const joined = new JoinedPicture(picture, plan, 2);
  for (const grey of [40, 80, 120, 160]) joined.add(new Float32Array(64 * 64 * 3).fill(grey), 64);
  const at = (x: number, y: number): number => joined.pixels[(y * 120 + x) * 3];
  expect([at(0, 0), at(119, 0), at(0, 119), at(119, 119)]).toEqual([40, 80, 120, 160]);
  for (let i = 1; i < 120; i += 1) {
    expect(Math.abs(at(i, 60) - at(i - 1, 60))).toBeLessThanOrEqual(40 / 4 + 1);
    expect(Math.abs(at(60, i) - at(60, i - 1))).toBeLessThanOrEqual(80 / 4 + 1);
  }
});
