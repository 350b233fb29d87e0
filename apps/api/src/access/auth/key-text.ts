/** The text of a key: `lehr_<env>_<id>_<secret>`. The prefix lets secret scanners find a leaked key. */
import { randomInt } from 'node:crypto';

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 8;
/** 62^43 is just above 2^256. */
const SECRET_LENGTH = 43;
const KEY = new RegExp(`^lehr_[a-z0-9]{1,16}_([A-Za-z0-9]{${ID_LENGTH}})_([A-Za-z0-9]{${SECRET_LENGTH}})$`);

export interface KeyText {
  readonly id: string;
  readonly secret: string;
}

export const isKeyId = (id: string): boolean => /^[A-Za-z0-9]{8}$/.test(id);

export const drawKey = (): KeyText => ({ id: draw(ID_LENGTH), secret: draw(SECRET_LENGTH) });

export const keyPrefix = (env: string, id: string): string => `lehr_${env}_${id}`;

export const writeKey = (env: string, { id, secret }: KeyText): string => `${keyPrefix(env, id)}_${secret}`;

/** Undefined for a text that is not a key. */
export function readKey(text: string): KeyText | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined ? undefined : { id, secret };
}

const draw = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');
