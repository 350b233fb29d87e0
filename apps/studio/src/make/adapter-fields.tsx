/** The adapters (LoRA) of the chosen model: which act on the picture, and how strongly. Absent of a model without any. */
import { takeAdapterTags } from '@lehr/shared/prompts';
import { texts } from '../texts/index.ts';
import { change, model, settings } from './form.ts';
import { fault } from './making.ts';
import type { Adapter } from './models.ts';
import { Range } from './range.tsx';

/** Of one request. */
const MOST = 8;
/** Of the slider; what is written may be more. */
const SLIDER = { min: -2, max: 2, step: 0.05 };

export function AdapterFields() {
  const adapters = model.value?.adapters ?? [];
  if (adapters.length === 0) return null;
  return (
    <fieldset class="adapters">
      <legend class="field-name">{texts.adapters.title}</legend>
      <ul class="adapter-list">
        {adapters.map((adapter) => (
          <AdapterField key={adapter.name} adapter={adapter} />
        ))}
      </ul>
      <p class="fault" role="alert">
        {fault.value?.fields.adapters}
      </p>
    </fieldset>
  );
}

function AdapterField({ adapter }: { readonly adapter: Adapter }) {
  const { name, description, trigger } = adapter;
  const { adapters } = settings.value;
  const scale = adapters[name];
  const isOn = scale !== undefined;
  const set = (next: number): void => change({ adapters: { ...settings.value.adapters, [name]: next } });
  return (
    <li class="adapter">
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          checked={isOn}
          aria-checked={isOn}
          disabled={!isOn && Object.keys(adapters).length >= MOST}
          onChange={() => (isOn ? turnOff(name) : set(adapter.scale))}
        />
        <span>
          {name}
          {description && <span class="hint adapter-hint">{description}</span>}
        </span>
      </label>
      {isOn && (
        <>
          <Range
            name={`adapter-${name}`}
            label={texts.adapters.strength(name)}
            value={scale}
            {...SLIDER}
            onChange={set}
          />
          <Triggers words={trigger} />
        </>
      )}
    </li>
  );
}

/** The words that its training had in its texts: a press writes one at the end of the prompt. */
function Triggers({ words }: { readonly words: readonly string[] }) {
  const { prompt } = settings.value;
  const add = (word: string): void => {
    const start = prompt.trimEnd();
    change({ prompt: start === '' ? word : `${start}${start.endsWith(',') ? '' : ','} ${word}` });
  };
  if (words.length === 0) return null;
  const said = takeAdapterTags(prompt).text.toLowerCase();
  return (
    <ul class="chips adapter-words">
      {words.map((word) => {
        const isThere = said.includes(word.toLowerCase());
        return (
          <li key={word}>
            <button
              type="button"
              class="chip"
              disabled={isThere}
              onClick={() => add(word)}
              title={isThere ? texts.adapters.isThere : texts.adapters.add(word)}
            >
              {word}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function turnOff(name: string): void {
  const { [name]: _, ...others } = settings.value.adapters;
  change({ adapters: others });
}
