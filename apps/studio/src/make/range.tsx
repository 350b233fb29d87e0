/** A number that is set with a slider or written. */
import { fault } from './making.ts';

interface RangeProps {
  /** Of the field in the request, for the problems that the API names. */
  readonly name: string;
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly onChange: (value: number) => void;
  /** The problem to show, where it has another name than the field. */
  readonly problem?: string | undefined;
}

export function Range({ name, label, value, min, max, step, onChange, problem: named }: RangeProps) {
  const problem = named ?? fault.value?.fields[name];
  const id = `setting-${name}`;
  const onInput = (event: InputEvent): void =>
    onChange(Number((event.currentTarget as HTMLInputElement).value));
  return (
    <div class="field range" data-invalid={problem !== undefined}>
      <label class="field-name" for={id}>
        {label}
      </label>
      <input
        class="range-number"
        type="number"
        aria-label={label}
        min={min}
        step={step}
        value={value}
        onChange={(event) => onChange(Number(event.currentTarget.value))}
        aria-describedby={`${id}-problem`}
      />
      <input
        id={id}
        class="range-slider"
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        onInput={onInput}
        style={{ '--part': `${((value - min) / (max - min || 1)) * 100}%` }}
      />
      <p id={`${id}-problem`} class="fault">
        {problem}
      </p>
    </div>
  );
}
