/** In the panel: the picture that guides the drawing, and how. Absent of a model without a ControlNet. */
import { DropZone, FileChoice } from '../../parts/drop-zone.tsx';
import { Icon } from '../../parts/icon.tsx';
import { texts } from '../../texts/index.ts';
import { model } from '../form.ts';
import { fault } from '../making.ts';
import { Range } from '../range.tsx';
import {
  type Control,
  changeControl,
  chosenControl,
  control,
  controlsOf,
  dropControl,
  problem,
  setEnd,
  setStart,
  takeControl,
} from './control.ts';

const ID = 'control';

/** Whether what is pasted is meant for it. */
export const isControlFocused = (): boolean =>
  document.getElementById(ID)?.contains(document.activeElement) ?? false;

export function ControlFields() {
  if (controlsOf(model.value).length === 0) return null;
  const now = control.value;
  return (
    <DropZone onFile={takeControl}>
      <div class="begin" id={ID}>
        {now ? <Chosen now={now} /> : <Choice />}
        <p class="fault" role="alert">
          {problem.value || fault.value?.fields.control}
        </p>
      </div>
    </DropZone>
  );
}

function Choice() {
  return (
    <p class="begin-choice file-choice">
      {texts.control.begin} <FileChoice text={texts.control.choose} accept="image/*" onFile={takeControl} />
    </p>
  );
}

function Chosen({ now }: { readonly now: Control }) {
  const { picture, scale, start, end } = now;
  const share = { min: 0, max: 1, step: 0.05 };
  return (
    <>
      <div class="begin-picture">
        {picture ? (
          <img class="begin-thumb" src={picture.url} alt={texts.control.picture} />
        ) : (
          <span class="begin-thumb" />
        )}
        <span class="field-name">
          {texts.control.picture}
          <br />
          {picture ? texts.make.sizeOf(picture.width, picture.height) : texts.control.ofJob}
        </span>
        <button type="button" class="button-icon" onClick={dropControl} title={texts.control.remove}>
          <Icon name="close" />
          <span class="hidden">{texts.control.remove}</span>
        </button>
      </div>
      <Choices now={now} />
      <Range
        name="control-scale"
        label={texts.control.scale}
        value={scale}
        min={0}
        max={2}
        step={0.05}
        onChange={(next) => changeControl({ scale: next })}
      />
      <details class="more">
        <summary>{texts.control.window}</summary>
        <Range
          name="control-start"
          label={texts.control.start}
          value={start}
          {...share}
          onChange={setStart}
        />
        <Range name="control-end" label={texts.control.end} value={end} {...share} onChange={setEnd} />
      </details>
    </>
  );
}

/** Which ControlNet, and what makes its control picture. */
function Choices({ now }: { readonly now: Control }) {
  const all = controlsOf(model.value);
  const entry = chosenControl(model.value, now.name);
  if (!entry) return null;
  const preprocesses = [...new Set(['none', 'canny', entry.preprocess])];
  return (
    <>
      <label class="field">
        <span class="field-name">{texts.control.name}</span>
        <select
          aria-describedby="control-description"
          value={entry.name}
          onChange={(event) => changeControl({ name: event.currentTarget.value, preprocess: '' })}
        >
          {all.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <p id="control-description" class="hint">
        {entry.description}
      </p>
      <label class="field">
        <span class="field-name">{texts.control.preprocess}</span>
        <select
          value={now.preprocess || entry.preprocess}
          onChange={(event) => changeControl({ preprocess: event.currentTarget.value })}
        >
          {preprocesses.map((each) => (
            <option key={each} value={each}>
              {texts.control.preprocesses(each)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
