/** The menu of a user, for admins. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { draftLimits, limitFieldNames, limitsOf } from '../limits/limits-draft.ts'
import { LimitsFields } from '../limits/limits-fields.tsx'
import { Button } from '../parts/button.tsx'
import { Secret } from '../parts/code.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Menu } from '../parts/menu.tsx'
import { Failure } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { currentSession, may } from '../state/session.ts'
import { roleChoices } from './roles.ts'

type User = Answer<'GET /admin/v1/users/:user_id'>

export interface UserActionsProps {
  readonly user: User
  readonly onChanged: (user: User) => void
  readonly onDeleted: () => void
}

export function UserActions ({ user, onChanged, onDeleted }: UserActionsProps): JSX.Element | null {
  const open = useSignal<'role' | 'limits' | 'link' | 'disable' | 'delete' | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  const at = { user_id: user.id }
  if (user.id === currentSession().user.id || (user.role === 'owner' && !may('owner'))) return null
  const enable = async (): Promise<void> => {
    onChanged(await api('POST /admin/v1/users/:user_id', { at, body: { disabled: !user.disabled } }))
    toast(user.disabled ? 'User enabled' : 'User disabled')
  }
  return (
    <>
      <Menu
        label={`Actions for ${user.name}`}
        items={[
          {
            label: 'Change role',
            icon: 'people',
            onSelect: () => {
              open.value = 'role'
            }
          },
          {
            label: 'Limits',
            icon: 'key',
            onSelect: () => {
              open.value = 'limits'
            }
          },
          {
            label: 'Sign-in link',
            icon: 'link',
            onSelect: () => {
              open.value = 'link'
            }
          },
          {
            label: user.disabled ? 'Enable' : 'Disable',
            icon: 'lock',
            onSelect: () => {
              open.value = 'disable'
            }
          },
          {
            label: 'Delete',
            icon: 'trash',
            danger: true,
            onSelect: () => {
              open.value = 'delete'
            }
          }
        ]}
      />
      {open.value === 'role' && <ChangeRole user={user} onClose={close} onChanged={onChanged} />}
      {open.value === 'limits' && <ChangeLimits user={user} onClose={close} onChanged={onChanged} />}
      {open.value === 'link' && <SignInLink user={user} onClose={close} />}
      {open.value === 'disable' && (
        <Confirm
          title={`${user.disabled ? 'Enable' : 'Disable'} ${user.name}?`}
          action={user.disabled ? 'Enable' : 'Disable'}
          onClose={close}
          onConfirm={enable}
        >
          {user.disabled
            ? 'They can sign in again.'
            : 'They are signed out everywhere and cannot sign in. Keys that they made keep working.'}
        </Confirm>
      )}
      {open.value === 'delete' && (
        <Confirm
          title={`Delete ${user.name}?`}
          action='Delete user'
          onClose={close}
          onConfirm={async () => {
            await api('DELETE /admin/v1/users/:user_id', { at })
            onDeleted()
          }}
        >
          Keys that they made keep working.
        </Confirm>
      )}
    </>
  )
}

function ChangeRole ({
  user,
  onClose,
  onChanged
}: {
  readonly user: User
  readonly onClose: () => void
  readonly onChanged: (user: User) => void
}): JSX.Element {
  const role = useSignal(user.role)
  const { run, busy, error } = useAction()
  const save = (): void => {
    void run(async () => {
      onChanged(
        await api('POST /admin/v1/users/:user_id', { at: { user_id: user.id }, body: { role: role.value } })
      )
      toast('Role changed')
      onClose()
    })
  }
  return (
    <Dialog
      title={`Role of ${user.name}`}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <Select
        label='Role'
        value={role.value}
        choices={roleChoices(may('owner'))}
        hint={roleChoices(true).find(({ value }) => value === role.value)?.hint}
        onChange={value => {
          role.value = roleChoices(true).find(choice => choice.value === value)?.value ?? user.role
        }}
      />
      <Failure error={error} />
    </Dialog>
  )
}

function ChangeLimits ({
  user,
  onClose,
  onChanged
}: {
  readonly user: User
  readonly onClose: () => void
  readonly onChanged: (user: User) => void
}): JSX.Element {
  const limits = useSignal(draftLimits(user.limits))
  const { run, busy, error } = useAction()
  const save = (): void => {
    void run(async () => {
      onChanged(
        await api('POST /admin/v1/users/:user_id', {
          at: { user_id: user.id },
          body: { limits: limitsOf(limits.value) }
        })
      )
      toast('Limits changed')
      onClose()
    })
  }
  return (
    <Dialog
      title={`Limits of ${user.name}`}
      subtitle='They hold for all keys that this person owns, together.'
      onClose={onClose}
      onSubmit={save}
      wide
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <LimitsFields
        draft={limits.value}
        onChange={next => {
          limits.value = next
        }}
        error={error}
      />
      <Failure error={error} fields={limitFieldNames} />
    </Dialog>
  )
}

function SignInLink ({ user, onClose }: { readonly user: User, readonly onClose: () => void }): JSX.Element {
  const url = useSignal<string | undefined>(undefined)
  const { run, busy, error } = useAction()
  const make = (): void =>
    void run(async () => {
      url.value = (await api('POST /admin/v1/users/:user_id/link', { at: { user_id: user.id } })).url
    })
  return (
    <Dialog
      title={`Sign-in link for ${user.name}`}
      subtitle='It works once, and signs in as this user.'
      onClose={onClose}
      {...(url.value === undefined && { onSubmit: make })}
      wide
      footer={
        url.value === undefined ? (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind='primary' type='submit' busy={busy}>
              Make the link
            </Button>
          </>
        ) : (
          <Button onClick={onClose}>Done</Button>
        )
      }
    >
      {url.value === undefined ? (
        <p class='muted'>Use it for someone who is locked out.</p>
      ) : (
        <Secret text={url.value} label='link' />
      )}
      <Failure error={error} />
    </Dialog>
  )
}
