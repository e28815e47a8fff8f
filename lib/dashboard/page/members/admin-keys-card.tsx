/** Admin keys, for programs that use the admin API like this page does. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Secret } from '../parts/code.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Input } from '../parts/input.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { TagInput } from '../parts/tag-input.tsx'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'
import { may } from '../state/session.ts'
import { roleChoices } from './roles.ts'
import { parseScopes, scopes } from './scopes.ts'

type AdminKey = Answer<'GET /admin/v1/admin-keys'>['data'][number]

export function AdminKeysCard (): JSX.Element {
  const { rows, more, error, update, reload } = usePages('admin keys', (cursor, signal) =>
    api('GET /admin/v1/admin-keys', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const creating = useSignal(false)
  const revoking = useSignal<AdminKey | undefined>(undefined)
  const columns: ReadonlyArray<Column<AdminKey>> = [
    {
      title: 'Name',
      cell: key => (
        <>
          <Clip kind='medium'>{key.name}</Clip>
          <Clip kind='sub'>
            {key.scopes === null ? `all that the role ${key.role} may do` : key.scopes.join(', ')}
          </Clip>
        </>
      ),
      flexible: true
    },
    { title: 'Role', cell: key => key.role },
    {
      title: 'Created',
      cell: key => (
        <>
          <Moment at={key.created_at_ms} />
          {key.created_by !== null && <Clip kind='sub'>{`by ${key.created_by}`}</Clip>}
        </>
      ),
      flexible: true
    },
    { title: 'Last used', cell: key => <Moment at={key.last_used_at_ms} none='Never' /> },
    {
      title: 'Revoke',
      actions: true,
      cell: key => (
        <Button
          small
          kind='plain'
          onClick={() => {
            revoking.value = key
          }}
        >
          Revoke
        </Button>
      )
    }
  ]
  return (
    <Card
      title='Admin API keys'
      subtitle='For programs that make keys or read usage: the admin API does all that this page does.'
      flush
      actions={
        <Button
          small
          icon='plus'
          onClick={() => {
            creating.value = true
          }}
        >
          Create
        </Button>
      }
    >
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <>
          <Table
            label='Admin API keys'
            compact
            columns={columns}
            rows={rows}
            id={({ id }) => id}
            empty={<Empty icon='key' title='No admin API keys' />}
          />
          <More onClick={more} />
        </>
      )}
      {creating.value && (
        <NewAdminKey
          onClose={() => {
            creating.value = false
          }}
          onCreated={key => update(rows => [key, ...rows])}
        />
      )}
      {revoking.value !== undefined && (
        <Confirm
          title={`Revoke “${revoking.value.name}”?`}
          action='Revoke key'
          onClose={() => {
            revoking.value = undefined
          }}
          onConfirm={async () => {
            const id = revoking.value?.id ?? ''
            await api('DELETE /admin/v1/admin-keys/:key_id', { at: { key_id: id } })
            update(rows => rows.filter(row => row.id !== id))
          }}
        >
          Programs that use it can no longer reach the admin API.
        </Confirm>
      )}
    </Card>
  )
}

function NewAdminKey ({
  onClose,
  onCreated
}: {
  readonly onClose: () => void
  readonly onCreated: (key: AdminKey) => void
}): JSX.Element {
  const name = useSignal('')
  const role = useSignal<AdminKey['role']>('admin')
  const chosen = useSignal<readonly string[]>([])
  const secret = useSignal<string | undefined>(undefined)
  const { run, busy, error } = useAction()
  const create = (): void => {
    void run(async () => {
      const created = await api('POST /admin/v1/admin-keys', {
        body: {
          name: name.value.trim(),
          role: role.value,
          ...chosen.value.length > 0 && { scopes: parseScopes(chosen.value) }
        }
      })
      secret.value = created.secret
      onCreated(created.key)
    })
  }
  if (secret.value !== undefined) {
    return (
      <Dialog
        title='The admin API key'
        subtitle='Copy it now: it cannot be shown again.'
        onClose={onClose}
        modal
        footer={<Button onClick={onClose}>Done</Button>}
      >
        <Secret text={secret.value} label='key' />
      </Dialog>
    )
  }
  return (
    <Dialog
      title='Create an admin API key'
      onClose={onClose}
      onSubmit={create}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={name.value.trim() === ''}>
            Create
          </Button>
        </>
      }
    >
      <Input
        label='Name'
        value={name.value}
        onInput={value => {
          name.value = value
        }}
        error={error?.fields.name}
        placeholder='Terraform'
        required
        autofocus
        autocomplete='off'
        maxLength={100}
      />
      <Select
        label='Role'
        value={role.value}
        choices={roleChoices(may('owner'))}
        onChange={value => {
          role.value = roleChoices(true).find(choice => choice.value === value)?.value ?? 'admin'
        }}
      />
      <TagInput
        label='Scopes'
        optional
        values={chosen.value}
        onChange={values => {
          chosen.value = values
        }}
        suggestions={scopes}
        placeholder='All of the role'
        error={error?.fields.scopes}
      />
      <Failure error={error} fields={['name', 'scopes']} />
    </Dialog>
  )
}
