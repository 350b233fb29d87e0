/** The README's table of environment variables, made from the schema that reads them. */
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

/** `readme` with a new table between its two marks. Throws when the marks are missing. */
export function withEnvTable(readme: string): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`README.md has no place for the table: ${BEGIN} ... ${END}`);
  return `${readme.slice(0, from)}${BEGIN}\n${envTable()}\n${readme.slice(to)}`;
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
