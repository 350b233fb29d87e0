/** Who is signed in. The cookie is the server's business; this page knows its token against forged requests, in memory only. */
import { signal } from '@preact/signals';
import { go, view } from '../shell/router.ts';
import { texts } from '../texts/index.ts';

export interface Session {
  readonly key: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly expires_at: string;
  readonly csrf: string;
}

/** Undefined until the server has answered. */
export const session = signal<Session | null | undefined>(undefined);
/** Shown on the page that signs in. */
export const notice = signal<string | undefined>(undefined);

/** Whether a session has ended while this page was open, which then holds data of whoever was signed in. */
let hasEnded = false;

const PATH = '/studio/session';

/** Takes the code of a sign-in link out of the address, and asks who is signed in. */
export async function startSession(): Promise<void> {
  const isSignIn = view.value.name === 'sign-in';
  const code = isSignIn ? location.hash.slice(1) : '';
  if (isSignIn && location.hash !== '') history.replaceState(null, '', location.pathname);
  try {
    // First, so that the link is used up also where a session exists. The new session replaces it.
    if (code !== '') await signIn({ code });
    if (session.value) return;
    session.value = await sessionOf(await fetch(PATH));
    if (!session.value) return;
    notice.value = undefined;
    if (view.value.name === 'sign-in') go({ name: 'make' });
  } catch {
    session.value ??= null;
    notice.value ??= texts.signIn.unreachable;
  }
}

export async function signIn(request: { key: string } | { code: string }): Promise<void> {
  notice.value = undefined;
  const answer = await fetch(PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  }).catch(() => undefined);
  if (!answer) notice.value = texts.signIn.unreachable;
  else if (answer.ok) begin(await sessionOf(answer));
  else notice.value = await reasonOf(answer);
  if (session.value && view.value.name === 'sign-in') go({ name: 'make' });
}

/** `everywhere`: every session of the key, in all browsers. */
export async function signOut(everywhere: boolean): Promise<void> {
  const headers = { 'x-lehr-csrf': session.value?.csrf ?? '' };
  const answer = await fetch(everywhere ? '/studio/sessions' : PATH, { method: 'DELETE', headers }).catch(
    () => undefined,
  );
  if (!answer?.ok) {
    notice.value = texts.signIn.unreachable;
    return;
  }
  // A new page keeps nothing of the old session in memory.
  location.assign('/studio/sign-in');
}

/** The server no longer knows the session: it expired, or its key was revoked. */
export function sessionEnded(): void {
  if (!session.value) return;
  // It may hold the prompt of a comparison, which the next person would get with the new page.
  history.replaceState(null, '', location.pathname);
  session.value = null;
  hasEnded = true;
  notice.value = texts.signIn.ended;
}

function begin(next: Session | null): void {
  // The next person may be another one; a new page keeps nothing of the session before in memory.
  if (hasEnded) location.reload();
  else session.value = next;
}

async function sessionOf(answer: Response): Promise<Session | null> {
  return ((await answer.json()) as { session: Session | null }).session;
}

async function reasonOf(answer: Response): Promise<string> {
  const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
  return problem.detail ?? texts.signIn.unreachable;
}
