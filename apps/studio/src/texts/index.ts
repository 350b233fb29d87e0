/** The texts of the studio. Another language is another file with the same fields, chosen here. */
import { en } from './en.ts';

export const texts = en;
