/** The views and their addresses. */
import { signal } from '@preact/signals';

export const ADMIN_TABS = [
  'traffic',
  'fleet',
  'models',
  'tenants',
  'keys',
  'dead-letters',
  'settings',
] as const;
export type AdminTab = (typeof ADMIN_TABS)[number];

export type Place =
  | { readonly name: 'make' | 'speak' | 'compare' | 'gallery' | 'belt' | 'charts' | 'planned' | 'sign-in' }
  | { readonly name: 'admin'; readonly tab: AdminTab }
  | { readonly name: 'job' | 'batch'; readonly id: string };
export type View = Place | { readonly name: 'unknown' };

const PATHS = {
  make: '/',
  speak: '/studio/speak',
  compare: '/studio/compare',
  gallery: '/studio/gallery',
  belt: '/studio/belt',
  charts: '/studio/charts',
  planned: '/studio/planned',
  'sign-in': '/studio/sign-in',
};

export function pathOf(view: Place): string {
  if (view.name === 'job') return `/studio/jobs/${view.id}`;
  if (view.name === 'batch') return `/studio/batches/${view.id}`;
  return view.name === 'admin' ? `/studio/admin/${view.tab}` : PATHS[view.name];
}

function viewOf(path: string): View {
  const [, kind, id] = /^\/studio\/(jobs|batches)\/([\w-]+)$/.exec(path) ?? [];
  if (id !== undefined) return { name: kind === 'jobs' ? 'job' : 'batch', id };
  if (path === '/studio/admin') return { name: 'admin', tab: 'traffic' };
  const tab = ADMIN_TABS.find((each) => path === `/studio/admin/${each}`);
  if (tab) return { name: 'admin', tab };
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
