/** Fills in the defaults of the pictures that guide a drawing, and checks them against the ControlNets of its model. */
import {
  type Control,
  type ControlRequest,
  companionRef,
  type DiffusionModelEntry,
  type FieldProblem,
  formatModelRef,
  isPlainPreprocess,
  PLAIN_PREPROCESSES,
  type Registry,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';

type Model = Pick<DiffusionModelEntry, 'name' | 'controls'>;

/** All but where the pictures are. Throws `invalid-input` with every field that the model refuses, and what it allows. */
export function completeControls(
  registry: Registry,
  model: Model,
  control: readonly ControlRequest[],
): Omit<Control, 'image'>[] {
  const problems: FieldProblem[] = [];
  const completed = control.map((each, i) => {
    const { name, scale = 1, start = 0, end = 1 } = each;
    const fault = (field: string, detail: string) =>
      problems.push({ pointer: `/input/control/${i}/${field}`, detail });
    const entry = model.controls.find((known) => known.name === name);
    if (!entry) fault('name', unknownName(model));
    if (end <= start) fault('end', `is ${end}, must be above start, which is ${start}`);
    const wanted = each.preprocess ?? entry?.preprocess ?? 'none';
    const preprocess = preprocessOf(registry, model, wanted);
    if (preprocess === undefined) fault('preprocess', `must be one of: ${preprocesses(model).join(', ')}`);
    return { name, scale, start, end, ...(preprocess !== 'none' && { preprocess }) };
  });
  if (problems.length > 0) throw refusal('invalid-input', problems);
  return completed;
}

const unknownName = ({ name, controls }: Model): string =>
  controls.length === 0
    ? `cannot be used: ${name} has no ControlNets`
    : `must be one of: ${controls.map((each) => each.name).join(', ')}`;

/** What requests may name: the models are those that workers have open beside this one. */
const preprocesses = ({ controls }: Pick<Model, 'controls'>): string[] => [
  ...new Set([...PLAIN_PREPROCESSES, ...controls.map(({ preprocess }) => preprocess)]),
];

/** A model at the version that is open beside the one that draws, as `name@version`; undefined for what none of its entries names. */
function preprocessOf(registry: Registry, model: Model, wanted: string): string | undefined {
  if (isPlainPreprocess(wanted)) return wanted;
  const [, version] = wanted.split('@');
  const name = registry.named(wanted)?.name;
  const open = preprocesses(model)
    .filter((each) => !isPlainPreprocess(each))
    .map((each) => companionRef(registry, each));
  const found = open.find((ref) => ref.name === name && ref.version === (version ?? ref.version));
  return found && formatModelRef(found);
}
