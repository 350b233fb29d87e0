/** HTML as text: every value is escaped unless it is HTML already. */

/** Text that is HTML. */
export interface Html {
  readonly html: string;
}

type Value = Html | string | number | readonly Html[];

/** A template literal whose values are escaped, apart from those made by `html` and `raw`. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html => ({
  html: parts.reduce((text, part, i) => text + textOf(values[i - 1]) + part),
});

/** Of our own making: SVG of a plot, a style sheet. */
export const raw = (text: string): Html => ({ html: text });

/** As a string: this end tag in a template literal makes some compilers write another program. */
export const scriptTag = (text: string): Html => raw(`<script>${text}${'</'}script>`);

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => ESCAPES[sign]);

function textOf(value: Value): string {
  if (typeof value === 'string' || typeof value === 'number') return escaped(`${value}`);
  return 'html' in value ? value.html : value.map((each) => each.html).join('');
}
