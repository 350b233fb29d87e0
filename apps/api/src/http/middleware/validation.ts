/** Turns validation errors into refusals that name each field and what is allowed there. */
import type { z } from '@hono/zod-openapi';
import type { FieldProblem, LehrError } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';

type Issue = z.core.$ZodIssue;

interface Checked {
  readonly target: string;
  readonly success: boolean;
  readonly error?: z.ZodError;
}

/** The default hook of every route. Throws `invalid-input` for a body, `invalid-request` for anything else. */
export function refuseInvalid(result: Checked): undefined {
  if (result.success || !result.error) return;
  throw result.target === 'json' ? bodyRefusal(result.error) : requestRefusal(result.error);
}

/** `invalid-input`, for a body. */
export const bodyRefusal = ({ issues }: z.ZodError): LehrError =>
  refusal(
    'invalid-input',
    issues.flatMap((issue) => problemsOf(issue, '/')),
  );

/** `invalid-request`, for path, query and headers. */
export const requestRefusal = ({ issues }: z.ZodError): LehrError =>
  refusal(
    'invalid-request',
    issues.flatMap((issue) => problemsOf(issue, '?')),
  );

/** `mark` starts a pointer: "/" in a body (RFC 6901), "?" for a query parameter or header. */
function problemsOf(issue: Issue, mark: '/' | '?'): FieldProblem[] {
  const pointer = issue.path.map((segment) => `${mark}${escapeSegment(segment)}`).join('');
  if (issue.code !== 'unrecognized_keys') return [{ pointer, detail: detailOf(issue) }];
  return issue.keys.map((key) => ({
    pointer: `${pointer}${mark}${escapeSegment(key)}`,
    detail: 'is not a known field',
  }));
}

const escapeSegment = (segment: PropertyKey): string =>
  String(segment).replaceAll('~', '~0').replaceAll('/', '~1');

const KINDS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a finite number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

function detailOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is required';
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of: ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `must ${bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)}`;
    case 'invalid_union':
      return unionDetail(issue);
    case 'invalid_key':
      return 'has a name that is empty, too long or holds a null byte';
    default:
      return issue.message;
  }
}

/** Lists what each branch of the union accepts at this place. */
function unionDetail(issue: z.core.$ZodIssueInvalidUnion): string {
  if ('options' in issue && issue.options) return `must be one of: ${issue.options.map(String).join(', ')}`;
  const accepted = issue.errors.flatMap((branch: Issue[]) =>
    branch.filter(({ path }) => path.length === 0).map((each) => detailOf(each).replace(/^must be /, '')),
  );
  return accepted.length > 0 ? `must be ${[...new Set(accepted)].join(' or ')}` : issue.message;
}

const bound = (origin: string, how: string, limit: number | bigint): string =>
  origin === 'string' ? `have ${how} ${limit} characters` : `be ${how} ${limit}`;
