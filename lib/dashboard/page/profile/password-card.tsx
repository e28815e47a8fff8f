/** Sets the user's own password. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { begin, currentSession } from '../state/session.ts'

export function PasswordCard (): JSX.Element {
  const { has_password, user } = currentSession()
  const email = useSignal('')
  const former = useSignal('')
  const next = useSignal('')
  const { run, busy, error } = useAction()
  const save = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      begin(
        await api('POST /admin/v1/profile/password', {
          body: {
            new_password: next.value,
            ...former.value !== '' && { current_password: former.value },
            ...user.email === null && { email: email.value.trim() }
          }
        })
      )
      former.value = ''
      next.value = ''
      toast('Password set')
    })
  }
  return (
    <Card title={has_password ? 'Change password' : 'Set a password'}>
      <form class='stack' onSubmit={save}>
        {user.email === null ? (
          <Input
            label='Email'
            type='email'
            value={email.value}
            onInput={value => {
              email.value = value
            }}
            error={error?.fields.email}
            hint='It is what you sign in with.'
            autocomplete='username'
            required
          />
        ) : (
          <input
            type='email'
            value={user.email}
            autocomplete='username'
            hidden
            readOnly
            aria-label='Email'
          />
        )}
        {has_password && (
          <Input
            label='Current password'
            type='password'
            value={former.value}
            onInput={value => {
              former.value = value
            }}
            error={error?.fields.current_password}
            autocomplete='current-password'
          />
        )}
        <Input
          label='New password'
          type='password'
          value={next.value}
          onInput={value => {
            next.value = value
          }}
          error={error?.fields.new_password}
          hint='At least 12 characters. Other sessions of yours end.'
          autocomplete='new-password'
          required
          minLength={12}
        />
        <Failure
          error={error}
          fields={[
            'new_password',
            ...(user.email === null ? ['email'] : []),
            ...(has_password ? ['current_password'] : [])
          ]}
        />
        <div class='row'>
          <Button type='submit' {...(!has_password && { kind: 'primary' })} busy={busy}>
            {has_password ? 'Change password' : 'Set password'}
          </Button>
        </div>
      </form>
    </Card>
  )
}
