/** Checks names, types and shapes before the native call: ONNX Runtime's own messages name inner nodes, not inputs. */
import { LehrError } from '@lehr/shared';
import type { ValueInfo } from './runtime.ts';
import { elementCount, type Tensor } from './tensor.ts';

/** Throws LehrError `engine-failed` that names the graph, the input, what it received and what it wants. */
export function checkFeeds(
  path: string,
  inputs: readonly ValueInfo[],
  feeds: Readonly<Record<string, Tensor>>,
): void {
  const names = inputs.map(({ name }) => name);
  const problems = [
    ...Object.keys(feeds)
      .filter((name) => !names.includes(name))
      .map((name) => `no input is called "${name}" (there are ${names.join(', ')})`),
    ...inputs.flatMap((input) => problemOf(input, feeds[input.name]) ?? []),
  ];
  if (problems.length > 0)
    throw new LehrError('engine-failed', `Cannot run ${path}: ${problems.join('; ')}.`);
}

function problemOf(input: ValueInfo, tensor: Tensor | undefined): string | undefined {
  const wanted = `${input.type} ${shapeText(input.dims)}`;
  if (!tensor) return `input "${input.name}" is missing, wanted ${wanted}`;
  const came = `${tensor.type} ${shapeText(tensor.dims)}`;
  if (tensor.type !== input.type || !fits(input.dims, tensor.dims)) {
    return `input "${input.name}" came as ${came}, wanted ${wanted}`;
  }
  if (tensor.data.length !== elementCount(tensor.dims)) {
    return `input "${input.name}" came as ${came} with ${tensor.data.length} values`;
  }
  return undefined;
}

const fits = (wanted: ValueInfo['dims'], came: readonly number[]): boolean =>
  wanted.length === came.length && wanted.every((dim, i) => typeof dim === 'string' || dim === came[i]);

const shapeText = (dims: readonly (number | string)[]): string =>
  `[${dims.map((dim) => (dim === '' ? '?' : dim)).join(', ')}]`;
