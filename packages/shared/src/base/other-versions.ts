/** Reads what a process of another version of Lehr may have written. */
import { z } from 'zod';

/** Items that do not fit are left out: a worker of a newer version may report tasks and models of kinds that are unknown here. */
export const known = <Item extends z.ZodType>(item: Item) =>
  z.array(z.unknown()).transform((items): z.output<Item>[] =>
    items.flatMap((each) => {
      const { success, data } = item.safeParse(each);
      return success ? [data] : [];
    }),
  );

/** Undefined for a text that is damaged, or that another version wrote in another form. */
export function parsedStored<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
): z.output<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** A text of Redis that holds JSON of this schema. */
export const storedJson = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);
