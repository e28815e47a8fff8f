/** The user's own account: name, ways to sign in, and sessions. */

import type { JSX } from 'preact'
import { Page } from '../parts/page.tsx'
import { currentSession } from '../state/session.ts'
import { NameCard } from './name-card.tsx'
import { PasskeysCard } from './passkeys-card.tsx'
import { PasswordCard } from './password-card.tsx'
import { SessionsCard } from './sessions-card.tsx'

export function ProfilePage (): JSX.Element {
  const { user } = currentSession()
  return (
    <Page
      title='Your account'
      subtitle={`You are ${user.role === 'owner' || user.role === 'admin' ? 'an' : 'a'} ${user.role} of this gateway.`}
    >
      <div class='stack'>
        <div class='grid two'>
          <PasswordCard />
          <NameCard key={user.email} />
        </div>
        <PasskeysCard />
        <SessionsCard />
      </div>
    </Page>
  )
}
