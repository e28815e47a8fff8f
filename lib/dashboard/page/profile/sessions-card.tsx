/** The sessions of the user. */

import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Moment } from '../parts/moment.tsx'
import { Failure } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'

export function SessionsCard (): JSX.Element {
  const { rows, error, update, reload } = usePages('sessions', (_, signal) =>
    api('GET /admin/v1/sessions', signal === undefined ? {} : { signal })
  )
  const ending = useAction()
  const end = (id: string): void => {
    void ending.run(async () => {
      await api('DELETE /admin/v1/sessions/:session_id', { at: { session_id: id } })
      update(rows => rows.filter(row => row.id !== id))
    })
  }
  return (
    <Card title='Sessions' subtitle='End those that you do not know.' flush>
      <Failure error={error} retry={() => void reload()} />
      <Failure error={ending.error} />
      {error === undefined && (
        <Table
          label='Sessions'
          compact
          rows={rows}
          id={({ id }) => id}
          empty={null}
          columns={[
            {
              title: 'Browser',
              flexible: true,
              cell: ({ user_agent }) => <Clip>{user_agent ?? 'unknown'}</Clip>
            },
            { title: 'Address', cell: ({ address }) => <span class='mono'>{address ?? '–'}</span> },
            { title: 'Began', cell: ({ created_at_ms }) => <Moment at={created_at_ms} /> },
            { title: 'Last seen', cell: ({ last_seen_at_ms }) => <Moment at={last_seen_at_ms} /> },
            {
              title: 'End',
              actions: true,
              cell: ({ id, current }) =>
                current ? (
                  <Badge tone='good'>this one</Badge>
                ) : (
                  <Button small kind='plain' busy={ending.busy} onClick={() => end(id)}>
                    End
                  </Button>
                )
            }
          ]}
        />
      )}
    </Card>
  )
}
