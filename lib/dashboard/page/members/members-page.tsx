/** Users with their roles, invitations, and admin keys. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Spend } from '../limits/spend.tsx'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { projectName } from '../state/names.ts'
import { usePages } from '../state/pages.ts'
import { AdminKeysCard } from './admin-keys-card.tsx'
import { InvitationsCard } from './invitations-card.tsx'
import { Invite } from './invite.tsx'
import { UserActions } from './user-actions.tsx'

type User = Answer<'GET /admin/v1/users/:user_id'>

export function MembersPage (): JSX.Element {
  const inviting = useSignal(false)
  const users = usePages('users', (cursor, signal) =>
    api('GET /admin/v1/users', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const invitations = usePages('invitations', (cursor, signal) =>
    api('GET /admin/v1/invitations', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const columns: ReadonlyArray<Column<User>> = [
    {
      title: 'Name',
      cell: ({ name, email }) => (
        <>
          <Clip kind='medium'>{name}</Clip>
          <Clip kind='sub'>{email ?? 'no email'}</Clip>
        </>
      ),
      flexible: true
    },
    { title: 'Role', cell: ({ role, disabled }) => (disabled ? <Badge tone='warn'>disabled</Badge> : role) },
    {
      title: 'Projects',
      cell: ({ role, projects }) =>
        role === 'owner' || role === 'admin' ? (
          <span class='faint'>All</span>
        ) : projects.length === 0 ? (
          <span class='faint'>None</span>
        ) : (
          <Clip>{projects.map(projectName).join(', ')}</Clip>
        ),
      flexible: true
    },
    {
      title: 'Budget',
      cell: ({ limits, spent_usd: spent, exhausted }) =>
        limits === null || spent === null ? (
          <span class='faint'>None</span>
        ) : (
          <>
            <Spend limits={limits} spent={spent} />
            {exhausted && <Badge tone='bad'>exhausted</Badge>}
          </>
        )
    },
    { title: 'Signs in by', cell: user => signInWays(user) },
    { title: 'Last seen', cell: ({ last_seen_at_ms }) => <Moment at={last_seen_at_ms} none='Never' /> },
    {
      title: 'Actions',
      actions: true,
      cell: user => (
        <UserActions
          user={user}
          onChanged={changed =>
            users.update(rows => rows.map(row => (row.id === changed.id ? changed : row)))
          }
          onDeleted={() => users.update(rows => rows.filter(row => row.id !== user.id))}
        />
      )
    }
  ]
  return (
    <Page
      title='Members'
      subtitle='The people who use this dashboard.'
      actions={
        <Button
          kind='primary'
          icon='plus'
          onClick={() => {
            inviting.value = true
          }}
        >
          Invite
        </Button>
      }
    >
      <div class='stack'>
        <Failure error={users.error ?? invitations.error} retry={() => void users.reload()} />
        {users.error === undefined && (
          <Card title='People' flush>
            <Table label='People' columns={columns} rows={users.rows} id={({ id }) => id} empty={null} />
            <More onClick={users.more} />
          </Card>
        )}
        <InvitationsCard
          invitations={invitations.rows ?? []}
          more={invitations.more}
          onWithdrawn={id => invitations.update(rows => rows.filter(row => row.id !== id))}
        />
        <AdminKeysCard />
      </div>
      {inviting.value && (
        <Invite
          onClose={() => {
            inviting.value = false
          }}
          onInvited={invitation => invitations.update(rows => [invitation, ...rows])}
        />
      )}
    </Page>
  )
}

function signInWays ({ has_password, passkeys }: User): string {
  const ways = [...(has_password ? ['password'] : []), ...(passkeys > 0 ? ['passkey'] : [])]
  return ways.length === 0 ? 'link' : ways.join(', ')
}
