/** In the panel: the picture that the next job begins at, and how much of it may change. */

import { FileChoice } from '../../parts/drop-zone.tsx';
import { Icon } from '../../parts/icon.tsx';
import { texts } from '../../texts/index.ts';
import { fault } from '../making.ts';
import { Range } from '../range.tsx';
import { EdgeFields } from './edges.tsx';
import {
  changeEdit,
  chooseFill,
  choosePart,
  dropPicture,
  edit,
  FILLS,
  type Fill,
  isAtCanvas,
  PARTS,
  picture,
  problem,
  takePicture,
} from './edit.ts';

export function PictureFields() {
  return (
    <div class="begin">
      {picture.value ? <Chosen /> : <Choice />}
      <p class="fault" role="alert">
        {problem.value || (fault.value?.fields.image ?? fault.value?.fields.mask)}
      </p>
    </div>
  );
}

function Choice() {
  return (
    <p class="begin-choice file-choice">
      {texts.edit.begin} <FileChoice text={texts.edit.choose} accept="image/*" onFile={takePicture} />
    </p>
  );
}

function Chosen() {
  const taken = picture.value;
  if (!taken) return null;
  const show = (): void => {
    isAtCanvas.value = true;
  };
  return (
    <>
      <div class="begin-picture">
        <button type="button" class="begin-thumb" onClick={show} title={texts.edit.picture}>
          <img src={taken.url} alt={texts.edit.picture} />
        </button>
        <span class="field-name">
          {texts.edit.picture}
          <br />
          {texts.make.sizeOf(taken.width, taken.height)}
        </span>
        <button type="button" class="button-icon" onClick={dropPicture} title={texts.edit.remove}>
          <Icon name="close" />
          <span class="hidden">{texts.edit.remove}</span>
        </button>
      </div>
      <Parts />
      <Range
        name="strength"
        label={texts.edit.strength}
        value={edit.value.strength}
        min={0.05}
        max={1}
        step={0.05}
        onChange={(strength) => changeEdit({ strength })}
      />
      <p class="hint">{texts.edit.hints[edit.value.part]}</p>
      {edit.value.part === 'beyond' && <EdgeFields picture={taken} />}
      {edit.value.part !== 'all' && <MoreFields />}
    </>
  );
}

function Parts() {
  return (
    <fieldset class="segmented begin-parts">
      <legend class="hidden">{texts.edit.part}</legend>
      {PARTS.map((part) => (
        <label key={part}>
          <input
            type="radio"
            name="part"
            checked={edit.value.part === part}
            onChange={() => choosePart(part)}
          />
          <span>{texts.edit.parts[part]}</span>
        </label>
      ))}
    </fieldset>
  );
}

function MoreFields() {
  const { part, fill, blur, onlyMasked } = edit.value;
  return (
    <details class="more">
      <summary>{texts.edit.more}</summary>
      <label class="field">
        <span class="field-name">{texts.edit.fill}</span>
        <select value={fill} onChange={(event) => chooseFill(event.currentTarget.value as Fill)}>
          {FILLS.map((each) => (
            <option key={each} value={each}>
              {texts.edit.fills[each]}
            </option>
          ))}
        </select>
      </label>
      <Range
        name="mask_blur"
        label={texts.edit.blur}
        value={blur}
        min={0}
        max={64}
        step={1}
        onChange={(next) => changeEdit({ blur: next })}
      />
      {part === 'painted' && (
        <label class="check">
          <input
            type="checkbox"
            checked={onlyMasked}
            onChange={(event) => changeEdit({ onlyMasked: event.currentTarget.checked })}
          />
          <span>{texts.edit.onlyMasked}</span>
        </label>
      )}
    </details>
  );
}
