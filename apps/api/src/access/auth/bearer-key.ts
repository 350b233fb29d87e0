const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/** The key of an Authorization header; undefined when it has none. */
export const bearerKey = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
