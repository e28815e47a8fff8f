/** Chooses what to show to a visitor: the link in the address, or the ways to sign in. */

import type { JSX } from 'preact'
import { AcceptInvitation } from './accept-invitation.tsx'
import { FollowLink } from './follow-link.tsx'
import { link } from './link.ts'
import { SignIn } from './sign-in.tsx'

export function Entrance (): JSX.Element {
  if (link.value === undefined) return <SignIn />
  return link.value.kind === 'link' ? (
    <FollowLink token={link.value.token} />
  ) : (
    <AcceptInvitation token={link.value.token} />
  )
}
