/** Changes the limits of a key. */
import type { Key } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { changeOf, fieldsOf, LIMIT_NAMES, type LimitFields, type LimitName } from './limits-form.ts';

const words = texts.admin.keys;
/** Limits that are one of several words. */
const CHOICES = { max_priority: words.classes, safety: words.safety } as const;
const isChoice = (name: LimitName): name is keyof typeof CHOICES => name in CHOICES;
/** What the API takes at least; a share of a whole has two places. */
const STEPS: Partial<Record<LimitName, number>> = {
  cost_per_minute_s: 0.001,
  max_backlog_share: 0.01,
  weight: 0.01,
};

interface LimitsDialogProps {
  /** The key whose limits are changed; undefined while the dialog is closed. */
  readonly limited: Signal<Key | undefined>;
  readonly nameOf: (key: Key) => string;
  readonly onChanged: (key: Key) => void;
}

export function LimitsDialog({ limited, nameOf, onChanged }: LimitsDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const fields = useSignal<LimitFields | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const key = limited.value;
  useEffect(() => {
    fault.value = undefined;
    fields.value = key && fieldsOf(key.limits);
    if (key) dialog.current?.showModal();
    else dialog.current?.close();
  }, [key]);
  const close = (): void => {
    limited.value = undefined;
  };
  const save = async (): Promise<void> => {
    if (!key || !fields.value) return;
    const limits = changeOf(key.limits, fields.value);
    if (!limits) {
      close();
      toast(words.same);
      return;
    }
    try {
      onChanged(await lehr.keys.change(key.id, { limits }));
      close();
      toast(words.saved);
    } catch (error) {
      fault.value = faultOf(error);
    }
  };
  return (
    <dialog ref={dialog} class="dialog limits-dialog" onClose={close} aria-labelledby="limits-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <h2 id="limits-title">{key && words.limitsOf(nameOf(key))}</h2>
        <p>{words.limitsHint}</p>
        <div class="limits-fields">
          {fields.value &&
            LIMIT_NAMES.map((name) => (
              <LimitField key={name} name={name} fields={fields} problem={fault.value?.fields[name]} />
            ))}
        </div>
        <p class="fault" role="alert">
          {fault.value?.message}
        </p>
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            {words.cancel}
          </button>
          <button type="submit" class="button button-primary">
            {words.save}
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface LimitFieldProps {
  readonly name: LimitName;
  readonly fields: Signal<LimitFields | undefined>;
  readonly problem: string | undefined;
}

function LimitField({ name, fields, problem }: LimitFieldProps) {
  const id = `limit-${name}`;
  const set = (text: string): void => {
    if (fields.value) fields.value = { ...fields.value, [name]: text };
  };
  const value = fields.value?.[name] ?? '';
  return (
    <div class="field">
      <label class="field-name" for={id}>
        {words.field[name]}
      </label>
      {isChoice(name) ? (
        <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {Object.entries(CHOICES[name]).map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type="number"
          min={STEPS[name] ?? 1}
          step={STEPS[name] ?? 1}
          value={value}
          required={name === 'weight'}
          aria-invalid={problem !== undefined}
          aria-describedby={`${id}-problem`}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
      <span id={`${id}-problem`} class="fault">
        {problem}
      </span>
    </div>
  );
}
