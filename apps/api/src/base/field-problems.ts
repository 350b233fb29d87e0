/** Refusals with one problem per field. */
import { type ErrorCode, type FieldProblem, LehrError } from '@lehr/shared';

/** A hostile body may have a hundred thousand problems; more than this are not listed. */
const MAX_PROBLEMS = 20;
const MAX_POINTER_LENGTH = 120;

/** Message: "input.width must be at most 1024; input.steps must be at least 1." */
export function refusal(code: ErrorCode, all: readonly FieldProblem[]): LehrError {
  const problems = all
    .slice(0, MAX_PROBLEMS)
    .map(({ pointer, detail }) => ({ pointer: pointer.slice(0, MAX_POINTER_LENGTH), detail }));
  const listed = problems.map(({ pointer, detail }) => `${fieldName(pointer)} ${detail}`).join('; ');
  const more = all.length > problems.length ? `; and ${all.length - problems.length} more` : '';
  return new LehrError(code, `${listed}${more}.`, { problems });
}

const fieldName = (pointer: string): string =>
  pointer.replace(/^[/?]/, '').replaceAll('/', '.') || 'the body';
