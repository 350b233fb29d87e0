/** The fields of a comparison. A setting that varies has its values in place of its field. */
import { drawing } from '../make/models.ts';
import { texts } from '../texts/index.ts';
import { AXES, type Axis, type Comparison, fieldOf, isNumeric } from './comparison.ts';
import { change, chooseAxis, chooseModel, comparison, model } from './form.ts';
import { fault } from './making.ts';

const NUMBERS: readonly string[] = ['width', 'height', 'steps', 'guidance', 'seed'];

/** Whether a fault of this field of the request has its place here. */
export const hasPlace = (name: string, { x, y }: Comparison): boolean =>
  NUMBERS.includes(name) || name === fieldOf(x) || name === fieldOf(y);

export function FormFields() {
  const now = comparison.value;
  if (!now) return <div class="settings-loading" aria-busy="true" />;
  return (
    <>
      <label class="field">
        <span class="field-name">{texts.make.prompt}</span>
        <textarea
          id="compare-prompt"
          rows={2}
          required
          placeholder={texts.make.promptHint}
          value={now.prompt}
          onInput={(event) => change({ prompt: event.currentTarget.value })}
        />
      </label>
      <AxisFields side="x" now={now} />
      <AxisFields side="y" now={now} />
      <BaseFields now={now} />
    </>
  );
}

function AxisFields({ side, now }: { readonly side: 'x' | 'y'; readonly now: Comparison }) {
  const isX = side === 'x';
  const axis = now[side];
  const { samplers = [], versions = [] } = model.value ?? {};
  const choices = { sampler: samplers, version: versions.map(({ version }) => version) };
  const problem = fault.value?.fields[fieldOf(axis)];
  const hint = texts.compare.valuesHint(isNumeric(axis) ? [] : choices[axis as 'sampler' | 'version']);
  return (
    <fieldset class="axis">
      <label class="field">
        <span class="field-name">{isX ? texts.compare.across : texts.compare.down}</span>
        <select value={axis} onChange={(event) => chooseAxis(side, event.currentTarget.value as Axis)}>
          {AXES.map((each) => (
            <option key={each} value={each}>
              {texts.compare.axes[each]}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">{isX ? texts.compare.valuesAcross : texts.compare.valuesDown}</span>
        <input
          type="text"
          value={isX ? now.xs : now.ys}
          aria-describedby={`values-hint-${side}`}
          aria-invalid={problem !== undefined}
          onInput={(event) => {
            const { value } = event.currentTarget;
            change(isX ? { xs: value } : { ys: value });
          }}
        />
      </label>
      <p
        id={`values-hint-${side}`}
        class={problem === undefined ? 'hint' : 'fault'}
        role={problem === undefined ? undefined : 'alert'}
      >
        {problem ?? hint}
      </p>
    </fieldset>
  );
}

function BaseFields({ now }: { readonly now: Comparison }) {
  const varies = (axis: Axis): boolean => now.x === axis || now.y === axis;
  const samplers = model.value?.samplers ?? [];
  return (
    <div class="base-fields">
      <label class="field">
        <span class="field-name">{texts.make.model}</span>
        <select value={now.model} onChange={(event) => chooseModel(event.currentTarget.value)}>
          {drawing.value?.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      {!varies('sampler') && (
        <label class="field">
          <span class="field-name">{texts.make.sampler}</span>
          <select value={now.sampler} onChange={(event) => change({ sampler: event.currentTarget.value })}>
            {samplers.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
      <NumberField name="width" label={texts.compare.width} now={now} />
      <NumberField name="height" label={texts.compare.height} now={now} />
      {!varies('steps') && <NumberField name="steps" label={texts.make.steps} now={now} />}
      {!varies('guidance') && <NumberField name="guidance" label={texts.make.guidance} now={now} />}
      {!varies('seed') && <NumberField name="seed" label={texts.make.seed} now={now} />}
    </div>
  );
}

interface NumberFieldProps {
  readonly name: 'width' | 'height' | 'steps' | 'guidance' | 'seed';
  readonly label: string;
  readonly now: Comparison;
}

function NumberField({ name, label, now }: NumberFieldProps) {
  const problem = fault.value?.fields[name];
  return (
    <label class="field">
      <span class="field-name">{label}</span>
      <input
        type="number"
        min={0}
        step="any"
        required
        aria-invalid={problem !== undefined}
        value={now[name]}
        onInput={(event) => change({ [name]: event.currentTarget.value })}
      />
      {problem !== undefined && <span class="fault">{problem}</span>}
    </label>
  );
}
