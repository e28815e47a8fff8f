/** Starts the page. */

import { render } from 'preact'
import { App } from './app.tsx'
import { loadSession } from './state/session.ts'

const root = document.getElementById('page')
if (root !== null) render(<App />, root)
void loadSession()
