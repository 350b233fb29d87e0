/** The table of environment variables in docs/settings.md, made from the schema that reads them. */
import { z } from 'zod';
import { ENV } from '../../packages/shared/src/config/env.ts';

const BEGIN = '<!-- env: made by npm run docs -->';
const END = '<!-- /env -->';

/** Markdown, one row per variable. */
export function envTable(): string {
  const rows = Object.entries(ENV).map(([name, schema]) => {
    const { description = '' } = schema.meta() ?? {};
    const choices = choicesOf(schema);
    const meaning =
      choices.length > 0 ? `${description} One of ${choices.map(code).join(', ')}.` : description;
    return `| \`${name}\` | ${defaultOf(schema)} | ${meaning.replaceAll('|', '\\|')} |`;
  });
  return ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** `page` with a new table between its two marks. Throws when the marks are missing. */
export function withEnvTable(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`docs/settings.md has no place for the table: ${BEGIN} ... ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n${envTable()}\n${page.slice(to)}`;
}

function choicesOf(schema: z.ZodType): readonly string[] {
  const { enum: choices } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return (choices ?? []).map(String);
}

function defaultOf(schema: z.ZodType): string {
  const { data } = schema.safeParse(undefined);
  return data === undefined ? '' : code(String(data));
}

const code = (text: string): string => `\`${text}\``;
