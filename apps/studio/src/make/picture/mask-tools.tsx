/** What paints the mask, below the picture. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { FileChoice } from '../../parts/drop-zone.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { texts } from '../../texts/index.ts';
import { BRUSH, brush, mark, marks, readMask, resizeBrush, tool, undo } from './mask.ts';
import type { PictureFile } from './picture-file.ts';

export function MaskTools({ picture }: { readonly picture: PictureFile }) {
  const problem = useSignal('');
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const take = async (file: File): Promise<void> => {
    try {
      mark(await readMask(file, picture));
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof RangeError ? error.message : texts.edit.notAPicture;
    }
  };
  return (
    <div class="mask-tools">
      <Tools />
      <label class="mask-brush">
        <span class="field-name">{texts.edit.brushSize}</span>
        <input
          class="range-slider"
          type="range"
          min={BRUSH.min}
          max={BRUSH.max}
          value={brush.value}
          style={{ '--part': `${((brush.value - BRUSH.min) / (BRUSH.max - BRUSH.min)) * 100}%` }}
          onInput={(event) => {
            brush.value = Number(event.currentTarget.value);
          }}
        />
      </label>
      <div class="mask-actions">
        <MaskButton icon="undo" text={texts.edit.undo} onClick={undo} disabled={marks.value.length === 0} />
        <MaskButton icon="auto" text={texts.edit.invert} onClick={() => mark({ kind: 'invert' })} />
        <MaskButton
          icon="trash"
          text={texts.edit.clear}
          onClick={() => mark({ kind: 'clear' })}
          disabled={marks.value.length === 0}
        />
        <FileChoice
          class="button button-small"
          text={texts.edit.maskFile}
          accept="image/png,image/webp,image/jpeg"
          onFile={take}
        />
      </div>
      <p class="fault" role="alert">
        {problem.value}
      </p>
    </div>
  );
}

function Tools() {
  return (
    <fieldset class="segmented">
      <legend class="hidden">{texts.edit.tool}</legend>
      {(['brush', 'eraser'] as const).map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="tool"
            checked={tool.value === each}
            onChange={() => {
              tool.value = each;
            }}
          />
          <span>
            <Icon name={each} />
            {texts.edit.tools[each]}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface MaskButtonProps {
  readonly icon: IconName;
  readonly text: string;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

function MaskButton({ icon, text, disabled, onClick }: MaskButtonProps) {
  return (
    <button type="button" class="button-icon" title={text} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
      <span class="hidden">{text}</span>
    </button>
  );
}

/** The keys of painting programs. A letter belongs to the field that is being written in. */
function onKey(event: KeyboardEvent): void {
  if (
    event.target instanceof Element &&
    event.target.matches('input:not([type=range], [type=radio]), textarea, select')
  )
    return;
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && event.key === 'z') undo();
  else if (isCommand || event.altKey) return;
  else if (event.key === 'b') tool.value = 'brush';
  else if (event.key === 'e') tool.value = 'eraser';
  else if (event.key === '[') resizeBrush(-2);
  else if (event.key === ']') resizeBrush(2);
  else return;
  event.preventDefault();
}
