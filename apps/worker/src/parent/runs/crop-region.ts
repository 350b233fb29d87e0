/** The part of a picture around its mask that is drawn alone, as diffusers' get_crop_region chooses it. */
import type { PixelSize, Region } from './picture-input.ts';

/**
 * The smallest rectangle around all of the mask, wider by the padding, and as wide or high again as the ratio of the drawn size wants,
 * as far as the picture has room. `mask` has a value above 0.
 */
export function cropRegion(mask: Uint8Array, picture: PixelSize, drawn: PixelSize, padding: number): Region {
  const { columns, rows } = extent(mask, picture);
  const across = padded(columns, padding, picture.width);
  const down = padded(rows, padding, picture.height);
  const ratio = drawn.width / drawn.height;
  const [wide, high] = [across.to - across.from, down.to - down.from];
  const x = wide / high > ratio ? across : grown(across, Math.trunc(high * ratio - wide), picture.width);
  const y = wide / high > ratio ? grown(down, Math.trunc(wide / ratio - high), picture.height) : down;
  return { left: x.from, top: y.from, width: x.to - x.from, height: y.to - y.from };
}

/** From the first pixel to behind the last one. */
interface Span {
  readonly from: number;
  readonly to: number;
}

function extent(mask: Uint8Array, { width, height }: PixelSize): { columns: Span; rows: Span } {
  let [left, right, top, bottom] = [width, 0, height, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (mask[y * width + x] === 0) continue;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
      top = Math.min(top, y);
      bottom = y + 1;
    }
  }
  return { columns: { from: left, to: right }, rows: { from: top, to: bottom } };
}

const padded = ({ from, to }: Span, padding: number, length: number): Span => ({
  from: Math.max(from - padding, 0),
  to: Math.min(to + padding, length),
});

/** Half of it on each side, and where one side has no room, more on the other. */
function grown({ from, to }: Span, by: number, length: number): Span {
  const wanted = Math.min(to - from + by, length);
  const first = Math.min(Math.max(from - Math.floor(by / 2), 0), length - wanted);
  return { from: first, to: first + wanted };
}
