/** Accepts an invitation: asks for a name, and a password for later sign-ins. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useAction } from '../state/action.ts'
import { useResource } from '../state/resource.ts'
import { begin } from '../state/session.ts'
import { Frame } from './frame.tsx'
import { forgetLink } from './link.ts'

export function AcceptInvitation ({ token }: { readonly token: string }): JSX.Element {
  const invitation = useResource(token, signal =>
    api('POST /admin/v1/invitation', { body: { token }, signal })
  )
  const name = useSignal('')
  const password = useSignal('')
  const { run, busy, error } = useAction()
  const submit = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      const session = await api('POST /admin/v1/sign-in/invitation', {
        body: { token, name: name.value.trim(), password: password.value }
      })
      forgetLink()
      begin(session)
    })
  }
  if (invitation.data === undefined) {
    return (
      <Frame title='Invitation'>
        {invitation.error === undefined ? (
          <SkeletonLines />
        ) : (
          <>
            <Failure error={invitation.error} />
            <Button onClick={forgetLink}>Sign in</Button>
          </>
        )}
      </Frame>
    )
  }
  const { invited_by, role, email } = invitation.data
  return (
    <Frame
      title='Join Headgate'
      intro={
        <>
          {invited_by} invited {email ?? 'you'} as {role === 'owner' || role === 'admin' ? 'an' : 'a'} {role}
          .
        </>
      }
    >
      <form onSubmit={submit}>
        <Input
          label='Your name'
          value={name.value}
          onInput={value => {
            name.value = value
          }}
          error={error?.fields.name}
          autocomplete='name'
          required
          autofocus
          maxLength={100}
        />
        <Input
          label='Password'
          type='password'
          value={password.value}
          onInput={value => {
            password.value = value
          }}
          error={error?.fields.password}
          hint='At least 12 characters.'
          autocomplete='new-password'
          required
          minLength={12}
        />
        {error !== undefined && Object.keys(error.fields).length === 0 && <Failure error={error} />}
        <Button kind='primary' type='submit' busy={busy}>
          Join
        </Button>
      </form>
    </Frame>
  )
}
