/** A short message that goes away, such as after copying. */
import { signal } from '@preact/signals';

const SHOWN_MS = 3_500;
const message = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function toast(text: string): void {
  message.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    message.value = '';
  }, SHOWN_MS);
}

export function Toast() {
  return (
    <div class="toast" role="status" aria-live="polite" data-shown={message.value !== ''}>
      {message.value}
    </div>
  );
}

export async function copy(text: string, done: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  toast(done);
}
