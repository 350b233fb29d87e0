/** A button that changes something, once at a time, and says why when it could not. With `ask` the first press asks. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { faultOf } from '../wire/fault.ts';

interface ActionButtonProps {
  readonly act: () => Promise<unknown>;
  /** What the button says when it was pressed once; pressed again, it acts. */
  readonly ask?: string;
  readonly children: ComponentChildren;
}

export function ActionButton({ act, ask, children }: ActionButtonProps) {
  const isBusy = useSignal(false);
  const isAsking = useSignal(false);
  const problem = useSignal('');
  const press = async (): Promise<void> => {
    if (ask !== undefined && !isAsking.value) {
      isAsking.value = true;
      return;
    }
    isAsking.value = false;
    isBusy.value = true;
    problem.value = '';
    await act().catch((error) => {
      problem.value = faultOf(error).message;
    });
    isBusy.value = false;
  };
  return (
    <span class="planned-action">
      <button
        type="button"
        class={isAsking.value ? 'button button-small button-danger' : 'button button-small'}
        disabled={isBusy.value}
        onClick={press}
        onBlur={() => {
          isAsking.value = false;
        }}
      >
        {isAsking.value ? ask : children}
      </button>
      <span class="fault" role="alert">
        {problem.value}
      </span>
    </span>
  );
}
