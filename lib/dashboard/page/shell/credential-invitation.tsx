/** Reminds a user who signed in with a one-time link to set a password or add a passkey. */

import type { JSX } from 'preact'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { at, path } from '../state/router.ts'
import { currentSession } from '../state/session.ts'

export function CredentialInvitation (): JSX.Element | null {
  if (!currentSession().needs_credential || path.value === '/profile') return null
  return (
    <div class='banner'>
      <Notice tone='accent'>
        <div class='row between'>
          <span class='grow'>
            You came by a one-time link. Set a password or add a passkey to come back without one.
          </span>
          <Button small href={at('/profile')}>
            Secure your account
          </Button>
        </div>
      </Notice>
    </div>
  )
}
