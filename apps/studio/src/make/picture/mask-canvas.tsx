/** The layer above the picture on which its mask is painted. */
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../../texts/index.ts';
import { drawMarks, drawStroke, type Point, type Stroke, tint } from './marks.ts';
import { brush, brushWidth, mark, marks, tool } from './mask.ts';
import type { PictureFile } from './picture-file.ts';

export function MaskCanvas({ picture }: { readonly picture: PictureFile }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const ring = useRef<HTMLSpanElement>(null);
  const stroke = useRef<{ readonly points: Point[] } & Stroke>(undefined);
  const painted = marks.value;
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    drawMarks(context, painted);
    tint(context, colourOf(context.canvas));
  }, [painted, picture]);

  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 || !canvas.current) return;
    event.preventDefault();
    canvas.current.setPointerCapture(event.pointerId);
    stroke.current = { kind: tool.value, width: brushWidth(picture), points: [] };
    extend(event);
  };
  const extend = (event: PointerEvent): void => {
    const context = canvas.current?.getContext('2d');
    if (!stroke.current || !context) return;
    const { points } = stroke.current;
    const moves = event.getCoalescedEvents?.() ?? [];
    const from = points.slice(-1);
    for (const each of moves.length > 0 ? moves : [event]) points.push(placeOf(each, context.canvas));
    const added = [...from, ...points.slice(points.indexOf(from[0]) + 1)];
    drawStroke(context, { ...stroke.current, points: added }, colourOf(context.canvas));
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (ring.current && canvas.current) showRing(ring.current, event, canvas.current);
    extend(event);
  };
  const finish = (): void => {
    if (stroke.current) mark(stroke.current);
    stroke.current = undefined;
  };
  return (
    <>
      <canvas
        ref={canvas}
        class="mask"
        role="img"
        aria-label={texts.edit.maskLabel}
        width={picture.width}
        height={picture.height}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={finish}
        onPointerCancel={finish}
      />
      <span
        ref={ring}
        class="mask-ring"
        aria-hidden="true"
        style={{ width: `${(brushWidth(picture) / picture.width) * 100}%`, '--brush': brush.value }}
      />
    </>
  );
}

const colourOf = (canvas: HTMLCanvasElement): string => getComputedStyle(canvas).color;

/** In pixels of the picture. */
function placeOf({ clientX, clientY }: PointerEvent, canvas: HTMLCanvasElement): Point {
  const { left, top, width, height } = canvas.getBoundingClientRect();
  return { x: ((clientX - left) * canvas.width) / width, y: ((clientY - top) * canvas.height) / height };
}

/** Shows what the brush covers, around the pointer of a mouse or a pen. */
function showRing(ring: HTMLElement, event: PointerEvent, canvas: HTMLCanvasElement): void {
  const { x, y } = placeOf(event, canvas);
  // In percent: it stays on the picture when the window becomes smaller.
  ring.style.left = `${(x / canvas.width) * 100}%`;
  ring.style.top = `${(y / canvas.height) * 100}%`;
  ring.hidden = event.pointerType === 'touch';
}
