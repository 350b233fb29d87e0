/** A view whose code is loaded when it is opened. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts/index.ts';

/** `load` is called once, when it is first shown; after a failure again when it is shown again. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Later(props: Props) {
    const [hasFailed, setFailed] = useState(false);
    const [, setLoaded] = useState(loaded !== undefined);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (view) => {
          loaded = view;
          setLoaded(true);
        },
        () => setFailed(true),
      );
    }, []);
    if (loaded) {
      const View = loaded;
      return <View {...props} />;
    }
    if (hasFailed) {
      return (
        <p class="fault" role="alert">
          {texts.faults.unexpected}
        </p>
      );
    }
    return <div class="loading" aria-busy="true" />;
  };
}
