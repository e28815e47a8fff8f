/** Open invitations. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Failure } from '../parts/notice.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Table } from '../parts/table.tsx'
import { date } from '../format/time.ts'
import { useAction } from '../state/action.ts'

type Invitation = Answer<'GET /admin/v1/invitations'>['data'][number]

export function InvitationsCard ({
  invitations,
  more,
  onWithdrawn
}: {
  readonly invitations: readonly Invitation[]
  /** Shows older ones; absent if there are none. */
  readonly more: (() => void) | undefined
  readonly onWithdrawn: (id: string) => void
}): JSX.Element | null {
  const { run, busy, error } = useAction()
  if (invitations.length === 0 && more === undefined) return null
  const withdraw = (id: string): void => {
    void run(async () => {
      await api('DELETE /admin/v1/invitations/:invitation_id', { at: { invitation_id: id } })
      onWithdrawn(id)
    })
  }
  return (
    <Card title='Open invitations' flush>
      <Failure error={error} />
      <Table
        label='Open invitations'
        compact
        rows={invitations}
        id={({ id }) => id}
        empty={null}
        columns={[
          {
            title: 'For',
            flexible: true,
            cell: ({ email }) => <Clip>{email ?? 'anyone with the link'}</Clip>
          },
          { title: 'Role', cell: ({ role }) => role },
          {
            title: 'Invited',
            flexible: true,
            cell: ({ created_at_ms, invited_by }) => (
              <>
                <Moment at={created_at_ms} />
                <Clip kind='sub'>{`by ${invited_by}`}</Clip>
              </>
            )
          },
          { title: 'Until', cell: ({ expires_at_ms }) => <span class='nowrap'>{date(expires_at_ms)}</span> },
          {
            title: 'Withdraw',
            actions: true,
            cell: ({ id }) => (
              <Button small kind='plain' busy={busy} onClick={() => withdraw(id)}>
                Withdraw
              </Button>
            )
          }
        ]}
      />
      <More onClick={more} />
    </Card>
  )
}
