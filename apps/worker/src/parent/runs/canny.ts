/**
 * The edges of a picture, white on black, as OpenCV's `Canny` finds them: Sobel gradients of 3x3 pixels with their L1 norm, the colour with
 * the largest one, edges of one pixel, and weak edges where they continue strong ones. The numbers are whole, so the result is the same.
 */
import type { PixelSize } from './picture-input.ts';

/** A gradient above the first continues an edge, above the second it begins one: those of the examples of ControlNet. */
const WEAK = 100;
const STRONG = 200;

/** tan(22.5 degrees), in units of 1 / 2^15. */
const TAN_22 = 13_573;
const UNIT_BITS = 15;

const COLOURS = 3;
const WHITE = 255;
/** An edge where it continues another one. */
const MAYBE = 1;

/** Gradients of a line of the picture; their norm has a 0 before and after the line. */
interface Line {
  readonly across: Int16Array;
  readonly down: Int16Array;
  readonly norm: Uint16Array;
}

/** RGB of 8 bits to RGB of 8 bits. The time and the memory grow with the pixels. */
export function cannyEdges(pixels: Uint8Array, { width, height }: PixelSize): Uint8Array {
  const edges = new Uint8Array(width * height);
  /** Pixels whose neighbours are still to be looked at; each gets here once. */
  const open = new Uint32Array(width * height);
  let count = 0;
  const lines = [0, 1, 2].map(() => newLine(width));
  fillLine(lines[1], pixels, { width, height }, 0);
  for (let y = 0; y < height; y++) {
    const [above, own, below] = [lines[y % 3], lines[(y + 1) % 3], lines[(y + 2) % 3]];
    if (y + 1 < height) fillLine(below, pixels, { width, height }, y + 1);
    else below.norm.fill(0);
    for (let x = 0; x < width; x++) {
      const norm = own.norm[x + 1];
      if (norm <= WEAK || !isRidge(above, own, below, x)) continue;
      const at = y * width + x;
      edges[at] = norm > STRONG ? WHITE : MAYBE;
      if (norm > STRONG) open[count++] = at;
    }
  }
  followEdges(edges, { width, height }, open, count);
  const found = new Uint8Array(edges.length * COLOURS);
  for (let at = 0; at < edges.length; at++)
    if (edges[at] === WHITE) found.fill(WHITE, at * COLOURS, (at + 1) * COLOURS);
  return found;
}

const newLine = (width: number): Line => ({
  across: new Int16Array(width),
  down: new Int16Array(width),
  norm: new Uint16Array(width + 2),
});

/** At the border, the pixels of the picture are repeated. */
function fillLine(line: Line, pixels: Uint8Array, { width, height }: PixelSize, y: number): void {
  const stride = width * COLOURS;
  const above = Math.max(0, y - 1) * stride;
  const own = y * stride;
  const below = Math.min(height - 1, y + 1) * stride;
  for (let x = 0; x < width; x++) {
    const left = Math.max(0, x - 1) * COLOURS;
    const here = x * COLOURS;
    const right = Math.min(width - 1, x + 1) * COLOURS;
    let most = -1;
    for (let colour = 0; colour < COLOURS; colour++) {
      const [l, h, r] = [left + colour, here + colour, right + colour];
      const across =
        pixels[above + r] +
        2 * pixels[own + r] +
        pixels[below + r] -
        (pixels[above + l] + 2 * pixels[own + l] + pixels[below + l]);
      const down =
        pixels[below + l] +
        2 * pixels[below + h] +
        pixels[below + r] -
        (pixels[above + l] + 2 * pixels[above + h] + pixels[above + r]);
      const norm = Math.abs(across) + Math.abs(down);
      if (norm <= most) continue;
      most = norm;
      line.across[x] = across;
      line.down[x] = down;
      line.norm[x + 1] = norm;
    }
  }
}

/** Whether no pixel beside it, in the direction of its gradient, has a larger one. */
function isRidge(above: Line, { across, down, norm }: Line, below: Line, x: number): boolean {
  const own = norm[x + 1];
  const steep = Math.abs(across[x]);
  const rise = Math.abs(down[x]) << UNIT_BITS;
  const shallow = steep * TAN_22;
  if (rise < shallow) return own > norm[x] && own >= norm[x + 2];
  // tan(67.5 degrees) is tan(22.5 degrees) and 2.
  if (rise > shallow + (steep << (UNIT_BITS + 1))) return own > above.norm[x + 1] && own >= below.norm[x + 1];
  const side = (across[x] ^ down[x]) < 0 ? -1 : 1;
  return own > above.norm[x + 1 - side] && own > below.norm[x + 1 + side];
}

/** What may be an edge is one where it touches another, also at a corner. */
function followEdges(
  edges: Uint8Array,
  { width, height }: PixelSize,
  open: Uint32Array,
  count: number,
): void {
  let left = count;
  while (left > 0) {
    const at = open[--left];
    const x = at % width;
    const y = (at - x) / width;
    for (let ny = Math.max(0, y - 1); ny <= Math.min(height - 1, y + 1); ny++) {
      for (let nx = Math.max(0, x - 1); nx <= Math.min(width - 1, x + 1); nx++) {
        const next = ny * width + nx;
        if (edges[next] !== MAYBE) continue;
        edges[next] = WHITE;
        open[left++] = next;
      }
    }
  }
}
