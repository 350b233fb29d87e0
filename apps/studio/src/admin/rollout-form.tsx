/** Changes the rollout of a model. Every change needs a reason, which the history keeps. */
import type { Rollout } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { toast } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { type Action, actionsOf, changeOf, isOpen, type ModelVersions, onlyVersion } from './rollout-plan.ts';
import { type Draft, Share } from './rollout-share.tsx';

const words = texts.rollouts;
const FIRST_SHARE = 10;
const MAX_REASON = 500;

interface RolloutFormProps {
  readonly model: ModelVersions;
  readonly rollout: Rollout | undefined;
  readonly onChanged: (rollout: Rollout) => void;
}

/** Where a button stands: one that takes the place of another keeps the focus. */
const PLACES: Readonly<Record<Action, string>> = {
  deploy: 'main',
  share: 'main',
  pause: 'pause',
  resume: 'pause',
  promote: 'promote',
  rollback: 'rollback',
};

const NO_DRAFT: Draft = { canary: undefined, stable: undefined, weight: undefined };

/** The fields of the form, and what its buttons do. */
function useRolloutChange({ model, rollout, onChanged }: RolloutFormProps) {
  const draft = useSignal<Draft>(NO_DRAFT);
  const reason = useSignal('');
  const problem = useSignal('');
  const isMissing = useSignal(false);
  const isSending = useSignal(false);
  const reasonField = useRef<HTMLInputElement>(null);
  const serving = onlyVersion(rollout);
  const others = model.versions.filter((version) => version !== serving);
  const canary = isOpen(rollout) ? rollout.canary : (draft.value.canary ?? others.at(-1) ?? '');
  const weight = draft.value.weight ?? (isOpen(rollout) ? rollout.weight : FIRST_SHARE);
  const send = (action: Action, why: string): Promise<Rollout> => {
    if (action !== 'deploy' && action !== 'share') {
      return lehr.rollouts.change(model.name, changeOf(action, why));
    }
    const { stable } = draft.value;
    const request = { version: canary, weight, reason: why };
    return lehr.rollouts.deploy(model.name, { ...request, ...(stable !== undefined && { stable }) });
  };
  const act = async (action: Action): Promise<void> => {
    problem.value = '';
    const why = reason.value.trim();
    isMissing.value = why === '';
    if (isMissing.value) reasonField.current?.focus();
    if (isMissing.value || isSending.value) return;
    isSending.value = true;
    try {
      onChanged(await send(action, why));
      toast(words.done[action]);
      draft.value = NO_DRAFT;
      reason.value = '';
    } catch (error) {
      problem.value = faultOf(error).message;
    } finally {
      isSending.value = false;
    }
  };
  const state = { draft, reason, problem, isMissing, isSending };
  return { ...state, reasonField, others, canary, weight, act };
}

type RolloutDraft = ReturnType<typeof useRolloutChange>;

export function RolloutForm(props: RolloutFormProps) {
  const { model, rollout } = props;
  const form = useRolloutChange(props);
  const { draft, weight, act } = form;
  const actions = actionsOf(rollout);
  const [main] = actions;
  return (
    <form
      class="rollout-form"
      aria-label={words.form(model.name)}
      onSubmit={(event) => {
        event.preventDefault();
        void act(main);
      }}
    >
      {!isOpen(rollout) && <Versions model={model} form={form} asksStable={rollout === undefined} />}
      <Share id={`share-${model.name}`} weight={weight} draft={draft} />
      <Reason id={`reason-${model.name}`} form={form} />
      <div class="actions">
        {actions.map((action) => (
          <button
            key={PLACES[action]}
            type="button"
            class={['button', action === main && 'button-primary', action === 'rollback' && 'button-danger']
              .filter(Boolean)
              .join(' ')}
            aria-disabled={form.isSending.value}
            onClick={() => void act(action)}
          >
            {words.actions[action]}
          </button>
        ))}
      </div>
      <p id={`reason-${model.name}-problem`} class="fault" role="alert">
        {form.isMissing.value ? words.reasonMissing : form.problem.value}
      </p>
    </form>
  );
}

function Reason({ id, form }: { readonly id: string; readonly form: RolloutDraft }) {
  const { reason, reasonField, isMissing } = form;
  return (
    <div class="field rollout-reason">
      <label class="field-name" for={id}>
        {words.reason}
      </label>
      <input
        id={id}
        ref={reasonField}
        value={reason.value}
        maxLength={MAX_REASON}
        placeholder={words.reasonHint}
        aria-required="true"
        aria-invalid={isMissing.value}
        aria-describedby={`${id}-problem`}
        onInput={(event) => {
          reason.value = event.currentTarget.value;
          isMissing.value = false;
        }}
      />
    </div>
  );
}

interface VersionsProps {
  readonly model: ModelVersions;
  readonly form: RolloutDraft;
  /** Whether the version of all others is not known from an earlier rollout. */
  readonly asksStable: boolean;
}

function Versions({ model, form: { draft, others, canary }, asksStable }: VersionsProps) {
  return (
    <div class="rollout-versions">
      <label class="field">
        <span class="field-name">{words.canary}</span>
        <select
          value={canary}
          onChange={(event) => {
            draft.value = { ...draft.value, canary: event.currentTarget.value };
          }}
        >
          {others.map((version) => (
            <option key={version} value={version}>
              {version}
            </option>
          ))}
        </select>
      </label>
      {asksStable && (
        <label class="field">
          <span class="field-name">{words.stable}</span>
          <select
            value={draft.value.stable ?? ''}
            onChange={(event) => {
              draft.value = { ...draft.value, stable: event.currentTarget.value || undefined };
            }}
          >
            <option value="">{words.byFile}</option>
            {model.versions
              .filter((version) => version !== canary)
              .map((version) => (
                <option key={version} value={version}>
                  {version}
                </option>
              ))}
          </select>
        </label>
      )}
    </div>
  );
}
