/** Light, dark, or as the system is. The choice is not private, so the browser keeps it. */
import { signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'lehr-theme';
const stored = (): Theme => THEMES.find((each) => each === localStorage.getItem(KEY)) ?? 'auto';

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value;
}

export function chooseTheme(next: Theme): void {
  theme.value = next;
  localStorage.setItem(KEY, next);
  applyTheme();
}
