/** The user's own name and email. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { currentSession, enter } from '../state/session.ts'

export function NameCard (): JSX.Element {
  const { user } = currentSession()
  const name = useSignal(user.name)
  const email = useSignal(user.email ?? '')
  const { run, busy, error } = useAction()
  const save = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      enter(
        await api('POST /admin/v1/profile', {
          body: { name: name.value.trim(), ...email.value.trim() !== '' && { email: email.value.trim() } }
        })
      )
      toast('Saved')
    })
  }
  return (
    <Card title='Profile'>
      <form class='stack' onSubmit={save}>
        <Input
          label='Name'
          value={name.value}
          onInput={value => {
            name.value = value
          }}
          error={error?.fields.name}
          autocomplete='name'
          required
          maxLength={100}
        />
        <Input
          label='Email'
          type='email'
          value={email.value}
          onInput={value => {
            email.value = value
          }}
          error={error?.fields.email}
          autocomplete='email'
        />
        <Failure error={error} fields={['name', 'email']} />
        <div class='row'>
          <Button type='submit' busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  )
}
