/** The prompt, with the earlier ones. */
import { texts } from '../texts/index.ts';
import { change, model, settings } from './form.ts';
import { fault } from './making.ts';
import { aboutTokens } from './prompt-length.ts';
import { prompts } from './prompts.ts';

export function PromptField() {
  const problem = fault.value?.fields.prompt;
  const onInput = (event: InputEvent): void =>
    change({ prompt: (event.currentTarget as HTMLTextAreaElement).value });
  return (
    <div class="prompt">
      <label class="field">
        <span class="field-name">{texts.make.prompt}</span>
        <textarea
          id="prompt"
          rows={3}
          required
          placeholder={texts.make.promptHint}
          value={settings.value.prompt}
          onInput={onInput}
          aria-invalid={problem !== undefined}
          aria-describedby="prompt-limit prompt-problem"
        />
      </label>
      <Limit />
      <p id="prompt-problem" class="fault">
        {problem}
      </p>
      {prompts.value.length > 0 && <History />}
    </div>
  );
}

/** How much of a prompt the model reads, and about how much of that is written. Not known while no worker has the model open. */
function Limit() {
  const tokens = model.value?.limits.max_prompt_tokens;
  const about = aboutTokens(settings.value.prompt);
  const isTooLong = tokens !== undefined && about > tokens;
  return (
    <p id="prompt-limit" class={isTooLong ? 'prompt-limit prompt-limit-over' : 'prompt-limit'}>
      {tokens === undefined ? '' : lengthOf(about, tokens)}
    </p>
  );
}

function lengthOf(about: number, tokens: number): string {
  if (settings.value.prompt.trim() === '') return texts.make.promptLimit(tokens);
  return about > tokens ? texts.make.promptTooLong(about, tokens) : texts.make.promptLength(about, tokens);
}

function History() {
  const choose = (event: Event): void => {
    const select = event.currentTarget as HTMLSelectElement;
    if (select.value !== '') change({ prompt: select.value });
    select.value = '';
    document.getElementById('prompt')?.focus();
  };
  return (
    <select class="history" aria-label={texts.make.history} onChange={choose} value="">
      <option value="">{texts.make.history}</option>
      {prompts.value.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}
