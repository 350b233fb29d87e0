/** Programs that make this very job again, to copy. */
import type { Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { copy } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { LANGUAGES, type Language, requestAgain, snippetOf } from './snippets.ts';

export function Snippets({ job }: { readonly job: Job }) {
  const language = useSignal<Language>('curl');
  const { body, missing } = requestAgain(job);
  const text = snippetOf(language.value, body, location.origin);
  return (
    <section class="card">
      <h2>{texts.job.snippets}</h2>
      <div class="snippet-bar">
        <fieldset class="segmented">
          <legend class="hidden">{texts.job.snippets}</legend>
          {LANGUAGES.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="language"
                checked={language.value === each}
                onChange={() => {
                  language.value = each;
                }}
              />
              <span>{each}</span>
            </label>
          ))}
        </fieldset>
        <button type="button" class="button button-small" onClick={() => copy(text, texts.copied)}>
          {texts.job.copy}
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard */}
      <pre class="snippet" tabIndex={0}>
        <code>{text}</code>
      </pre>
      {missing.length > 0 && <p class="hint">{texts.job.notShown(missing.join(', '))}</p>}
    </section>
  );
}
