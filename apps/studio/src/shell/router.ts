/** The views and their addresses. */
import { signal } from '@preact/signals';

export type Place =
  | { readonly name: 'make' | 'speak' | 'compare' | 'gallery' | 'belt' | 'charts' | 'sign-in' }
  | { readonly name: 'job'; readonly id: string };
export type View = Place | { readonly name: 'unknown' };

const PATHS = {
  make: '/',
  speak: '/studio/speak',
  compare: '/studio/compare',
  gallery: '/studio/gallery',
  belt: '/studio/belt',
  charts: '/studio/charts',
  'sign-in': '/studio/sign-in',
};

export const pathOf = (view: Place): string =>
  view.name === 'job' ? `/studio/jobs/${view.id}` : PATHS[view.name];

export function viewOf(path: string): View {
  const [, id] = /^\/studio\/jobs\/([\w-]+)$/.exec(path) ?? [];
  if (id !== undefined) return { name: 'job', id };
  if (path === '/studio' || path === '/studio/') return { name: 'make' };
  const name = (Object.keys(PATHS) as (keyof typeof PATHS)[]).find((each) => PATHS[each] === path);
  return { name: name ?? 'unknown' };
}

export const view = signal<View>(viewOf(location.pathname));

export function go(next: Place): void {
  const path = pathOf(next);
  if (path !== location.pathname) history.pushState(null, '', path);
  view.value = next;
  window.scrollTo(0, 0);
}

addEventListener('popstate', () => {
  view.value = viewOf(location.pathname);
});
