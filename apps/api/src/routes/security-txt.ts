/** /.well-known/security.txt (RFC 9116): where to report a weakness of this installation. */
import type { Api, CoreParts, JobParts, PlaceParts } from '../parts.ts';

const SECURITY_TXT_PATH = '/.well-known/security.txt';

const DAY_MS = 24 * 3_600_000;
/** RFC 9116 wants less than a year, so that an old file becomes invalid. */
const VALID_DAYS = 90;
const CACHE_S = 86_400;

/** Serves nothing without LEHR_SECURITY_CONTACT. */
export function securityTxtRoute(
  app: Api,
  { securityContacts, presenter, clock }: PlaceParts & JobParts & CoreParts,
): void {
  if (securityContacts.length === 0) return;
  app.get(SECURITY_TXT_PATH, (c) => {
    const lines = [
      ...securityContacts.map((contact) => `Contact: ${contact}`),
      `Expires: ${expiresAt(clock.now())}`,
      'Preferred-Languages: en',
      `Canonical: ${presenter.url(SECURITY_TXT_PATH)}`,
    ];
    return c.body(`${lines.join('\n')}\n`, 200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': `public, max-age=${CACHE_S}`,
    });
  });
}

/** The same for a whole day. `now` in ms. */
const expiresAt = (now: number): string =>
  new Date((Math.floor(now / DAY_MS) + VALID_DAYS) * DAY_MS).toISOString();
