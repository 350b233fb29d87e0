/** The prompt, with the earlier ones. */
import { texts } from '../texts/index.ts';
import { change, settings } from './form.ts';
import { fault } from './making.ts';
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
          aria-describedby="prompt-problem"
        />
      </label>
      <p id="prompt-problem" class="fault">
        {problem}
      </p>
      {prompts.value.length > 0 && <History />}
    </div>
  );
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
