/** The edges of the picture, which are pulled outwards to draw more around it: with a pointer, with arrow keys, or as numbers. */
import { useRef } from 'preact/hooks';
import { texts } from '../../texts/index.ts';
import { model } from '../form.ts';
import { fault } from '../making.ts';
import { edit, moveEdge } from './edit.ts';
import { isAcross, mostOf, SIDES, type Side, wholeOf } from './frame.ts';
import type { PictureFile } from './picture-file.ts';

interface EdgeProps {
  readonly picture: PictureFile;
  readonly side: Side;
}

export function Edges({ picture }: { readonly picture: PictureFile }) {
  return SIDES.map((side) => <Edge key={side} picture={picture} side={side} />);
}

const OUTWARDS: Readonly<Record<Side, string>> = {
  left: 'ArrowLeft',
  right: 'ArrowRight',
  top: 'ArrowUp',
  bottom: 'ArrowDown',
};
const INWARDS: Readonly<Record<Side, string>> = {
  left: 'ArrowRight',
  right: 'ArrowLeft',
  top: 'ArrowDown',
  bottom: 'ArrowUp',
};

function Edge({ picture, side }: EdgeProps) {
  /** Where the pull began, and how many pixels of the picture one of the screen was then. */
  const pull = useRef<{ readonly at: number; readonly from: number; readonly scale: number }>(undefined);
  const limits = model.value?.limits;
  if (!limits) return null;
  const { expand } = edit.value;
  const placeOnScreen = (event: PointerEvent): number => (isAcross(side) ? event.clientX : event.clientY);
  const onPointerDown = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    const frame = handle.parentElement?.getBoundingClientRect();
    if (!frame) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const scale = wholeOf(picture, expand).width / frame.width;
    pull.current = { at: placeOnScreen(event), from: expand[side], scale };
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (!pull.current) return;
    const { at, from, scale } = pull.current;
    const outwards =
      side === 'left' || side === 'top' ? at - placeOnScreen(event) : placeOnScreen(event) - at;
    moveEdge(side, from + outwards * scale);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps = event.key === OUTWARDS[side] ? 1 : event.key === INWARDS[side] ? -1 : 0;
    if (steps === 0) return;
    event.preventDefault();
    moveEdge(side, expand[side] + steps * limits.size_step);
  };
  const finish = (): void => {
    pull.current = undefined;
  };
  return (
    <div
      class="edge"
      data-side={side}
      role="slider"
      tabIndex={0}
      aria-label={texts.edit.edges[side]}
      aria-orientation={isAcross(side) ? 'horizontal' : 'vertical'}
      aria-valuemin={0}
      aria-valuemax={mostOf(side, picture, expand, limits)}
      aria-valuenow={expand[side]}
      aria-valuetext={texts.edit.pixels(expand[side])}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={finish}
      onPointerCancel={finish}
      onKeyDown={onKeyDown}
    />
  );
}

/** The same as four numbers. */
export function EdgeFields({ picture }: { readonly picture: PictureFile }) {
  const limits = model.value?.limits;
  const { expand } = edit.value;
  if (!limits) return null;
  return (
    <fieldset class="edge-fields">
      <legend class="field-name">{texts.edit.moreAround}</legend>
      {SIDES.map((side) => (
        <label key={side} class="field">
          <span class="field-name">{texts.edit.sides[side]}</span>
          <input
            type="number"
            min={0}
            max={mostOf(side, picture, expand, limits)}
            step={limits.size_step}
            value={expand[side]}
            onChange={(event) => moveEdge(side, Number(event.currentTarget.value))}
          />
        </label>
      ))}
      <p class="fault">{fault.value?.fields.expand}</p>
    </fieldset>
  );
}
