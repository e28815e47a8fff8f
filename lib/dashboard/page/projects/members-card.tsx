/** The members of a project. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Select } from '../parts/select.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'
import { useResource } from '../state/resource.ts'
import { may } from '../state/session.ts'

type User = Answer<'GET /admin/v1/users'>['data'][number]
type Member = Answer<'GET /admin/v1/projects/:project_id/members'>['data'][number]

export function MembersCard ({ project }: { readonly project: string }): JSX.Element {
  const at = { project_id: project }
  const { rows, more, error, update, reload } = usePages(project, (cursor, signal) =>
    api('GET /admin/v1/projects/:project_id/members', {
      at,
      query: { cursor },
      ...signal !== undefined && { signal }
    })
  )
  const adding = useSignal(false)
  const removing = useSignal<Member | undefined>(undefined)
  const columns: ReadonlyArray<Column<Member>> = [
    {
      title: 'Name',
      cell: member => (
        <>
          <Clip kind='medium'>{member.name}</Clip>
          <Clip kind='sub'>{member.email ?? 'no email'}</Clip>
        </>
      ),
      flexible: true
    },
    { title: 'Role', cell: member => member.role },
    { title: 'Added', cell: member => <Moment at={member.added_at_ms} /> },
    {
      title: 'Remove',
      actions: true,
      cell: member =>
        may('admin') && (
          <Button
            small
            kind='plain'
            icon='close'
            label={`Remove ${member.name}`}
            onClick={() => {
              removing.value = member
            }}
          />
        )
    }
  ]
  return (
    <Card
      title='Members'
      flush
      actions={
        may('admin') && (
          <Button
            small
            icon='plus'
            onClick={() => {
              adding.value = true
            }}
          >
            Add member
          </Button>
        )
      }
    >
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <>
          <Table
            label='Members'
            compact
            columns={columns}
            rows={rows}
            id={member => member.user_id}
            empty={
              <Empty icon='people' title='No members yet'>
                Owners and admins see every project; others those they are members of.
              </Empty>
            }
          />
          <More onClick={more} />
        </>
      )}
      {adding.value && (
        <AddMember
          project={project}
          onClose={() => {
            adding.value = false
          }}
          onAdded={member => update(rows => [member, ...rows])}
        />
      )}
      {removing.value !== undefined && (
        <Confirm
          title={`Remove ${removing.value.name}?`}
          action='Remove'
          onClose={() => {
            removing.value = undefined
          }}
          onConfirm={async () => {
            const id = removing.value?.user_id ?? ''
            await api('DELETE /admin/v1/projects/:project_id/members/:user_id', {
              at: { ...at, user_id: id }
            })
            update(rows => rows.filter(row => row.user_id !== id))
          }}
        >
          Keys that {removing.value.name} made keep working.
        </Confirm>
      )}
    </Card>
  )
}

async function allUsers (signal: AbortSignal): Promise<readonly User[]> {
  const users: User[] = []
  let cursor: string | null | undefined
  do {
    const page: Answer<'GET /admin/v1/users'> = await api('GET /admin/v1/users', {
      query: { limit: 200, cursor: cursor ?? undefined },
      signal
    })
    users.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return users
}

interface AddMemberProps {
  readonly project: string
  readonly onClose: () => void
  readonly onAdded: (member: Member) => void
}

function AddMember ({ project, onClose, onAdded }: AddMemberProps): JSX.Element {
  const users = useResource('users', allUsers)
  const user = useSignal('')
  const { run, busy, error } = useAction()
  const choices = (users.data ?? [])
    .filter(({ projects }) => !projects.includes(project))
    .map(({ id, name, email }) => ({ value: id, label: email === null ? name : `${name} (${email})` }))
  const add = (): void => {
    void run(async () => {
      onAdded(
        await api('POST /admin/v1/projects/:project_id/members', {
          at: { project_id: project },
          body: { user_id: user.value }
        })
      )
      onClose()
    })
  }
  return (
    <Dialog
      title='Add a member'
      onClose={onClose}
      onSubmit={add}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind='primary' type='submit' busy={busy} disabled={user.value === ''}>
            Add
          </Button>
        </>
      }
    >
      <Select
        label='Person'
        value={user.value}
        choices={[{ value: '', label: 'Choose …' }, ...choices]}
        onChange={value => {
          user.value = value
        }}
        hint='Someone new? Invite them under Members.'
      />
      <Failure error={users.error ?? error} />
    </Dialog>
  )
}
