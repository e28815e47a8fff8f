/** Chooses between signing in, accepting a link, and the pages. */

import { useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { Notice } from './parts/notice.tsx'
import { Button } from './parts/button.tsx'
import { Toasts } from './parts/toast.tsx'
import { Entrance } from './entrance/entrance.tsx'
import { link } from './entrance/link.ts'
import { Shell } from './shell/shell.tsx'
import { loadSession, session, sessionError } from './state/session.ts'

export function App (): JSX.Element {
  useSignalEffect(() => { if (session.value === null) document.title = 'Sign in · Headgate' })
  return <>{content()}<Toasts /></>
}

function content (): JSX.Element | null {
  if (sessionError.value !== undefined) {
    return (
      <main class='entrance'>
        <div class='entrance-card'>
          <Notice tone='bad'>{sessionError.value.message}</Notice>
          <Button icon='refresh' onClick={() => void loadSession()}>Try again</Button>
        </div>
      </main>
    )
  }
  if (session.value === undefined) return null
  return session.value === null || link.value !== undefined ? <Entrance /> : <Shell />
}
