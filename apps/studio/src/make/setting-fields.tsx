/** All settings but the prompt, with the limits of the chosen model. */
import { PROMPT_SYNTAXES, type PromptSyntax } from '@lehr/shared/prompts';
import { Icon } from '../parts/icon.tsx';
import { texts } from '../texts/index.ts';
import { change, chooseModel, MAX_SEED, model, type Sampler, settings, throwDice } from './form.ts';
import { fault } from './making.ts';
import { models, needOf, type PictureModel } from './models.ts';
import { fitModel, picture } from './picture/edit.ts';
import { Range } from './range.tsx';
import { SizeFields } from './size-fields.tsx';

export function SettingFields() {
  const chosen = model.value;
  if (!chosen) return <div class="panel-part settings settings-loading" aria-busy="true" />;
  const { limits } = chosen;
  const now = settings.value;
  return (
    <div class="panel-part settings">
      <ModelFields />
      <SizeFields />
      <Range
        name="steps"
        label={texts.make.steps}
        value={now.steps}
        min={1}
        max={Math.min(limits.max_steps, Math.max(50, now.steps))}
        step={1}
        onChange={(steps) => change({ steps })}
      />
      <Range
        name="guidance"
        label={texts.make.guidance}
        value={now.guidance}
        min={0}
        max={15}
        step={0.5}
        onChange={(guidance) => change({ guidance })}
      />
      <SeedField />
      <Range
        name="n"
        label={texts.make.count}
        value={now.n}
        min={1}
        max={Math.min(8, limits.max_samples)}
        step={1}
        onChange={(n) => change({ n })}
      />
      <MoreFields />
      <p class="hint keys">{texts.make.keys}</p>
    </div>
  );
}

function ModelFields() {
  const versions = model.value?.versions ?? [];
  return (
    <div class="row">
      <label class="field">
        <span class="field-name">{texts.make.model}</span>
        <select
          aria-describedby="model-description"
          value={settings.value.model}
          onChange={(event) => {
            chooseModel(event.currentTarget.value);
            fitModel();
          }}
        >
          {models.value?.map((each) => (
            <ModelOption key={each.id} model={each} />
          ))}
        </select>
      </label>
      <label class="field field-short">
        <span class="field-name">{texts.make.version}</span>
        <select
          value={settings.value.version}
          onChange={(event) => change({ version: event.currentTarget.value })}
        >
          {versions.length > 1 && <option value="">{texts.make.anyVersion}</option>}
          {versions.map(({ version }) => (
            <option key={version} value={versions.length > 1 ? version : ''}>
              {version}
            </option>
          ))}
        </select>
      </label>
      <p id="model-description" class="hint row-note">
        {model.value?.description}
      </p>
    </div>
  );
}

/** What draws nothing from a prompt alone can be chosen once there is a picture, and says so before. */
function ModelOption({ model: { id, ...model } }: { readonly model: PictureModel }) {
  const need = needOf({ id, ...model });
  const isOpen = need === undefined || picture.value !== undefined;
  return (
    <option value={id} disabled={!isOpen}>
      {need === undefined ? id : texts.make.needs[need](id)}
    </option>
  );
}

function SeedField() {
  const { seed, keepsSeed } = settings.value;
  const problem = fault.value?.fields.seed;
  return (
    <div class="field">
      <label class="field-name" for="seed">
        {texts.make.seed}
      </label>
      <div class="seed">
        <input
          id="seed"
          type="number"
          min={0}
          max={MAX_SEED}
          value={keepsSeed ? seed : ''}
          placeholder={texts.make.seedRandom}
          aria-describedby="seed-problem"
          onInput={(event) => {
            const { value } = event.currentTarget;
            change(value === '' ? { keepsSeed: false } : { seed: Number(value), keepsSeed: true });
          }}
        />
        <button type="button" class="button-icon" onClick={throwDice} title={texts.make.dice}>
          <Icon name="dice" />
          <span class="hidden">{texts.make.dice}</span>
        </button>
        <button
          type="button"
          class="button-icon"
          aria-pressed={keepsSeed}
          onClick={() => change({ keepsSeed: !keepsSeed })}
          title={keepsSeed ? texts.make.unlock : texts.make.lock}
        >
          <Icon name={keepsSeed ? 'lock' : 'unlock'} />
          <span class="hidden">{texts.make.lock}</span>
        </button>
      </div>
      <p id="seed-problem" class="fault">
        {problem}
      </p>
    </div>
  );
}

function MoreFields() {
  const samplers = model.value?.samplers ?? [];
  return (
    <details class="more">
      <summary>{texts.make.more}</summary>
      <label class="field">
        <span class="field-name">{texts.make.sampler}</span>
        <select
          value={settings.value.sampler}
          onChange={(event) => change({ sampler: event.currentTarget.value as Sampler })}
        >
          {samplers.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="field-name">{texts.make.negative}</span>
        <input
          type="text"
          placeholder={texts.make.negativeHint}
          value={settings.value.negative}
          onInput={(event) => change({ negative: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span class="field-name">{texts.make.syntax}</span>
        <select
          value={settings.value.syntax}
          onChange={(event) => change({ syntax: event.currentTarget.value as PromptSyntax })}
        >
          {PROMPT_SYNTAXES.map((each) => (
            <option key={each} value={each}>
              {texts.make.syntaxes[each]}
            </option>
          ))}
        </select>
      </label>
    </details>
  );
}
