/** Earlier prompts. They come from the jobs themselves, so that nothing of them stays in the browser after signing out. */
import { signal } from '@preact/signals';
import { lehr } from '../wire/lehr.ts';

const SHOWN = 12;
const READ = 60;

export const prompts = signal<readonly string[]>([]);

export async function loadPrompts(): Promise<void> {
  const { data } = await lehr.page({ type: 'text-to-image', limit: READ });
  const known = data.map(({ input }) => String(input.prompt ?? ''));
  prompts.value = [...new Set([...prompts.value, ...known])].filter((each) => each !== '').slice(0, SHOWN);
}

export function rememberPrompt(prompt: string): void {
  prompts.value = [prompt, ...prompts.value.filter((each) => each !== prompt)].slice(0, SHOWN);
}
