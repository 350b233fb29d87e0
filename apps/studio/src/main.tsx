/** The studio: the page for people, over the same API that programs use. */
import { render } from 'preact';
import { startSession } from './session/session.ts';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';

applyTheme();
const root = document.getElementById('studio');
if (root) render(<App />, root);
void startSession();
