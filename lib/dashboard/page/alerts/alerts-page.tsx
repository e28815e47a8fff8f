/** Alerts: the channels, with a test for each, and the outcome of deliveries. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Clip } from '../parts/clip.tsx'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { Moment } from '../parts/moment.tsx'
import { More } from '../parts/more.tsx'
import { Failure } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { usePages } from '../state/pages.ts'
import { useResource } from '../state/resource.ts'

type Channel = Answer<'GET /admin/v1/alerts/channels'>['data'][number]
type Alert = Answer<'GET /admin/v1/alerts'>['data'][number]
type Delivery = Alert['deliveries'][number]

const example = `alerts:
  webhooks:
    ops:
      url: https://hooks.example.com/headgate
      secret: env:ALERTS_SECRET`

export function AlertsPage (): JSX.Element {
  const { data, error, reload } = useResource('alert channels', signal =>
    api('GET /admin/v1/alerts/channels', { signal })
  )
  return (
    <Page
      title='Alerts'
      subtitle='Budgets, providers and stores: each alert is sent once, and tried again until it is accepted.'
    >
      <Failure error={error} retry={() => void reload()} />
      {data?.data.length === 0 && (
        <section class='card'>
          <Empty icon='bell' title='No channels yet'>
            Name a service or a mailbox in the configuration.
          </Empty>
          <div class='body narrow'>
            <Code text={example} label='configuration' />
          </div>
        </section>
      )}
      {data !== undefined && data.data.length > 0 && <Sent channels={data.data} />}
    </Page>
  )
}

const columns: ReadonlyArray<Column<Alert>> = [
  { title: 'Time', cell: ({ at_ms }) => <Moment at={at_ms} /> },
  {
    title: 'Alert',
    flexible: true,
    cell: ({ message, event }) => (
      <>
        <Clip>{message}</Clip>
        <Clip kind='sub mono'>{event}</Clip>
      </>
    )
  },
  {
    title: 'Deliveries',
    flexible: true,
    cell: ({ deliveries }) =>
      deliveries.length === 0 ? (
        <span class='faint'>no channel wants it</span>
      ) : (
        deliveries.map(delivery => <DeliveryLine key={delivery.channel} delivery={delivery} />)
      )
  }
]

function Sent ({ channels }: { readonly channels: readonly Channel[] }): JSX.Element {
  const { rows, more, error, loading, reload } = usePages('alerts', (cursor, signal) =>
    api('GET /admin/v1/alerts', { query: { cursor }, ...signal !== undefined && { signal } })
  )
  const { run, busy, error: failure } = useAction()
  const test = ({ channel }: Channel): void => {
    void run(async () => {
      const { state } = await api('POST /admin/v1/alerts/test', { body: { channel } })
      if (state === 'delivered') toast(`The test was sent to ${channel}`)
      await reload()
    })
  }
  const channelColumns: ReadonlyArray<Column<Channel>> = [
    {
      title: 'Channel',
      flexible: true,
      cell: ({ channel, target }) => (
        <>
          <Clip>{channel}</Clip>
          <Clip kind='sub mono'>{target}</Clip>
        </>
      )
    },
    { title: 'Events', flexible: true, cell: ({ events }) => <Clip>{events.join(', ')}</Clip> },
    {
      title: 'Actions',
      actions: true,
      cell: channel => (
        <Button small busy={busy} label={`Send a test to ${channel.channel}`} onClick={() => test(channel)}>
          Send a test
        </Button>
      )
    }
  ]
  return (
    <div class='stack'>
      <section class='card'>
        <Table
          label='Channels'
          columns={channelColumns}
          rows={channels}
          id={({ channel }) => channel}
          empty={null}
        />
      </section>
      <Failure error={failure ?? error} retry={() => void reload()} />
      {error === undefined && (
        <section class='card'>
          <Table
            label='Alerts'
            columns={columns}
            rows={rows}
            id={({ id }) => id}
            stale={loading && rows !== undefined}
            empty={<Empty icon='bell' title='No alerts so far' />}
          />
          <More onClick={more} />
        </section>
      )}
    </div>
  )
}

const tones: Readonly<Record<Delivery['state'], Tone>> = {
  delivered: 'good',
  pending: 'warn',
  failed: 'bad'
}

function DeliveryLine ({
  delivery: { channel, state, attempts, error }
}: {
  readonly delivery: Delivery
}): JSX.Element {
  const tries = attempts > 1 ? `, ${attempts} attempts` : ''
  return (
    <>
      <Badge tone={tones[state]}>{state}</Badge>
      <Clip kind='sub'>{`${channel}${tries}${error === null ? '' : `: ${error}`}`}</Clip>
    </>
  )
}
