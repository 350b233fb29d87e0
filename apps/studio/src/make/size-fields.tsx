/** The shapes that the model draws, as small frames. */
import { texts } from '../texts/index.ts';
import { change, model, settings } from './form.ts';
import { fault } from './making.ts';
import { type Size, sizesOf, withChosen } from './sizes.ts';

const FRAME_PX = 22;

export function SizeFields() {
  const chosen = model.value;
  if (!chosen) return null;
  const { width, height } = settings.value;
  const problem = fault.value?.fields.width ?? fault.value?.fields.height;
  return (
    <fieldset class="sizes">
      <legend class="field-name">
        {texts.make.size} <span class="sizes-now">{texts.make.sizeOf(width, height)}</span>
      </legend>
      <div class="size-list">
        {withChosen(sizesOf(chosen), { width, height }).map((size) => (
          <SizeOption key={`${size.width}x${size.height}`} size={size} />
        ))}
      </div>
      <p class="fault">{problem}</p>
    </fieldset>
  );
}

function SizeOption({ size }: { readonly size: Size }) {
  const { width, height, shape } = size;
  const scale = FRAME_PX / Math.max(width, height);
  const isChosen = settings.value.width === width && settings.value.height === height;
  const label = `${texts.make.shapes[shape]}, ${texts.make.sizeOf(width, height)}`;
  return (
    <label class="size" title={label}>
      <input
        type="radio"
        name="size"
        aria-label={label}
        checked={isChosen}
        onChange={() => change({ width, height })}
      />
      <span class="size-body">
        <span class="size-frame" style={{ width: `${width * scale}px`, height: `${height * scale}px` }} />
        <span class="size-text">{Math.max(width, height)}</span>
      </span>
    </label>
  );
}
