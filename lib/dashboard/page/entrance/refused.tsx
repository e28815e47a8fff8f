/** Explains why the identity provider's sign-in was refused: the gateway returns a code in the address. */

import type { JSX } from 'preact'
import { Notice } from '../parts/notice.tsx'
import { query } from '../state/router.ts'

const sentences: Readonly<Record<string, string>> = {
  domain_not_allowed:
    'People with your email address cannot sign in here. Use an account of this organisation, or ask an administrator of the gateway.',
  no_role: 'None of your groups has a role here. Ask an administrator of the gateway.',
  email_taken:
    'Another user has your email address. Sign in as that user, or ask an administrator to change it.',
  user_disabled: 'Your account is disabled. Ask an administrator of the gateway.',
  expired: 'The sign-in took too long, or began in another browser. Begin again.',
  provider_failed: 'The sign-in did not succeed at the provider. Try again; the log of the gateway says why.'
}

export function Refused (): JSX.Element | null {
  const reason = query.value.get('refused')
  return reason === null ? null : (
    <Notice tone='bad'>{sentences[reason] ?? sentences['provider_failed']}</Notice>
  )
}
