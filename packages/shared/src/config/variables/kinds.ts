/** The kinds of values that several variables have. */
import { z } from 'zod';

/** Marks a variable whose value must never be printed. */
export const SECRET = { secret: true } as const;

const number = z.coerce.number('must be a number');
export const positive = number.positive('must be more than 0');
export const whole = number.int('must be a whole number');
export const port = whole.min(0, 'must be 0 to 65535').max(65_535, 'must be 0 to 65535');
export const flag = z.stringbool({ error: 'must be true or false' });
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });
