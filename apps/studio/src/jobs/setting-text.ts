/** A field of a job's input, as people read it. Pure. */

interface AdapterUse {
  readonly name: string;
  readonly scale: number;
}

interface ControlUse extends AdapterUse {
  readonly preprocess?: string;
  readonly start: number;
  readonly end: number;
}

export function settingText(name: string, value: unknown): string {
  if (name === 'adapters' && Array.isArray(value)) return value.map(adapterText).join(', ');
  if (name === 'control' && Array.isArray(value)) return value.map(controlText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const adapterText = ({ name, scale }: AdapterUse): string => `${name} ${scale}`;

function controlText({ name, scale, preprocess, start, end }: ControlUse): string {
  const made = preprocess === undefined ? '' : ` of ${preprocess}`;
  const window = start === 0 && end === 1 ? '' : `, steps ${percent(start)} to ${percent(end)}`;
  return `${name}${made} ${scale}${window}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
