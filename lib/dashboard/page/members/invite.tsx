/** Invites a person by link. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Secret } from '../parts/code.tsx'
import { Check } from '../parts/check.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'
import { useAction } from '../state/action.ts'
import { currentSession, may } from '../state/session.ts'
import { roleChoices } from './roles.ts'

type Invitation = Answer<'GET /admin/v1/invitations'>['data'][number]

export function Invite ({
  onClose,
  onInvited
}: {
  readonly onClose: () => void
  readonly onInvited: (invitation: Invitation) => void
}): JSX.Element {
  const email = useSignal('')
  const role = useSignal<Invitation['role']>('member')
  const projects = useSignal<readonly string[]>([])
  const url = useSignal<string | undefined>(undefined)
  const { run, busy, error } = useAction()
  const invite = (): void => {
    void run(async () => {
      const created = await api('POST /admin/v1/invitations', {
        body: {
          role: role.value,
          ...email.value.trim() !== '' && { email: email.value.trim() },
          ...needsProjects && { projects: [...projects.value] }
        }
      })
      url.value = created.url
      onInvited(created.invitation)
    })
  }
  const needsProjects = role.value === 'member' || role.value === 'viewer'
  if (url.value !== undefined) {
    return (
      <Dialog
        title='The invitation'
        subtitle='Send this link to the person. It works once, and is not shown again.'
        onClose={onClose}
        wide
        modal
        footer={<Button onClick={onClose}>Done</Button>}
      >
        <Secret text={url.value} label='link' />
      </Dialog>
    )
  }
  return (
    <Dialog
      title='Invite a person'
      onClose={onClose}
      onSubmit={invite}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>
            Make the link
          </Button>
        </>
      }
    >
      <Input
        label='Email'
        optional
        type='email'
        value={email.value}
        onInput={value => {
          email.value = value
        }}
        error={error?.fields.email}
        hint='With it, only this address can accept.'
        autofocus
        autocomplete='off'
      />
      <Select
        label='Role'
        value={role.value}
        choices={roleChoices(may('owner'))}
        hint={roleChoices(true).find(({ value }) => value === role.value)?.hint}
        onChange={value => {
          role.value = roleChoices(true).find(choice => choice.value === value)?.value ?? 'member'
        }}
      />
      {needsProjects && (
        <fieldset class='field'>
          <legend>Projects</legend>
          {currentSession().projects.map(({ id, name }) => (
            <Check
              key={id}
              checked={projects.value.includes(id)}
              onChange={checked => {
                projects.value = checked
                  ? [...projects.value, id]
                  : projects.value.filter(other => other !== id)
              }}
            >
              {name}
            </Check>
          ))}
        </fieldset>
      )}
      <Failure error={error} fields={['email']} />
    </Dialog>
  )
}
