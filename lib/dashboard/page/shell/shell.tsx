/** The frame of all pages: navigation, and the page of the address. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { Mark } from '../parts/brand.tsx'
import { Button } from '../parts/button.tsx'
import { at, path } from '../state/router.ts'
import { CredentialInvitation } from './credential-invitation.tsx'
import { Outlet } from './outlet.tsx'
import { Sidebar } from './sidebar.tsx'

export function Shell (): JSX.Element {
  const open = useSignal(false)
  // Closes when a page was chosen. A subscription also runs at once: later it would close what was just
  // opened.
  useLayoutEffect(() => path.subscribe(() => { open.value = false }), [])
  useLayoutEffect(() => {
    const close = (event: KeyboardEvent): void => { if (event.key === 'Escape') open.value = false }
    addEventListener('keydown', close)
    return () => removeEventListener('keydown', close)
  }, [])
  return (
    <>
      <a class='skip' href='#content' onClick={skip}>Skip to the content</a>
      <div class='shell'>
        <header class='topbar'>
          <Button kind='plain' icon='menu' label='Menu' onClick={() => { open.value = true }} />
          <a class='brand' href={at('/')}><Mark />Headgate</a>
        </header>
        {open.value && <div class='scrim' onClick={() => { open.value = false }} />}
        <Sidebar open={open.value} />
        <main id='content' tabIndex={-1} aria-labelledby='page-title'>
          <CredentialInvitation />
          <Outlet />
        </main>
      </div>
    </>
  )
}

function skip (event: Event): void {
  event.preventDefault()
  document.getElementById('content')?.focus()
}
