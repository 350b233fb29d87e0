/** The prompt with its weights and its length, and the earlier ones. */
import { texts } from '../texts/index.ts';
import { change, model, settings } from './form.ts';
import { current, fault } from './making.ts';
import { PromptWeights } from './prompt-weights.tsx';
import { prompts } from './prompts.ts';
import { chunkTokens, countedTokens, estimateTokens } from './token-count.ts';

export function PromptField() {
  const problem = fault.value?.fields.prompt;
  const { prompt, syntax } = settings.value;
  const onInput = (event: InputEvent): void =>
    change({ prompt: (event.currentTarget as HTMLTextAreaElement).value });
  return (
    <div class="prompt">
      <label class="field">
        <span class="field-name">{texts.make.prompt}</span>
        <span class="prompt-box" data-invalid={problem !== undefined}>
          <PromptWeights prompt={prompt} syntax={syntax} />
          <textarea
            id="prompt"
            rows={3}
            required
            placeholder={texts.make.promptHint}
            value={prompt}
            onInput={onInput}
            aria-invalid={problem !== undefined}
            aria-describedby="prompt-problem prompt-length"
          />
        </span>
      </label>
      <p id="prompt-problem" class="fault">
        {problem}
      </p>
      <div class="prompt-foot">
        {prompts.value.length > 0 && <History />}
        <Length />
      </div>
    </div>
  );
}

/** How much of what the model reads at once the prompt takes. */
function Length() {
  const { prompt, syntax } = settings.value;
  const job = current.value?.job.value;
  const now = { prompt, syntax, model: settings.value.model };
  const read = chunkTokens(model.value?.limits.max_prompt_tokens);
  const count = (job && countedTokens(job, now)) ?? estimateTokens(prompt, syntax, read);
  const isCut = syntax === 'plain' && count.tokens > read;
  return (
    <p id="prompt-length" class="prompt-length" data-cut={isCut}>
      {count.tokens > 0 && texts.make.tokens({ ...count, read, isCut })}
    </p>
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
