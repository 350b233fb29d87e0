/**
 * Signing in and out of the studio. These routes belong to the studio's page and not to the API, so the OpenAPI document does not
 * have them. A key is sent once and answered with a cookie that scripts cannot read.
 */
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { z } from 'zod';
import { bearerKey, type Caller } from '../access/auth/authenticator.ts';
import { FailedLogins, Refusals } from '../access/failed-logins.ts';
import type { Session } from '../access/session/session-store.ts';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import { actorOf } from '../http/middleware/auth.ts';
import { limitBody } from '../http/middleware/read-body.ts';
import {
  csrfOf,
  findSession,
  refuseForeignOrigin,
  refuseForeignPage,
  type SessionCookie,
  sessionCookie,
} from '../http/middleware/session.ts';
import type { Api, ApiParts } from '../parts.ts';

const PATH = '/studio/session';
const MAX_BODY_BYTES = 4096;

const SignInSchema = z.union([
  z.strictObject({ key: z.string().max(512) }),
  z.strictObject({ code: z.string().max(512) }),
]);

/** Of both forms of signing in. */
interface SignIn {
  readonly parts: ApiParts;
  readonly cookie: SessionCookie;
  readonly refusals: Refusals;
  readonly failedLogins: FailedLogins;
}

export function studioSessionRoutes(app: Api, parts: ApiParts): void {
  const { sessions, authenticator, audit, clock, log, publicUrl, presenter } = parts;
  const cookie = sessionCookie(publicUrl);
  const signIn: SignIn = {
    parts,
    cookie,
    refusals: new Refusals(audit, clock, log, 'session.refused'),
    failedLogins: new FailedLogins(clock),
  };

  app.use(
    '/studio/*',
    limitBody(() => MAX_BODY_BYTES),
  );
  app.get(PATH, async (c) => {
    const session = await findSession(c, sessions, cookie);
    return answer(c, session, 200);
  });
  app.post(PATH, async (c) => {
    refuseForeignOrigin(c, publicUrl);
    const caller = await signedIn(c, signIn);
    const session = await sessions.create(caller, actorOf(c));
    cookie.write(c, session.token, session.expiresAt);
    return answer(c, session, 201);
  });
  for (const [path, end] of [
    [PATH, 'end'],
    ['/studio/sessions', 'endAll'],
  ] as const) {
    app.delete(path, async (c) => {
      const session = await findSession(c, sessions, cookie);
      if (session) {
        refuseForeignPage(c, session);
        await sessions[end](session, actorOf(c));
      }
      cookie.clear(c);
      return c.body(null, 204);
    });
  }
  // For the launcher, which has the key and prints the link. The code is in the fragment: it reaches no log and no other server.
  app.post('/studio/links', async (c) => {
    const key = bearerKey(c.req.header('authorization'));
    const caller =
      key === undefined ? undefined : await checked(c, signIn, () => authenticator.authenticate(key));
    if (!caller) throw new LehrError('unauthenticated', 'Send your key as "Authorization: Bearer <key>".');
    await parts.quotas.admitSignIn(caller);
    const { code, expiresAt } = await sessions.createCode(caller);
    c.header('cache-control', 'no-store');
    const url = `${presenter.url('/studio/sign-in')}#${code}`;
    return c.json({ url, expires_at: new Date(expiresAt).toISOString() }, 201);
  });
}

async function signedIn(c: Context<ApiEnv>, signIn: SignIn): Promise<Caller> {
  const { authenticator, sessions } = signIn.parts;
  if (!c.req.header('content-type')?.startsWith('application/json')) {
    throw new LehrError('unsupported-media', 'The body must be JSON, sent as content-type application/json.');
  }
  const body = SignInSchema.safeParse(await c.req.json().catch(() => undefined));
  if (!body.success) throw new LehrError('invalid-request', 'The body must be {"key": …} or {"code": …}.');
  const request = body.data;
  const isKey = 'key' in request;
  const caller = await checked(c, signIn, () =>
    isKey ? authenticator.authenticate(request.key.trim()) : sessions.redeem(request.code),
  );
  if (caller) {
    // A link was counted when it was made: one that is refused here would be used up.
    if (isKey) await signIn.parts.quotas.admitSignIn(caller);
    return caller;
  }
  throw new LehrError(
    'unauthenticated',
    isKey ? 'This key is not known.' : 'This link has been used or has expired. Sign in with your key.',
  );
}

/**
 * Notes what is wrong in the audit log, and throws QuotaError when its address has sent too much of it. What is right is always
 * accepted: behind a proxy many callers have one address, and wrong keys of one of them must not lock the others out.
 */
async function checked(
  c: Context<ApiEnv>,
  { failedLogins, refusals }: SignIn,
  find: () => Promise<Caller | undefined>,
): Promise<Caller | undefined> {
  const caller = await find();
  if (!caller) {
    failedLogins.attempt(actorOf(c).address ?? 'unknown');
    refusals.note(actorOf(c), null);
  }
  return caller;
}

/** Without a session `session` is null: a 401 would be an error in the console of every first visit. */
function answer(c: Context<ApiEnv>, session: Session | undefined, status: 200 | 201): Response {
  c.header('cache-control', 'no-store');
  if (!session) return c.json({ session: null }, status);
  const { caller, expiresAt, token } = session;
  return c.json(
    {
      session: {
        key: caller.keyId,
        tenant: caller.tenant,
        scopes: [...caller.scopes],
        expires_at: new Date(expiresAt).toISOString(),
        csrf: csrfOf(token),
      },
    },
    status,
  );
}
