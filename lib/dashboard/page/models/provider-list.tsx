/** The providers and their health: what was sent to each in the last hour. */

import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { count, duration, plural, share } from '../format/numbers.ts'
import { Clip } from '../parts/clip.tsx'
import { Badge } from '../parts/badge.tsx'
import { Empty } from '../parts/empty.tsx'
import { Lead } from '../parts/lead.tsx'
import { Failure } from '../parts/notice.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { may } from '../state/session.ts'
import { useResource } from '../state/resource.ts'

type Provider = Answer<'GET /admin/v1/providers'>['data'][number]

const columns: ReadonlyArray<Column<Provider>> = [
  {
    title: 'Provider',
    cell: ({ id, base_url, kind }) => (
      <>
        <Lead place={callsOf({ id })}>{id}</Lead>
        <Clip kind='sub'>{`${base_url === '' ? 'inside the gateway' : base_url}${kind === id ? '' : ` · ${kind}`}`}</Clip>
      </>
    ),
    flexible: true
  },
  { title: 'State', flexible: true, cell: provider => <State provider={provider} /> },
  {
    title: 'Keys',
    cell: ({ credentials, credentials_ready }) =>
      credentials === 0 ? (
        <span class='faint nowrap'>callers’ own</span>
      ) : credentials === credentials_ready ? (
        count(credentials)
      ) : (
        `${count(credentials_ready)} of ${count(credentials)} ready`
      )
  },
  { title: 'Models', number: true, cell: ({ models }) => count(models) },
  { title: 'Requests', number: true, cell: ({ last_hour }) => count(last_hour.attempts) },
  {
    title: 'Failed',
    number: true,
    cell: ({ last_hour: { attempts, failed_attempts } }) =>
      attempts === 0 ? (
        '–'
      ) : (
        <span class={failed_attempts / attempts > 0.05 ? 'bad' : undefined}>
          {share(failed_attempts / attempts)}
        </span>
      )
  },
  {
    title: 'p50',
    number: true,
    cell: ({ last_hour }) => (last_hour.latency_ms === null ? '–' : duration(last_hour.latency_ms.p50))
  },
  {
    title: 'p95',
    number: true,
    cell: ({ last_hour }) => (last_hour.latency_ms === null ? '–' : duration(last_hour.latency_ms.p95))
  },
  {
    title: 'First token',
    number: true,
    cell: ({ last_hour }) => (last_hour.first_byte_ms === null ? '–' : duration(last_hour.first_byte_ms.p50))
  }
]

/** Returns the address of its calls of the last hour. */
function callsOf ({ id }: Pick<Provider, 'id'>): string | undefined {
  return may('member') ? `/calls?period=hour&provider=${encodeURIComponent(id)}` : undefined
}

function State ({
  provider: { enabled, cooldown_ms, open_circuits }
}: {
  readonly provider: Provider
}): JSX.Element {
  if (!enabled) return <Badge>off</Badge>
  if (cooldown_ms > 0) {
    return (
      <>
        <Badge tone='warn'>cooling down</Badge>
        <span class='sub'>for {duration(cooldown_ms)}</span>
      </>
    )
  }
  if (open_circuits.length > 0) {
    return (
      <>
        <Badge tone='bad'>{plural(open_circuits.length, 'open circuit')}</Badge>
        <Clip kind='sub'>{open_circuits.join(', ')}</Clip>
      </>
    )
  }
  return <Badge tone='good'>ready</Badge>
}

export function ProviderList (): JSX.Element {
  const { data, error, reload } = useResource('providers', signal =>
    api('GET /admin/v1/providers', { signal })
  )
  return (
    <>
      <Failure error={error} retry={() => void reload()} />
      {error === undefined && (
        <section class='card'>
          <Table
            label='Providers'
            columns={columns}
            rows={data?.data}
            id={({ id }) => id}
            place={callsOf}
            empty={
              <Empty icon='models' title='No providers'>
                Set the key of a provider in the environment, such as OPENAI_API_KEY, and start the gateway
                again.
              </Empty>
            }
          />
        </section>
      )}
    </>
  )
}
