/** The page that signs in with a key. The key is sent once and kept nowhere. */
import { useSignal } from '@preact/signals';
import { Glyph } from '../shell/bar.tsx';
import { texts } from '../texts/index.ts';
import { notice, signIn } from './session.ts';

export function SignIn() {
  const isBusy = useSignal(false);
  const onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = String(new FormData(form).get('key') ?? '').trim();
    if (key === '' || isBusy.value) return;
    isBusy.value = true;
    await signIn({ key });
    isBusy.value = false;
    form.querySelector('input')?.select();
  };
  return (
    <main class="sign-in">
      <div class="sign-in-glow" aria-hidden="true" />
      <form class="sign-in-card" onSubmit={onSubmit}>
        <p class="wordmark">
          <Glyph />
          <span>{texts.name}</span>
        </p>
        <h1>{texts.signIn.lead}</h1>
        <label class="field">
          <span class="field-name">{texts.signIn.key}</span>
          <input
            name="key"
            type="password"
            autoComplete="current-password"
            required
            aria-describedby="sign-in-notice sign-in-hint"
            aria-invalid={notice.value !== undefined}
          />
        </label>
        <p id="sign-in-notice" class="fault" role="alert">
          {notice.value}
        </p>
        <button type="submit" class="button button-primary" disabled={isBusy.value}>
          {isBusy.value ? texts.signIn.busy : texts.signIn.button}
        </button>
        <p id="sign-in-hint" class="hint">
          {texts.signIn.hint}
        </p>
      </form>
    </main>
  );
}
