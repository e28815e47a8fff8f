/** The user's own passkeys. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { createPasskey, keepsPasskeys } from '../entrance/passkey.ts'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Card } from '../parts/card.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Moment } from '../parts/moment.tsx'
import { Failure } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'
import { loadSession } from '../state/session.ts'

export function PasskeysCard (): JSX.Element | null {
  const { rows, error, update, reload } = usePages('passkeys', (_, signal) =>
    api('GET /admin/v1/passkeys', signal === undefined ? {} : { signal })
  )
  const removing = useSignal<{ readonly id: string, readonly name: string } | undefined>(undefined)
  const adding = useAction()
  const add = async (): Promise<void> => {
    const { challenge_id, options } = await api('POST /admin/v1/passkeys/options')
    const passkey = await api('POST /admin/v1/passkeys', {
      body: { challenge_id, name: deviceName(), credential: await createPasskey(options) }
    })
    update(rows => [passkey, ...rows])
    toast('Passkey added')
    await loadSession()
  }
  return (
    <Card
      title='Passkeys'
      subtitle='Sign in with the lock of this device, without a password.'
      flush
      {...(keepsPasskeys && {
        actions: (
          <Button small icon='plus' busy={adding.busy} onClick={() => void adding.run(add)}>
            Add a passkey
          </Button>
        )
      })}
    >
      <Failure error={adding.error} />
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <Table
          label='Passkeys'
          compact
          rows={rows}
          id={({ id }) => id}
          empty={
            <Empty icon='key' title='No passkeys yet'>
              {!keepsPasskeys && <p>{elsewhere}</p>}
            </Empty>
          }
          columns={[
            { title: 'Name', flexible: true, cell: ({ name }) => <Clip>{name}</Clip> },
            { title: 'For', cell: ({ host }) => <Clip kind='mono'>{host}</Clip>, flexible: true },
            { title: 'Added', cell: ({ created_at_ms }) => <Moment at={created_at_ms} /> },
            {
              title: 'Last used',
              cell: ({ last_used_at_ms }) => <Moment at={last_used_at_ms} none='Never' />
            },
            {
              title: 'Remove',
              actions: true,
              cell: passkey => (
                <Button
                  small
                  kind='plain'
                  icon='close'
                  label={`Remove ${passkey.name}`}
                  onClick={() => {
                    removing.value = passkey
                  }}
                />
              )
            }
          ]}
        />
      )}
      {removing.value !== undefined && (
        <Confirm
          title={`Remove “${removing.value.name}”?`}
          action='Remove passkey'
          onClose={() => {
            removing.value = undefined
          }}
          onConfirm={async () => {
            const id = removing.value?.id ?? ''
            await api('DELETE /admin/v1/passkeys/:passkey_id', { at: { passkey_id: id } })
            update(rows => rows.filter(row => row.id !== id))
            await loadSession()
          }}
        >
          It can no longer be used to sign in.
        </Confirm>
      )}
    </Card>
  )
}

const elsewhere =
  location.hostname === '127.0.0.1'
    ? 'Browsers keep passkeys for host names only. Open this page at localhost instead of 127.0.0.1 to add one.'
    : 'Browsers keep passkeys for host names over HTTPS only. Open this page there to add one.'

/** Returns `Chrome on Mac OS X`, or the parts that the browser reports. */
function deviceName (): string {
  const browser = /Edg|Firefox|Chrome|Safari/.exec(navigator.userAgent)?.[0] ?? 'Browser'
  const system = /Windows|Mac OS X|Android|iPhone|iPad|Linux/.exec(navigator.userAgent)?.[0]
  return system === undefined ? browser : `${browser} on ${system}`
}
