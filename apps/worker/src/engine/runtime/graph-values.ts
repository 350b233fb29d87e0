/**
 * A graph's inputs and outputs: found by name, with their types and sizes read so that none is assumed, and checked before each run.
 */
import { LehrError } from '@lehr/shared';
import type { RuntimeSession, ValueInfo } from './runtime.ts';
import { type ElementType, elementCount, type Tensor } from './tensor.ts';

const unusable = (problem: string) => new LehrError('model-unavailable', problem);

/** The named inputs. Refuses a graph with any other input, because it would get no value. */
export function expectInputs(
  graph: string,
  session: Pick<RuntimeSession, 'inputs'>,
  names: readonly string[],
): ValueInfo[] {
  const extra = session.inputs.find(({ name }) => !names.includes(name));
  if (extra) throw unusable(`The ${graph} graph wants an input "${extra.name}" that Lehr does not know.`);
  return names.map((name) => {
    const input = session.inputs.find((candidate) => candidate.name === name);
    if (!input)
      throw unusable(`The ${graph} graph has no input "${name}" (it has ${listNames(session.inputs)}).`);
    return input;
  });
}

/** The first of these outputs that the graph has, or else its only output. */
export function expectOutput(graph: string, session: RuntimeSession, names: readonly string[]): ValueInfo {
  const named = names.flatMap((name) => session.outputs.find((output) => output.name === name) ?? []);
  const output = named[0] ?? (session.outputs.length === 1 ? session.outputs[0] : undefined);
  if (!output)
    throw unusable(
      `The ${graph} graph has no output ${names.join(' or ')} (it has ${listNames(session.outputs)}).`,
    );
  return output;
}

export function expectType<Type extends ElementType>(
  graph: string,
  value: ValueInfo,
  types: readonly Type[],
): Type {
  const type = types.find((candidate) => candidate === value.type);
  if (!type)
    throw unusable(`"${value.name}" of the ${graph} graph is ${value.type}, wanted ${types.join(' or ')}.`);
  return type;
}

/** The size of one dimension: the graph's if fixed, else the config's. When both give one, they must be equal. */
export function expectSize(
  graph: string,
  value: ValueInfo,
  axis: number,
  fromConfig: number | undefined,
): number {
  const dim = value.dims[axis];
  if (typeof dim !== 'number') {
    if (fromConfig === undefined)
      throw unusable(
        `Neither the ${graph} graph nor its config.json gives the size of "${value.name}" along axis ${axis}.`,
      );
    return fromConfig;
  }
  if (fromConfig !== undefined && fromConfig !== dim) {
    throw unusable(
      `"${value.name}" of the ${graph} graph has ${dim} along axis ${axis}, but its config.json says ${fromConfig}.`,
    );
  }
  return dim;
}

const listNames = (values: readonly ValueInfo[]): string => values.map(({ name }) => name).join(', ');

/**
 * Checks names, types and shapes before the native call: ONNX Runtime's own messages name inner nodes, not inputs.
 *
 * Throws LehrError `engine-failed` that names the graph, the input, what it received and what it wants.
 */
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
